-- Counts an attempt.
--
-- KEYS: account, and the address if it is counted.
-- ARGV: window in ms, maximum of each key.
-- Replies with the remaining ms of the window that is full, or 0 if the attempt was counted; and with the attempts that the account has left.
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[i + 1]) then return { math.max(1, redis.call('PTTL', KEYS[i])), 0 } end
end
for i = 1, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
end
return { 0, tonumber(ARGV[2]) - tonumber(redis.call('GET', KEYS[1])) }
