-- The interpreter's behaviour in every corner that a hint could have disturbed.
local function raises(f, ...) return not pcall(f, ...) end
assert(1 + 1 == 2 and 7 // 2 == 3 and 7 % -3 == -2 and 2 ^ 10 == 1024.0 and 3 | 4 == 7)
assert(math.maxinteger + 1 == math.mininteger and 1 // 0.0 == math.huge)
assert(raises(function() return 1 // 0 end) and raises(function() return {} + 1 end))
assert("10" + 5 == 15 and "a" .. 1 == "a1" and #"abc" == 3 and "a" < "b")
local t = setmetatable({}, { __index = function(_, k) return k * 2 end,
  __call = function(_, x) return x + 1 end, __len = function() return 9 end,
  __eq = function() return true end, __lt = function() return true end,
  __close = function() end, __concat = function() return "cat" end })
assert(t[21] == 42 and t(1) == 2 and #t == 9 and t < t and t .. "x" == "cat")
local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1); error({ b }) end)
assert(co(1) == 2 and raises(co, 5) and raises(co))
local list = {}
for i = 100, 1, -1 do list[#list + 1] = i end
table.sort(list)
for i = 1, 100 do assert(list[i] == i) end
assert(raises(table.sort, { 3, 1, 2, 5, 4 }, function() return true end) or true)
assert(select("#", table.unpack({}, 1, 200)) == 200 and table.concat({ 1, 2, 3 }, ",") == "1,2,3")
assert(string.rep("ab", 3, "-") == "ab-ab-ab" and ("x"):byte() == 120)
assert(("key = value"):match("^(%w+)%s*=%s*(%w+)$") == "key" and ("%d"):format(3) == "3")
assert(raises(string.rep, "x", 1 << 60) and raises(string.format, "%d", "x"))
assert(utf8.char(228, 8364) == "ä€" and utf8.len("ä€") == 2)
assert(load("return 1 +") == nil and load("return ...")(7) == 7)
do local x <close> = t; local y <const> = 3; assert(y == 3) end
for i = 1, 3 do goto continue; error("not reached"); ::continue:: end
local weak = setmetatable({}, { __mode = "k" })
for i = 1, 1000 do weak[{}] = i end
collectgarbage(); collectgarbage("generational"); collectgarbage("incremental")
assert(next(weak) == nil)
local deep = 0
local function recurse() deep = deep + 1; return recurse() + 1 end
assert(raises(recurse) and deep > 1000)
assert(tostring(2^53) == "9.007199254741e+15" and math.tointeger("8") == 8)
local file = assert(io.tmpfile())
file:write("one\n2\n"); file:seek("set")
assert(file:read("l") == "one" and file:read("n") == 2 and file:close())
print("all checks passed")
