-- Sorts records by a comparison written in Lua, as a report generator would.
local state = 42
local function random()
  state = (state * 1103515245 + 12345) % 2147483648
  return state
end
local total = 0
for round = 1, 6 do
  local records = {}
  for i = 1, 40000 do
    records[i] = { key = random() % 100000, name = "n" .. (i % 997) }
  end
  table.sort(records, function(a, b)
    if a.key ~= b.key then return a.key < b.key end
    return a.name < b.name
  end)
  for i = 2, #records do
    assert(records[i - 1].key <= records[i].key)
  end
  total = total + records[20000].key
end
print("sorted", total)
