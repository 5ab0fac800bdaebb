-- Claims a store for a filling.
--
-- KEYS: head.
-- ARGV: id of the filling, id of the installation, `keep` or nothing.
-- Replies with an empty text; with `whole` if this filling has finished the store before and `keep` was set; or with the format of a
-- store that belongs to another.
local found = redis.call('HMGET', KEYS[1], 'format', 'filling', 'last')
-- A filling that an earlier version began is named by 'last'.
if found[1] and (found[2] or found[3]) ~= ARGV[1] then return found[1] end
if found[1] and found[1] ~= 'filling' and ARGV[3] == 'keep' then return 'whole' end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'format', 'filling', 'filling', ARGV[1], 'installation', ARGV[2])
return ''
