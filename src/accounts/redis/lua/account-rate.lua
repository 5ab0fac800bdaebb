-- Decides and counts a request in the last minute of one key and class: counters by second, as in rate-limit.ts.
local function window(at, limit, counts)
  local second = math.floor(at / 1000)
  local fields = redis.call('HGETALL', RATE)
  local newest = second
  for position = 1, #fields, 2 do newest = math.max(newest, tonumber(fields[position])) end
  -- If the clock was set back by more than the window, the old counters would reject the key until their time: delete them.
  if newest - second > 61 then
    redis.call('DEL', RATE)
    fields = {}
    newest = second
  end
  local bySecond, total, ended = {}, 0, {}
  for position = 1, #fields, 2 do
    local each = tonumber(fields[position])
    if each < newest - 60 then
      ended[#ended + 1] = fields[position]
    else
      bySecond[each] = tonumber(fields[position + 1])
      total = total + bySecond[each]
    end
  end
  local allowed = total < limit
  if allowed and counts then
    if #ended > 0 then redis.call('HDEL', RATE, unpack(ended)) end
    redis.call('HINCRBY', RATE, whole(newest), 1)
    if not bySecond[newest] then redis.call('PEXPIRE', RATE, 62000) end
    bySecond[newest] = (bySecond[newest] or 0) + 1
    total = total + 1
  end
  local freeing, left = newest, total
  for each = newest - 60, newest do
    if bySecond[each] then
      left = left - bySecond[each]
      freeing = each
      if left < limit then break end
    end
  end
  return allowed and 1 or 0, total, freeing + 61, newest
end
