-- Stores the identity. The first record wins.
--
-- KEYS: identity.
-- ARGV: record.
-- Replies with the stored record.
redis.call('HSETNX', KEYS[1], 'record', ARGV[1])
return redis.call('HGET', KEYS[1], 'record')
