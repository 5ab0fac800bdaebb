-- Reads all leases of a store.
--
-- KEYS: states.
-- ARGV: prefix of the lease keys, which are in the same slot.
-- Replies, for each lease: name, entry, holder or ''.
local reply = {}
local entries = redis.call('HGETALL', KEYS[1])
for at = 1, #entries, 2 do
  reply[#reply + 1] = entries[at]
  reply[#reply + 1] = entries[at + 1]
  reply[#reply + 1] = redis.call('GET', ARGV[1] .. entries[at]) or ''
end
return reply
