-- Makes a filled store available to the nodes.
--
-- KEYS: head.
-- ARGV: id of the filling, format, and the position of the filled data: version, id of the last write set.
-- Replies with 1 if the filling still owns the store.
local found = redis.call('HMGET', KEYS[1], 'format', 'filling')
if found[2] ~= ARGV[1] then return 0 end
if found[1] == 'filling' then
  redis.call('HSET', KEYS[1], 'format', ARGV[2], 'version', ARGV[3], 'last', ARGV[4], 'bytes', '0')
end
return 1
