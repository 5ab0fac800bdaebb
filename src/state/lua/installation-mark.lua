-- Marks a store as that of an installation. The first mark wins.
--
-- KEYS: head of the store.
-- ARGV: id of the installation.
-- Replies with the id of the installation that owns the store.
redis.call('HSETNX', KEYS[1], 'installation', ARGV[1])
return redis.call('HGET', KEYS[1], 'installation')
