-- Runs the steps in their order, and returns a reply for each. A step that fails does not affect the others; its reply is its error.
local time = redis.call('TIME')
local serverNow = time[1] * 1000 + math.floor(time[2] / 1000)
local replies, first = {}, 1
for step = 1, #ALL_KEYS / 8 do
  LOG, STATE, HOLDS, EVENTS, KEPT, MARK, RATE, HELD = unpack(ALL_KEYS, step * 8 - 7, step * 8)
  local last = first + ALL_ARGUMENTS[first]
  ARGV = {unpack(ALL_ARGUMENTS, first + 1, last)}
  first = last + 1
  account = ARGV[3]
  -- By the server's clock unless the caller passes a time.
  now = numbered(2) or serverNow
  local isDone, reply = pcall(operations[ARGV[1]])
  -- Redis 6 passes the error of a command as text, Redis 7 as a table.
  replies[step] = isDone and reply or {err = type(reply) == 'table' and reply.err or tostring(reply)}
end
return replies
