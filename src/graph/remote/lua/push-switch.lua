-- Replaces the head, unless a newer push has raised the fence.
--
-- KEYS: fence, head.
-- ARGV: token, the new head.
-- Replies with OK or TAKEN.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'TAKEN' end
redis.call('SET', KEYS[2], ARGV[2])
return 'OK'
