-- The operations. The comment above each lists its arguments.
local function shown(entry) return {entry.sequence, entry.bytes, entry.nonce} end
local function referenceAt(position) return ARGV[position] ~= '' and ARGV[position + 1] end

-- Few steps need the keys of their mark and of the events.
local function mark() return SLOT .. MARK end
local function events() return string.sub(LOG, 1, -4) .. 'events' end

-- Marks the step as abandoned. The field `voided` of HELD is the time until which steps of the balance may have such marks.
local function void(lifetime)
  redis.call('SET', mark(), '1', 'PX', whole(lifetime))
  redis.call('HSET', HELD, 'voided', whole(now + lifetime))
end
local function isVoided() return redis.call('EXISTS', mark()) == 1 end

local operations = {}

-- Holds credits. Returns whether they are held, the balance, and the sum of the other holds.
local function hold(nonce, credits, holdMs, freeCredits)
  local fields = redis.call('HMGET', HELD, 'held', 'head', 'voided')
  local holding = heldOf(tonumber(fields[1] or '0'))
  local copy, balance = copyIn(fields[2]), nil
  if copy then balance = dueBalance(copy, freeCredits) end
  -- The copy may be too old. If it is too high, the charge is refused when it is committed.
  if not balance or balance - holding < credits then balance = due(head(), freeCredits).balance end
  if credits == 0 then return true, balance, holding end
  local member = nonce .. ':' .. whole(credits)
  if balance - holding < credits then
    -- A repeated step holds credits once.
    return redis.call('ZSCORE', HOLDS, member) and true, balance, holding
  end
  -- If the node has already released the step, it holds nothing.
  if fields[3] and now <= tonumber(fields[3]) and isVoided() then return false, balance, holding end
  if redis.call('ZADD', HOLDS, 'NX', whole(now + holdMs), member) == 1 then redis.call('HINCRBY', HELD, 'held', whole(credits)) end
  return true, balance, holding
end

-- The reply of an admission: outcome, time, four numbers of the rate window, month, units taken in it, balance, sum of the other holds.
local function admitted(outcome, ...) return struct.pack('<dddddddddd', outcome, now, ...) end

-- rateNow, rateLimit, idempotencyMs, meter, units, quotaLimit, credits, nonce, holdMs, freeCredits, deadline; the part of an empty argument is skipped
function operations.admit()
  local month, units, stored, balance, holding = 0, 0, 0, 0, 0
  -- After the deadline the client has received an error, so the step does nothing.
  if ARGV[14] ~= '' and now > ARGV[14] then return admitted(OUTCOME.expired, 0, 0, 0, 0, 0, 0, 0, 0) end
  local allowed, counted, freeing, second = 0, 0, 0, 0
  if ARGV[5] ~= '' then
    allowed, counted, freeing, second = window(ARGV[4] ~= '' and ARGV[4] or now, ARGV[5], true)
    if allowed == 0 then return admitted(OUTCOME.rateLimited, allowed, counted, freeing, second, 0, 0, 0, 0) end
  end
  if ARGV[6] ~= '' then
    local kept = keptAnswer(ARGV[6])
    if kept then return {OUTCOME.kept, now, allowed, counted, freeing, second, 0, 0, 0, 0, kept.hash, kept.body} end
  end
  local meter = ARGV[7]
  if meter ~= '' then
    month, units, stored = taken(meter)
    if ARGV[9] ~= '' and units + ARGV[8] > ARGV[9] then
      return admitted(OUTCOME.quotaExhausted, allowed, counted, freeing, second, month, units, 0, 0)
    end
  end
  if ARGV[10] ~= '' then
    local isHeld
    isHeld, balance, holding = hold(ARGV[11], ARGV[10], ARGV[12], ARGV[13])
    if not isHeld then return admitted(OUTCOME.creditsExhausted, allowed, counted, freeing, second, month, units, balance, holding) end
  end
  if meter ~= '' then
    units = units + ARGV[8]
    move(month, stored, meter, ARGV[8])
  end
  return admitted(OUTCOME.done, allowed, counted, freeing, second, month, units, balance, holding)
end

-- Charges by the log. Returns the sequence of the entry, or nothing if the credits do not suffice, and the balance.
local function chargeByLog(held, kind, amount, freeCredits, reference, nonce)
  local last = settleMonth(head(), freeCredits, nonce)
  local isCharged = amount == 0 or last.balance >= amount
  if isCharged and amount > 0 then last = append(last, kind, -amount, spend(last, amount), reference, nonce) end
  copyHead(held, last.sequence, last.at, last.dayBefore, last.balance, last.free, last.granted, last.month, unpack(last.sums))
  return isCharged and last.sequence, last.balance
end

-- The reply of a commit: outcome, time, balance after the charge, and of its entry the sequence and the time; 0 for none.
local function committed(remaining, entry)
  return struct.pack('<ddddd', OUTCOME.done, now, remaining, entry and entry.sequence or 0, entry and entry.at or 0)
