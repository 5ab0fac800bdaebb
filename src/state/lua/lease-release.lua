-- Releases a lease.
--
-- KEYS: lease, states.
-- ARGV: holder, name.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local entry = redis.call('HGET', KEYS[2], ARGV[2])
if entry then redis.call('HSET', KEYS[2], ARGV[2], (string.gsub(entry, 'held$', 'released'))) end
return redis.call('DEL', KEYS[1])
