-- Holds: each member is nonce:amount, its score is its expiry; the sum of all amounts is in the field `held` of HELD.
local function drop(member)
  if redis.call('ZREM', HOLDS, member) == 0 then return false end
  redis.call('HINCRBY', HELD, 'held', '-' .. string.match(member, '%d+$'))
  return true
end
-- Returns the sum without the holds that have ended, which it drops.
local function heldOf(sum)
  if sum <= 0 then return 0 end
  local ended = redis.call('ZRANGEBYSCORE', HOLDS, '-inf', whole(now), 'LIMIT', 0, 1000)
  for _, member in ipairs(ended) do
    drop(member)
    sum = sum - tonumber(string.match(member, '%d+$'))
  end
  return sum
end
local function held() return heldOf(tonumber(redis.call('HGET', HELD, 'held') or '0')) end
