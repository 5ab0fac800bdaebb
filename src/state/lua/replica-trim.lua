-- Removes write sets from the stream that are older than an age. The stream has no times, so the head has a mark: a version, and the time
-- at which it was the newest. A write set is removed when a mark at or after it has reached the age, so it is at most twice as old.
--
-- KEYS: head, stream.
-- ARGV: format, installation id (empty: none), age in ms, maximum number of write sets that one call removes.
-- Replies with the number of removed write sets: if it is the maximum, more may be due.
local head = redis.call('HMGET', KEYS[1], 'format', 'version', 'bytes', 'installation', 'markVersion', 'markAt')
if head[1] ~= ARGV[1] or (head[4] or '') ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local markAt = head[6] and tonumber(head[6])
local removed = 0
-- No mark yet, or one of the future, because the clock was set back: begin with a new one.
if markAt and markAt <= now then
  if now - markAt < tonumber(ARGV[3]) then return 0 end
  local bytes = tonumber(head[3])
  local to = string.format('%.0f-1', tonumber(head[5]))
  while removed < tonumber(ARGV[4]) do
    local oldest = redis.call('XRANGE', KEYS[2], '-', to, 'COUNT', 1)[1]
    if not oldest then break end
    redis.call('XDEL', KEYS[2], oldest[1])
    bytes = bytes - #oldest[2][6]
    removed = removed + 1
  end
  if removed > 0 then redis.call('HSET', KEYS[1], 'bytes', string.format('%.0f', bytes)) end
  if removed >= tonumber(ARGV[4]) then return removed end
end
redis.call('HSET', KEYS[1], 'markVersion', head[2], 'markAt', string.format('%.0f', now))
return removed
