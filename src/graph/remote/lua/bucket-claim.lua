-- Takes a bucket for a writer.
--
-- KEYS: the writer's key.
-- ARGV: token.
-- Replies with the current step of the bucket, or TAKEN if a newer writer owns it.
local token, step = string.match(redis.call('GET', KEYS[1]) or '0:0', '^(%d+):(%d+)$')
if tonumber(token) > tonumber(ARGV[1]) then return 'TAKEN' end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. step)
return step
