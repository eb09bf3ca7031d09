-- Counts one request in each of the given windows, in order, and stops at the first that is full:
-- a request that one limit refuses does not use up the next.
-- KEYS: counters. ARGV: for each counter its limit and the length of its window in milliseconds.
-- Returns for each counter that was increased: its count, and the milliseconds to its reset.
local answer = {}
for i, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local count = redis.call('INCR', key)
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, window)
    left = window
  end
  answer[#answer + 1] = count
  answer[#answer + 1] = left
  if count > limit then break end
end
return answer
