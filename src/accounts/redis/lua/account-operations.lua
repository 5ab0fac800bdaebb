-- The operations. The comment above each lists its arguments.
local function shown(entry) return {entry.sequence, entry.bytes, entry.nonce} end
local function referenceAt(position) return ARGV[position] ~= '' and ARGV[position + 1] end

local operations = {}

-- rateNow, rateLimit, idempotencyMs, meter, units, quotaLimit, credits, nonce, holdMs, freeCredits, deadline; the part of an empty argument is skipped
function operations.admit()
  local rate = {0, 0, 0, 0}
  -- After the deadline the client has received an error, so the step does nothing.
  local deadline = tonumber(ARGV[14] or '')
  if deadline and now > deadline then return {OUTCOME.expired, now, rate, 0, 0, 0, 0, '', ''} end
  if ARGV[5] ~= '' then
    rate = window(numbered(4) or now, numbered(5), true)
    if rate[1] == 0 then return {OUTCOME.rateLimited, now, rate, 0, 0, 0, 0, '', ''} end
  end
  if ARGV[6] ~= '' then
    local kept = keptAnswer(numbered(6))
    if kept then return {OUTCOME.kept, now, rate, 0, 0, 0, 0, kept.hash, kept.body} end
  end
  local month, units = 0, 0
  if ARGV[7] ~= '' then
    month, units = taken(ARGV[7])
    if ARGV[9] ~= '' and units + numbered(8) > numbered(9) then return {OUTCOME.quotaExhausted, now, rate, month, units, 0, 0, '', ''} end
  end
  local balance, holding = 0, 0
  if ARGV[10] ~= '' then
    local credits = numbered(10)
    balance, holding = dueBalance(numbered(13)), held()
    if credits > 0 then
      local member = ARGV[11] .. ':' .. ARGV[10]
      -- A repeated step holds credits once. If the node has already released the step (its mark exists), it holds nothing.
      local isHeld = balance - holding < credits and redis.call('ZSCORE', HOLDS, member)
      if not isHeld then
        if balance - holding < credits or redis.call('EXISTS', MARK) == 1 then return {OUTCOME.creditsExhausted, now, rate, month, units, balance, holding, '', ''} end
        if redis.call('ZADD', HOLDS, 'NX', whole(now + numbered(12)), member) == 1 then redis.call('HINCRBY', HELD, 'held', ARGV[10]) end
      end
    end
  end
  if ARGV[7] ~= '' then
    units = units + numbered(8)
    move(month, ARGV[7], numbered(8))
  end
  return {OUTCOME.done, now, rate, month, units, balance, holding, '', ''}
end

-- nonce, held, amount, kind, has reference, reference, freeCredits, since, idempotencyMs, body hash, parts of the response
function operations.commit()
  local nonce, holding, amount, freeCredits = ARGV[4], ARGV[5], numbered(6), numbered(10)
  if ARGV[12] ~= '' then
    local kept = keptAnswer(numbered(12))
    if kept then
      local own = kept.nonce == nonce
      if not own and holding ~= '0' then drop(nonce .. ':' .. holding) end
      if kept.hash ~= ARGV[13] then return {OUTCOME.otherBody, now} end
      if own then return {OUTCOME.done, now, kept.remaining, '', kept.sequence > 0 and shown(entryAt(kept.sequence)) or {}} end
      return {OUTCOME.kept, now, due(head(), freeCredits).balance, kept.body, {}}
    end
  end
  -- If the hold is missing, it has expired, or the node has released it because the outcome was unknown, or this step is repeated.
  if holding ~= '0' and not drop(nonce .. ':' .. holding) then
    if redis.call('EXISTS', MARK) == 1 then return {OUTCOME.voided, now} end
    local before = chargeOf(nonce, numbered(11))
    if before then return {OUTCOME.done, now, before.balance, '', shown(before)} end
  end
  local last = settleMonth(head(), freeCredits, nonce)
  if amount > 0 and last.balance < amount then return {OUTCOME.creditsExhausted, now, last.balance} end
  local remaining, entry = last.balance - amount, nil
  if amount > 0 then entry = append(last, numbered(7), -amount, spend(last, amount), referenceAt(8), nonce) end
  if ARGV[12] ~= '' then
    -- Join the parts of the response with the remaining balance, which is known only here.
    local body = table.concat(ARGV, whole(remaining), 14)
    redis.call('HSET', KEPT, 't', whole(now), 'h', ARGV[13], 'b', body, 'n', nonce, 's', whole(entry and entry.sequence or 0), 'r', whole(remaining))
    redis.call('PEXPIRE', KEPT, ARGV[12])
  end
  return {OUTCOME.done, now, remaining, '', entry and shown(entry) or {}}
