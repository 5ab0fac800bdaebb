-- Writes the state of a filling.
--
-- KEYS: mark.
-- ARGV: mark.
redis.call('SET', KEYS[1], ARGV[1])
return 1
