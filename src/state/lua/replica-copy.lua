-- Reads one page of the data.
--
-- KEYS: data.
-- ARGV: cursor, count.
-- Replies with the run id of the server, the next cursor, and fields and values in turn. A cursor is valid on one server only: if the
-- run id changes, the caller must start the copy again.
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
return {server, page[1], page[2]}
