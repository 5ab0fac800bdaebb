-- The load of the HTTP benchmark, for wrk. Arguments: file of addresses or bodies, file of keys, kind (oracle | bulk | screening | get, of which
-- the items are paths | post, of which the prefix is the path), path prefix, number of the first item, so that a later run continues after an earlier one, and optionally the query of
-- the oracle, with its question mark.
local items, keys = {}, {}
local item, key = 0, 0
local before, between, after
local kind

function init(args)
  for line in io.lines(args[1]) do items[#items + 1] = line end
  for line in io.lines(args[2]) do keys[#keys + 1] = line end
  kind = args[3]
  item = tonumber(args[5]) % #items
  if kind == "get" then
    before = "GET " .. args[4]
    between = " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    after = "\r\n\r\n"
  elseif kind ~= "oracle" then
    local path = kind == "bulk" and "/api/v1/screen/bulk" or kind == "screening" and "/api/v1/screening" or args[4]
    before = "POST " .. path .. " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
  else
    before = "GET " .. args[4] .. "/v1/oracle/address/"
    between = (args[6] or "") .. " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    after = "\r\n\r\n"
  end
end

function request()
  item = item % #items + 1
  key = key % #keys + 1
  if kind ~= "oracle" and kind ~= "get" then
    local body = items[item]
    return before .. keys[key] .. "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
  end
  return before .. items[item] .. between .. keys[key] .. after
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('RESULT {"requests":%d,"microseconds":%d,"failed":%d,"p50Ms":%.4f,"p99Ms":%.4f}\n',
    summary.requests, summary.duration, failed, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
