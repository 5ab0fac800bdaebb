-- Sets fields of a hash.
--
-- KEYS: hash.
-- ARGV: lifetime in ms, or nothing, then fields and values in turn.
for at = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
if ARGV[1] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
