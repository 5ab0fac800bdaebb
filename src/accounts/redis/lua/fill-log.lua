-- Adds the entries after the last one of a log.
--
-- KEYS: log.
-- ARGV: sequences and entries in turn, ascending.
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local from = #last == 0 and 0 or tonumber(string.match(last[1][1], '^%d+'))
for at = 1, #ARGV, 2 do
  if tonumber(ARGV[at]) > from then redis.call('XADD', KEYS[1], ARGV[at] .. '-0', 'e', ARGV[at + 1], 'n', '') end
end
return 1
