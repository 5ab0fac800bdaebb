-- Records a heartbeat.
--
-- KEYS: times, facts, times of the first heartbeats.
-- ARGV: id, facts, retention in ms, maximum number of nodes, ms after which a node is gone.
-- Replies, for each node, with its id, the ms since its last heartbeat, the ms from the epoch to its first one (empty for a node of an
-- earlier version), and its facts. A gone node is removed if a node with the same facts was heard from later: every start of a program is
-- a node, and each heartbeat would otherwise return all of them.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSETNX', KEYS[3], ARGV[1], now)
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
local surplus = redis.call('ZCARD', KEYS[1]) - ARGV[4]
if surplus > #old then old = redis.call('ZRANGE', KEYS[1], 0, surplus - 1) end
for _, id in ipairs(old) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('HDEL', KEYS[3], id)
end
local reply, known = {}, {}
local heard = redis.call('ZREVRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #heard, 2 do
  local id, silent = heard[i], now - tonumber(heard[i + 1])
  local facts = redis.call('HGET', KEYS[2], id)
  if not facts or (silent >= tonumber(ARGV[5]) and known[facts]) then
    redis.call('ZREM', KEYS[1], id)
    redis.call('HDEL', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
  else
    known[facts] = true
    reply[#reply + 1] = id
    reply[#reply + 1] = silent
    reply[#reply + 1] = redis.call('HGET', KEYS[3], id) or ''
    reply[#reply + 1] = facts
  end
end
return reply