end

-- nonce, held, lifetime in ms of the mark that voids a delayed step
function operations.release()
  if ARGV[6] ~= '' then redis.call('SET', MARK, '1', 'PX', ARGV[6]) end
  return {drop(ARGV[4] .. ':' .. ARGV[5]) and OUTCOME.done or OUTCOME.unknown}
end

local function refundCharge(charge, freeCredits, nonce)
  local event = 'refund:' .. whole(charge.sequence)
  local before = redis.call('HGET', EVENTS, event)
  if before then return entryAt(tonumber(before)) end
  local last = settleMonth(head(), freeCredits, nonce)
  local earlier = charge.before > 0 and entryAt(charge.before) or NOTHING
  -- Free credits are returned as free ones, even in a later month: they expire with that month.
  local after = {
    balance = last.balance - charge.amount,
    free = last.free + math.max(0, earlier.free - charge.free),
    granted = last.granted + math.max(0, earlier.granted - charge.granted),
    month = last.month,
  }
  local entry = append(last, REFUND, -charge.amount, after, charge.reference, nonce)
  redis.call('HSET', EVENTS, event, whole(entry.sequence))
  return entry
end

-- nonce, held, freeCredits, since, nonce of the refund, lifetime in ms of the mark
function operations.undo()
  if ARGV[5] ~= '0' then drop(ARGV[4] .. ':' .. ARGV[5]) end
  redis.call('SET', MARK, '1', 'PX', ARGV[9])
  local charge = chargeOf(ARGV[4], numbered(7))
  if not charge then return {OUTCOME.unknown} end
  refundCharge(charge, numbered(6), ARGV[8])
  return {OUTCOME.done}
end

-- nonce, sequence, nonce of the charge, freeCredits
function operations.refund()
  local charge = entryAt(numbered(5))
  if not charge or charge.nonce ~= ARGV[6] or charge.kind > 1 then return {OUTCOME.unknown} end
  return {OUTCOME.done, shown(refundCharge(charge, numbered(7), ARGV[4]))}
end

-- nonce, kind, amount, has reference, reference, freeCredits, event, mayOwe, lifetime in ms of the mark of the nonce
function operations.book()
  local amount = numbered(6)
  local before = ARGV[10] ~= '' and redis.call('HGET', EVENTS, 'book:' .. ARGV[10]) or redis.call('GET', MARK)
  if before then
    local entry = entryAt(tonumber(before))
    return {entry.nonce == ARGV[4] and OUTCOME.done or OUTCOME.repeated, shown(entry)}
  end
  local last = settleMonth(head(), numbered(9), ARGV[4])
  if amount < 0 and last.balance + amount < 0 and ARGV[11] == '' then return {OUTCOME.belowZero, last.balance} end
  local after
  if amount < 0 then
    after = spend(last, -amount)
  else
    after = {
      balance = last.balance + amount, free = last.free, granted = last.granted + (numbered(5) == GRANT and amount or 0), month = last.month,
    }
  end
  local entry = append(last, numbered(5), amount, after, referenceAt(7), ARGV[4])
  if ARGV[10] ~= '' then
    redis.call('HSET', EVENTS, 'book:' .. ARGV[10], whole(entry.sequence))
  else
    redis.call('SET', MARK, whole(entry.sequence), 'PX', ARGV[12])
  end
  return {OUTCOME.done, shown(entry)}
end

