-- Removes a node.
--
-- KEYS: times, facts, times of the first heartbeats.
-- ARGV: id.
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])
