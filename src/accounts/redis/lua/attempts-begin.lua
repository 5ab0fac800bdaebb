-- Counts an attempt.
--
-- KEYS: account, address.
-- ARGV: maximum of each, window in ms.
-- Replies with the remaining ms of the window that is full, or with 0 if both were counted.
for i = 1, 2 do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[i]) then return math.max(1, redis.call('PTTL', KEYS[i])) end
end
for i = 1, 2 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
end
return 0
