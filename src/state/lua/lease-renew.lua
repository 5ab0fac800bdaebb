-- Extends a lease.
--
-- KEYS: lease.
-- ARGV: holder, ms.
-- Replies with 0 if the holder no longer has the lease.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
