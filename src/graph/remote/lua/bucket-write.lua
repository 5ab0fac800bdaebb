-- Writes records of a bucket if this is the writer's next step, or its last one again.
--
-- KEYS: the writer's key, then the records.
-- ARGV: token, step, then for each record its value and its lifetime in ms, or nothing.
-- Replies with OK, TAKEN if a newer writer owns the bucket, or LOST if the server lost a step.
local token, step = string.match(redis.call('GET', KEYS[1]) or '0:0', '^(%d+):(%d+)$')
if tonumber(token) > tonumber(ARGV[1]) then return 'TAKEN' end
local mine = tonumber(ARGV[2])
step = tonumber(step)
if token ~= ARGV[1] or (step ~= mine - 1 and step ~= mine) then return 'LOST' end
for at = 2, #KEYS do
  local value, lifeMs = ARGV[2 * at - 1], ARGV[2 * at]
  if lifeMs == '' then redis.call('SET', KEYS[at], value)
  else redis.call('SET', KEYS[at], value, 'PX', lifeMs) end
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2])
return 'OK'
