-- Sets a value if it has not changed since it was read.
--
-- KEYS: one.
-- ARGV: the expected value (empty if the key is absent), the new value.
-- Replies with OK or CHANGED.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 'CHANGED' end
redis.call('SET', KEYS[1], ARGV[2])
return 'OK'
