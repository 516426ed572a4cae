-- Method calls, closures and short-lived tables, as an object-oriented program makes them.
local Point = {}
Point.__index = Point
function Point.new(x, y) return setmetatable({ x = x, y = y }, Point) end
function Point:add(other) return Point.new(self.x + other.x, self.y + other.y) end
function Point:norm() return self.x * self.x + self.y * self.y end
local function counter()
  local n = 0
  return function(step) n = n + step; return n end
end
local tick, sum = counter(), 0.0
for i = 1, 1500000 do
  local p = Point.new(i % 10, 1):add(Point.new(1, i % 3))
  if p:norm() > 50 then sum = sum + tick(1) end
end
print("objects", sum, tick(0))
