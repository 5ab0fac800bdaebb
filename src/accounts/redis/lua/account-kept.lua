-- Returns the response stored for an Idempotency-Key, unless it has expired. If the clock has moved backwards, it is still returned.
local function keptAnswer(lifetime)
  local kept = redis.call('HMGET', KEPT, 't', 'h', 'b', 'n', 's', 'r')
  if not kept[1] or now - tonumber(kept[1]) >= lifetime then return nil end
  return {hash = kept[2], body = kept[3], nonce = kept[4], sequence = tonumber(kept[5]), remaining = tonumber(kept[6])}
end
