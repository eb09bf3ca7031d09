-- Counts requests, each in the windows of its own scopes, in order, and stops at the first that is
-- full: a request that one limit refuses does not use up the next.
-- KEYS: the counters of all requests. ARGV: for each request the number of its counters, then for
-- each of these the limit and the length of the window in milliseconds.
-- Returns for each request a list: for each counter that was increased, its count, and the
-- milliseconds to its reset.
local answers, key, at = {}, 0, 1
while at <= #ARGV do
  local counters, answer, full = tonumber(ARGV[at]), {}, false
  for number = 1, counters do
    if not full then
      local name = KEYS[key + number]
      local limit, window = tonumber(ARGV[at + 2 * number - 1]), tonumber(ARGV[at + 2 * number])
      local count = redis.call('INCR', name)
      local left = redis.call('PTTL', name)
      if left < 0 then
        redis.call('PEXPIRE', name, window)
        left = window
      end
      answer[#answer + 1] = count
      answer[#answer + 1] = left
      full = count > limit
    end
  end
  answers[#answers + 1] = answer
  key, at = key + counters, at + 1 + 2 * counters
end
return answers
