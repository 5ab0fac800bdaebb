-- Fetches the bytes of a result and removes them.
--
-- KEYS: result.
local bytes = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return bytes
