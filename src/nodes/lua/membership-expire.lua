-- Removes a node.
--
-- KEYS: times, facts.
-- ARGV: id.
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])