end

-- nonce, held, amount, kind, has reference, reference, freeCredits, since, idempotencyMs, body hash, parts of the response
function operations.commit()
  local nonce, holding, amount, freeCredits = ARGV[4], ARGV[5], ARGV[6], ARGV[10]
  if ARGV[12] ~= '' then
    local kept = keptAnswer(ARGV[12])
    if kept then
      local own = kept.nonce == nonce
      if not own and holding > 0 then drop(nonce .. ':' .. whole(holding)) end
      if kept.hash ~= ARGV[13] then return {OUTCOME.otherBody, now} end
      if own then return committed(kept.remaining, kept.sequence > 0 and entryAt(kept.sequence)) end
      return {OUTCOME.kept, now, due(head(), freeCredits).balance, kept.body}
    end
  end
  -- If the hold is missing, it has expired, or the node has released it because the outcome was unknown, or this step is repeated.
  local ended = 0
  if holding > 0 then
    if redis.call('ZREM', HOLDS, nonce .. ':' .. whole(holding)) == 1 then
      ended = holding
    else
      if isVoided() then return {OUTCOME.voided, now} end
      local before = chargeOf(nonce, ARGV[11])
      if before then return committed(before.balance, before) end
    end
  end
  local fields = redis.call('HMGET', HELD, 'held', 'head')
  local held = tonumber(fields[1] or '0') - ended
  local kind, reference = ARGV[7], referenceAt(8)
  local sequence, remaining
  local copy = copyIn(fields[2])
  if copy and amount > 0 then sequence, remaining = chargeByCopy(copy, held, kind, amount, freeCredits, reference, nonce) end
  if not sequence then
    sequence, remaining = chargeByLog(held, kind, amount, freeCredits, reference, nonce)
    if not sequence then return {OUTCOME.creditsExhausted, now, remaining} end
    if amount == 0 then sequence = 0 end
  end
  if ARGV[12] ~= '' then
    -- Join the parts of the response with the remaining balance, which is known only here.
    local body = table.concat(ARGV, whole(remaining), 14, LAST)
    redis.call('HSET', KEPT, 't', whole(now), 'h', ARGV[13], 'b', body, 'n', nonce, 's', whole(sequence), 'r', whole(remaining))
    redis.call('PEXPIRE', KEPT, whole(ARGV[12]))
  end
  return committed(remaining, sequence > 0 and {sequence = sequence, at = now})
end

-- nonce, held, lifetime in ms of the mark that voids a delayed step
function operations.release()
  if ARGV[6] ~= '' then void(ARGV[6]) end
  return {drop(ARGV[4] .. ':' .. whole(ARGV[5])) and OUTCOME.done or OUTCOME.unknown}
end

local function refundCharge(charge, freeCredits, nonce)
  local event = 'refund:' .. whole(charge.sequence)
  local before = redis.call('HGET', events(), event)
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
  redis.call('HSET', events(), event, whole(entry.sequence))
  return entry
end

-- nonce, held, freeCredits, since, nonce of the refund, lifetime in ms of the mark
function operations.undo()
  if ARGV[5] > 0 then drop(ARGV[4] .. ':' .. whole(ARGV[5])) end
  void(ARGV[9])
  local charge = chargeOf(ARGV[4], ARGV[7])
  if not charge then return {OUTCOME.unknown} end
  refundCharge(charge, ARGV[6], ARGV[8])
  return {OUTCOME.done}
end

-- nonce, sequence, nonce of the charge, freeCredits
function operations.refund()
  local charge = entryAt(ARGV[5])
  if not charge or charge.nonce ~= ARGV[6] or charge.kind > 1 then return {OUTCOME.unknown} end
  return {OUTCOME.done, shown(refundCharge(charge, ARGV[7], ARGV[4]))}
end

-- nonce, kind, amount, has reference, reference, freeCredits, event, mayOwe, lifetime in ms of the mark of the nonce
function operations.book()
  local amount = ARGV[6]
  local before = ARGV[10] ~= '' and redis.call('HGET', events(), 'book:' .. ARGV[10]) or redis.call('GET', mark())
  if before then
    local entry = entryAt(tonumber(before))
    return {entry.nonce == ARGV[4] and OUTCOME.done or OUTCOME.repeated, shown(entry)}
  end
  local last = settleMonth(head(), ARGV[9], ARGV[4])
  if amount < 0 and last.balance + amount < 0 and ARGV[11] == '' then return {OUTCOME.belowZero, last.balance} end
  local after
  if amount < 0 then
    after = spend(last, -amount)
  else
    after = {
      balance = last.balance + amount, free = last.free, granted = last.granted + (ARGV[5] == GRANT and amount or 0), month = last.month,
    }
  end
  local entry = append(last, ARGV[5], amount, after, referenceAt(7), ARGV[4])
  if ARGV[10] ~= '' then
    redis.call('HSET', events(), 'book:' .. ARGV[10], whole(entry.sequence))
  else
    redis.call('SET', mark(), whole(entry.sequence), 'PX', whole(ARGV[12]))
  end
  return {OUTCOME.done, shown(entry)}
