-- Returns the month and the units taken of a meter in it. If the clock moves back to an earlier month, the stored month stays.
local function taken(meter)
  local month = monthOf(now)
  local stored = redis.call('HMGET', STATE, 'month', meter)
  local storedMonth = tonumber(stored[1] or '0')
  if storedMonth >= month then return storedMonth, tonumber(stored[2] or '0') end
  return month, 0
end
local function move(month, meter, units)
  if tonumber(redis.call('HGET', STATE, 'month') or '0') < month then
    redis.call('HSET', STATE, 'month', whole(month), 'intel', '0', 'oracle', '0')
  end
  redis.call('HINCRBY', STATE, meter, whole(units))
end
