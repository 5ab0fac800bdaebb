-- Takes a lease.
--
-- KEYS: lease, fence, states.
-- ARGV: holder, ms, name.
-- The fencing token is the server's time if that exceeds the last token plus one: a replica that became master without the newest token
-- does not issue it again. If the holder asks again, it gets a new token, so that a lost reply does no harm. `states` has, for each
-- lease, its last holder, when it took the lease, and whether it released it.
-- Replies with the token (0 if another node holds the lease) and the previous entry of `states`.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return {0, ''} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token = math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, now)
redis.call('SET', KEYS[2], string.format('%.0f', token))
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local before = redis.call('HGET', KEYS[3], ARGV[3]) or ''
if not holder then redis.call('HSET', KEYS[3], ARGV[3], ARGV[1] .. ' ' .. string.format('%.0f', now) .. ' held') end
return {token, before}