end

-- nonce, kind, total, has reference, reference, freeCredits, event
function operations.settle()
  local event, total = 'cost:' .. ARGV[10], ARGV[6]
  local known = redis.call('HGET', events(), event)
  local cost = {0, 0, 0}
  if known then cost = {struct.unpack('<ddd', known)} end
  local missing = total - cost[1]
  if missing == 0 then return {OUTCOME.repeated} end
  local last = settleMonth(head(), ARGV[9], ARGV[4])
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
  redis.call('HSET', events(), event, struct.pack('<ddd', total, cost[2] + last.free - after.free, cost[3] + last.granted - after.granted))
  return {OUTCOME.done, shown(append(last, missing > 0 and ARGV[5] or REFUND, -missing, after, referenceAt(7), ARGV[4]))}
end

local function standing(last, freeCredits)
  local after = due(last, freeCredits)
  return {after.balance, after.free, after.granted, held(), now, after.month}
end

-- freeCredits
function operations.balance()
  return standing(head(), ARGV[4])
end

-- nonce, freeCredits, limit, sequence of the cursor, nonce of the cursor, maximum number of days, last day without a cursor
function operations.usage()
  local last = settleMonth(head(), ARGV[5], ARGV[4])
  local to = '+'
  if ARGV[7] ~= '' then
    local cursor = entryAt(ARGV[7])
    if not cursor or cursor.nonce ~= ARGV[8] then return {OUTCOME.unknown} end
    to = whole(ARGV[7]) .. '-0'
  elseif ARGV[10] ~= '' then
    local entry = last
    while entry.sequence > 0 and math.floor(entry.at / 86400000) > ARGV[10] do
      entry = entry.dayBefore > 0 and entryAt(entry.dayBefore) or NOTHING
    end
    to = whole(entry.sequence) .. '-0'
  end
  local history = {}
  for _, row in ipairs(redis.call('XREVRANGE', LOG, to, '-', 'COUNT', ARGV[6] + 1)) do history[#history + 1] = shown(decodeRow(row)) end
  local days, entry = {}, last
  while entry and entry.sequence > 0 and #days <= ARGV[9] do
    days[#days + 1] = shown(entry)
    entry = entry.dayBefore > 0 and entryAt(entry.dayBefore) or nil
  end
  return {OUTCOME.done, standing(last, ARGV[5]), history, days}
end

-- second in which the request was counted
function operations.uncount()
  local second = whole(ARGV[4])
  if tonumber(redis.call('HGET', RATE, second) or '0') > 0 then redis.call('HINCRBY', RATE, second, -1) end
  return {OUTCOME.done, now}
end

-- rateNow, rateLimit
function operations.rate()
  return {now, {window(ARGV[4] ~= '' and ARGV[4] or now, ARGV[5], true)}}
end

-- meter, units, limit
function operations.take()
  local month, units, stored = taken(ARGV[4])
  if ARGV[6] ~= '' and units + ARGV[5] > ARGV[6] then return {OUTCOME.quotaExhausted, month, units} end
  move(month, stored, ARGV[4], ARGV[5])
  return {OUTCOME.done, month, units + ARGV[5]}
end

-- meter, units
function operations.give()
  local month, units, stored = taken(ARGV[4])
  move(month, stored, ARGV[4], -math.min(units, ARGV[5]))
  return {OUTCOME.done}
end

-- meter, units, limit, lifetime in ms of the event
function operations.settleUnits()
  local month, units, stored = taken(ARGV[4])
  local event = redis.call('HMGET', mark(), 'month', 'units')
  local ofMonth, before = tonumber(event[1] or whole(month)), tonumber(event[2] or '0')
  local missing = ARGV[5] - before
  if ofMonth == month then
    if missing > 0 and ARGV[6] ~= '' and units + missing > ARGV[6] then return {OUTCOME.quotaExhausted, month, units} end
    missing = math.max(missing, -units)
    if missing ~= 0 then move(month, stored, ARGV[4], missing) end
    units = units + missing
  end
  redis.call('HSET', mark(), 'month', whole(ofMonth), 'units', whole(ARGV[5]))
  redis.call('PEXPIRE', mark(), whole(ARGV[7]))
  return {OUTCOME.done, month, units}
end

-- meter
function operations.used()
  local month, units = taken(ARGV[4])
  return {OUTCOME.done, month, units}
end

-- idempotencyMs
function operations.kept()
  local kept = keptAnswer(ARGV[4])
  if not kept then return {OUTCOME.unknown} end
  return {OUTCOME.done, kept.hash, kept.body}
end

-- A write without effect, so that the caller can wait for replicas.
function operations.confirm()
  redis.call('HINCRBY', HELD, 'held', 0)
  return {OUTCOME.done}
end
