-- Makes a filled store available to the nodes.
--
-- KEYS: head.
-- ARGV: id of the filling, format, and the position of the filled data: version, id of the last write set.
-- Replies with 1 if the filling still owns the store.
--
-- A store that was replaced gets a later version than it had and than its data has, and the id of the filling: no node has that position.
local found = redis.call('HMGET', KEYS[1], 'format', 'filling', 'replaced')
if found[2] ~= ARGV[1] then return 0 end
if found[1] ~= 'filling' then return 1 end
local version, last = ARGV[3], ARGV[4]
if found[3] then
  version = string.format('%.0f', math.max(tonumber(found[3]), tonumber(version)) + 1)
  last = ARGV[1]
end
redis.call('HSET', KEYS[1], 'format', ARGV[2], 'version', version, 'last', last, 'bytes', '0')
redis.call('HDEL', KEYS[1], 'replaced')
return 1
