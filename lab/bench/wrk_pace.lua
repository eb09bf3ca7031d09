-- Sends RATE requests a second. Lua's own clocks have whole seconds, or the processor time of wrk.
local ffi = require("ffi")
ffi.cdef[[
  typedef struct { long seconds; long nanoseconds; } moment;
  int clock_gettime(int clock, moment *now);
]]
local moment, began, taken = ffi.new("moment"), nil, 0
local function now()
  ffi.C.clock_gettime(1, moment)  -- CLOCK_MONOTONIC
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end
function delay()
  local asked = now()
  began = began or asked
  local due = began + taken / RATE
  taken = taken + 1
  return math.max(0, math.floor((due - asked) * 1000 + 0.5))
end
