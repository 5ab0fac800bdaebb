-- Claims a store for a filling that replaces its records.
--
-- KEYS: head, stream.
-- ARGV: id of the filling, id of the installation.
-- Replies with an empty text; with `whole` if this filling has finished the store before; or with the format of a store that belongs to
-- another filling or installation.
local found = redis.call('HMGET', KEYS[1], 'format', 'filling', 'version', 'installation')
if found[4] ~= ARGV[2] then return 'other' end
if found[2] == ARGV[1] then
  if found[1] == 'filling' then return '' end
  return 'whole'
end
if found[1] == 'filling' then return found[1] end
redis.call('DEL', KEYS[2])
-- The version goes on from here, so that every node copies the store. Without one, nodes notice that the store is being filled.
redis.call('HDEL', KEYS[1], 'version', 'last')
redis.call('HSET', KEYS[1], 'format', 'filling', 'filling', ARGV[1], 'replaced', found[3] or '0')
return ''
