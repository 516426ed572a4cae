-- Parses, rewrites and joins text, as a log filter would.
local lines = {}
for i = 1, 20000 do
  lines[i] = string.format("2024-01-%02d host%d app[%d]: level=%s took %d ms", i % 28 + 1,
    i % 17, i, i % 5 == 0 and "warn" or "info", i * 7 % 1000)
end
local count, time = 0, 0
for round = 1, 8 do
  for _, line in ipairs(lines) do
    local host, level, ms = line:match("(host%d+) app%[%d+%]: level=(%a+) took (%d+) ms")
    if level == "warn" then
      count = count + 1
      time = time + tonumber(ms)
    end
    local short = line:gsub("%d%d%d%d%-(%d%d)%-(%d%d)", "%2.%1"):upper()
    assert(#short == #line - 5)
  end
end
local joined = table.concat(lines, "\n")
print("warnings", count, time, #joined, select(2, joined:gsub("\n", "")))
