-- Returns the month, the units taken of a meter in it, and the stored month. If the clock moves back to an earlier month, the stored month stays.
local function taken(meter)
  local month = monthNow()
  local fields = redis.call('HMGET', STATE, 'month', meter)
  local stored = tonumber(fields[1] or '0')
  if stored >= month then return stored, tonumber(fields[2] or '0'), stored end
  return month, 0, stored
end
local function move(month, stored, meter, units)
  if stored < month then redis.call('HSET', STATE, 'month', whole(month), 'intel', '0', 'oracle', '0') end
  redis.call('HINCRBY', STATE, meter, whole(units))
end
