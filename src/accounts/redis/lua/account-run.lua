-- Runs the steps in their order, and returns a reply for each: a list, or a text of doubles. A step that fails does not affect the others; its
-- reply is its error.
local time = redis.call('TIME')
local serverNow = time[1] * 1000 + math.floor(time[2] / 1000)
local replies, position = {}, 1
while position <= #packed do
  local format, first = struct.unpack('<Hc0', packed, position)
  ARGV = {struct.unpack(format, packed, first)}
  -- After the values, `struct` returns the position behind them.
  local count = #ARGV - 1
  position = ARGV[count + 1]
  LAST = count - 5
  local slot, pool = ARGV[count], ARGV[count - 1]
  -- Both balances of an account have a log, holds and events of their own. The sum of the holds of `api` is in the state of the account.
  STATE = slot .. 'state'
  if pool == 'api' then
    LOG, HOLDS, HELD = slot .. 'log', slot .. 'holds', STATE
  else
    local start = slot .. pool
    LOG, HOLDS, HELD = start .. ':log', start .. ':holds', start .. ':held'
  end
  SLOT, KEPT, MARK, RATE = slot, ARGV[count - 4], ARGV[count - 3], ARGV[count - 2]
  if KEPT ~= '' then KEPT = slot .. KEPT end
  if RATE ~= '' then RATE = slot .. RATE end
  account, now = ARGV[3], ARGV[2]
  -- By the server's clock unless the caller passes a time.
  if now == '' then now = serverNow end
  local isDone, reply = pcall(operations[ARGV[1]])
  -- Redis 6 passes the error of a command as text, Redis 7 as a table.
  replies[#replies + 1] = isDone and reply or {err = type(reply) == 'table' and reply.err or tostring(reply)}
end
return replies
