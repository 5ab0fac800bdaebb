-- Sets the last heartbeat of a node to `ms` ago; a node that was removed stays removed.
--
-- KEYS: times.
-- ARGV: id, ms.
local time = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'XX', time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2], ARGV[1])
