-- Removes records of a filling.
--
-- KEYS: head, data.
-- ARGV: id of the filling, then fields.
-- Replies with 1 if the filling still owns the store.
local found = redis.call('HMGET', KEYS[1], 'format', 'filling')
if found[1] ~= 'filling' or found[2] ~= ARGV[1] then return 0 end
for at = 2, #ARGV do redis.call('HDEL', KEYS[2], ARGV[at]) end
return 1
