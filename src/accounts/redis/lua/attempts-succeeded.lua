-- Removes the attempts at an account, and the last one from an address.
--
-- KEYS: account, address.
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then redis.call('DECR', KEYS[2]) end
return 0