-- nonce, kind, total, has reference, reference, freeCredits, event
function operations.settle()
  local event, total = 'cost:' .. ARGV[10], numbered(6)
  local known = redis.call('HGET', EVENTS, event)
  local cost = {0, 0, 0}
  if known then cost = {struct.unpack('<ddd', known)} end
  local missing = total - cost[1]
  if missing == 0 then return {OUTCOME.repeated} end
  local last = settleMonth(head(), numbered(9), ARGV[4])
  if missing > 0 then
    local holding = held()
    if last.balance - holding < missing then return {OUTCOME.creditsExhausted, now, missing, last.balance, holding} end
  end
  local after = nil
  if missing > 0 then
    after = spend(last, missing)
  else
    -- Bought credits are returned first, free ones last: credits that would expire with the month count as spent.
    local back = -missing
    local free = math.max(0, back - (cost[1] - cost[2]))
    local granted = math.min(cost[3], math.max(0, back - (cost[1] - cost[2] - cost[3])))
    after = {balance = last.balance + back, free = last.free + free, granted = last.granted + granted, month = last.month}
  end
  redis.call('HSET', EVENTS, event, struct.pack('<ddd', total, cost[2] + last.free - after.free, cost[3] + last.granted - after.granted))
  return {OUTCOME.done, shown(append(last, missing > 0 and numbered(5) or REFUND, -missing, after, referenceAt(7), ARGV[4]))}
end

local function standing(last, freeCredits)
  local after = due(last, freeCredits)
  return {after.balance, after.free, after.granted, held(), now}
end

-- freeCredits
function operations.balance()
  return standing(head(), numbered(4))
end

-- nonce, freeCredits, limit, sequence of the cursor, nonce of the cursor, maximum number of days
function operations.usage()
  local last = settleMonth(head(), numbered(5), ARGV[4])
  local to = '+'
  if ARGV[7] ~= '' then
    local cursor = entryAt(numbered(7))
    if not cursor or cursor.nonce ~= ARGV[8] then return {OUTCOME.unknown} end
    to = ARGV[7] .. '-0'
  end
  local history = {}
  for _, row in ipairs(redis.call('XREVRANGE', LOG, to, '-', 'COUNT', ARGV[6] + 1)) do history[#history + 1] = shown(decodeRow(row)) end
  local days, entry = {}, last
  while entry and entry.sequence > 0 and #days <= numbered(9) do
    days[#days + 1] = shown(entry)
    entry = entry.dayBefore > 0 and entryAt(entry.dayBefore) or nil
  end
  return {OUTCOME.done, standing(last, numbered(5)), history, days}
end

-- second in which the request was counted
function operations.uncount()
  if tonumber(redis.call('HGET', RATE, ARGV[4]) or '0') > 0 then redis.call('HINCRBY', RATE, ARGV[4], -1) end
  return {OUTCOME.done, now}
end

-- rateNow, rateLimit
function operations.rate()
  return {now, window(numbered(4) or now, numbered(5), true)}
end

-- meter, units, limit
function operations.take()
  local month, units = taken(ARGV[4])
  if ARGV[6] ~= '' and units + numbered(5) > numbered(6) then return {OUTCOME.quotaExhausted, month, units} end
  move(month, ARGV[4], numbered(5))
  return {OUTCOME.done, month, units + numbered(5)}
end

-- meter, units
function operations.give()
  local month, units = taken(ARGV[4])
  move(month, ARGV[4], -math.min(units, numbered(5)))
  return {OUTCOME.done}
end

-- meter, units, limit, lifetime in ms of the event
function operations.settleUnits()
  local month, units = taken(ARGV[4])
  local event = redis.call('HMGET', MARK, 'month', 'units')
  local ofMonth, before = tonumber(event[1] or whole(month)), tonumber(event[2] or '0')
  local missing = numbered(5) - before
  if ofMonth == month then
    if missing > 0 and ARGV[6] ~= '' and units + missing > numbered(6) then return {OUTCOME.quotaExhausted, month, units} end
    missing = math.max(missing, -units)
    if missing ~= 0 then move(month, ARGV[4], missing) end
    units = units + missing
  end
  redis.call('HSET', MARK, 'month', whole(ofMonth), 'units', ARGV[5])
  redis.call('PEXPIRE', MARK, ARGV[7])
  return {OUTCOME.done, month, units}
end

-- meter
function operations.used()
  local month, units = taken(ARGV[4])
  return {OUTCOME.done, month, units}
end

-- idempotencyMs
function operations.kept()
  local kept = keptAnswer(numbered(4))
  if not kept then return {OUTCOME.unknown} end
  return {OUTCOME.done, kept.hash, kept.body}
end

-- A write without effect, so that the caller can wait for replicas.
function operations.confirm()
  redis.call('HINCRBY', HELD, 'held', 0)
  return {OUTCOME.done}
end
