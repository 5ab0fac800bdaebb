-- Notes that a store was marked.
--
-- KEYS: identity.
-- ARGV: field of the store.
return redis.call('HSET', KEYS[1], ARGV[1], '1')
