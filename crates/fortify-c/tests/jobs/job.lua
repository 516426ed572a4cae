-- A job for Lua: text taken apart and put together, formatted, packed, and counted.
local words, lines = {}, {}
for number = 1, 3000 do
  local line = string.format("%5d|%-12s|%8.3f|%x", number, ("w"):rep(number % 9), number / 7, number)
  lines[#lines + 1] = line
  for word in line:gmatch("[^|%s]+") do words[word] = (words[word] or 0) + 1 end
end
local text = table.concat(lines, "\n")
local packed = {}
for number = 1, 500 do packed[number] = string.pack("<i4s2d", number, lines[number], number / 3) end
local sum = 0
for number = 1, 500 do
  local back, line, third = string.unpack("<i4s2d", packed[number])
  assert(back == number and line == lines[number] and third == number / 3)
  sum = sum + #line
end
local names = {}
for word, count in pairs(words) do names[#names + 1] = word .. "=" .. count end
table.sort(names)
print(#text, sum, #names, text:upper():reverse():sub(1, 60))
print(table.concat(names, " "))
