-- Appends a write set to the stream, or only reads the state if the write set is empty.
--
-- A replicated store has four keys: `head` (format, version, last id, bytes of the stream, installation id), `data` (a hash with one
-- field per record), `stream` (the latest write sets, entry `<version>-1`), and, for each writer, the id of its last write set.
--
-- KEYS: head, data, stream, writer, and one key per fence.
-- ARGV: format, version, id of the last write set, id of this write set, maximum bytes of a reply, maximum entries of the stream,
-- maximum bytes of the stream, lifetime of `writer` in ms, the write set (empty: read only), installation id (empty: none), and one
-- token per fence.
-- Replies:
-- - `appended`: the write set is the next version, appended now or by an earlier call with a lost reply;
-- - `same`: there was nothing to write, and no other write has happened;
-- - `behind`, entries: other nodes wrote meanwhile; entries are (version, id, previous id, write set), the oldest first;
-- - `ahead`: Redis never had this version, or has already trimmed it: the caller must copy the whole store;
-- - `fenced`, n: a newer holder has passed the n-th fence;
-- - `lost`: Redis no longer has this store of this installation;
-- - `other`, i: the store belongs to the installation i;
-- - `format`, f: the store has the format f.
local format, version, last, id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local installation = ARGV[10]
local head = redis.call('HMGET', KEYS[1], 'format', 'version', 'last', 'bytes', 'installation')
if head[1] == 'filling' then return {'format', head[1]} end
if (head[5] or '') ~= installation then
  if head[5] then return {'other', head[5]} end
  return {'lost'}
end
if not head[1] then
  if version > 0 then return {'lost'} end
  head = {format, '0', installation, '0'}
end
if head[1] ~= format then return {'format', head[1]} end
if id ~= '' and redis.call('GET', KEYS[4]) == id then
  redis.call('PEXPIRE', KEYS[4], ARGV[8])
  return {'appended'}
end
local found = tonumber(head[2])
if version == found and last ~= head[3] or version > found then return {'ahead'} end
if version < found then
  local reply, bytes = {'behind'}, 0
  local from = string.format('%.0f-1', version + 1)
  while bytes < tonumber(ARGV[5]) do
    local entries = redis.call('XRANGE', KEYS[3], from, '+', 'COUNT', 1)
    local entry = entries[1]
    if not entry then break end
    local fields = entry[2]
    local number = string.match(entry[1], '^%d+')
    reply[#reply + 1] = {number, fields[2], fields[4], fields[6]}
    bytes = bytes + #fields[6] + 64
    from = '(' .. entry[1]
  end
  local first = reply[2]
  if not first or tonumber(first[1]) ~= version + 1 or first[3] ~= last then return {'ahead'} end
  return reply
end
for i = 5, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > tonumber(ARGV[i + 6]) then return {'fenced', tostring(i - 4)} end
end
local set = ARGV[9]
if #set == 0 then return {'same'} end
local at = 1
while at <= #set do
  local fieldBytes, valueBytes = struct.unpack('>I4I4', set, at)
  local valueAt = at + 8 + fieldBytes
  local field = string.sub(set, at + 8, valueAt - 1)
  if valueBytes == 4294967295 then
    redis.call('HDEL', KEYS[2], field)
    at = valueAt
  else
    redis.call('HSET', KEYS[2], field, string.sub(set, valueAt, valueAt + valueBytes - 1))
    at = valueAt + valueBytes
  end
end
local number = string.format('%.0f', version + 1)
redis.call('XADD', KEYS[3], number .. '-1', 'i', id, 'p', last, 'w', set)
local bytes = tonumber(head[4]) + #set
local length = redis.call('XLEN', KEYS[3])
while length > 1 and (length > tonumber(ARGV[6]) or bytes > tonumber(ARGV[7])) do
  local oldest = redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', KEYS[3], oldest[1])
  bytes = bytes - #oldest[2][6]
  length = length - 1
end
redis.call('HSET', KEYS[1], 'format', format, 'version', number, 'last', id, 'bytes', string.format('%.0f', bytes))
redis.call('SET', KEYS[4], id, 'PX', ARGV[8])
return {'appended'}
