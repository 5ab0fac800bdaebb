-- Entries. The functions mirror encodeEntry and decodeEntry of ledger-entry.ts, spend and monthTurn of credits.ts.
local FORMAT = '<ddddddddddddddI4BBH'
local FORMAT_WITH_TEXTS = FORMAT .. 'c0c0'
local SCREENING, GRANT, EXPIRY, REFUND = 0, 3, 4, 5

local function decode(id, bytes, nonce)
  local at, before, dayBefore, amount, balance, free, granted, s0, s1, s2, s3, s4, s5, s6, month, kind, ofAccount, ofReference, text =
    struct.unpack(FORMAT, bytes)
  local hasReference = kind >= 128
  return {
    sequence = tonumber(string.match(id, '^%d+')), at = at, before = before, dayBefore = dayBefore, amount = amount,
    balance = balance, free = free, granted = granted, sums = {s0, s1, s2, s3, s4, s5, s6}, month = month, kind = kind % 128,
    reference = hasReference and string.sub(bytes, text + ofAccount, text + ofAccount + ofReference - 1) or false,
    bytes = bytes, nonce = nonce,
  }
end
-- Decodes a row of the stream: its id, and its fields e (the entry) and n (the nonce of the step that wrote it).
local function decodeRow(row) return decode(row[1], row[2][2], row[2][4]) end

local NOTHING = {
  sequence = 0, at = 0, dayBefore = 0, balance = 0, free = 0, granted = 0, month = 0, sums = {0, 0, 0, 0, 0, 0, 0}, bytes = '', nonce = '',
}
local function head()
  local last = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)
  if #last == 0 then return NOTHING end
  return decodeRow(last[1])
end
local function entryAt(sequence)
  local id = whole(sequence) .. '-0'
  local rows = redis.call('XRANGE', LOG, id, id)
  if #rows == 0 then return nil end
  return decodeRow(rows[1])
end

-- Writes an entry. Its amount is in the sums already.
local function write(sequence, before, dayBefore, amount, balance, free, granted, s0, s1, s2, s3, s4, s5, s6, month, kind, reference, nonce)
  local bytes = struct.pack(FORMAT_WITH_TEXTS, now, before, dayBefore, amount, balance, free, granted, s0, s1, s2, s3, s4, s5, s6, month,
    kind + (reference and 128 or 0), #account, reference and #reference or 0, account, reference or '')
  return bytes, redis.pcall('XADD', LOG, string.format('%d-0', sequence), 'e', bytes, 'n', nonce)
end
local function dayBeforeOf(at, sequence, dayBefore)
  if math.floor(at / 86400000) == math.floor(now / 86400000) then return dayBefore end
  return sequence
end

local function append(last, kind, amount, after, reference, nonce)
  local sums = {unpack(last.sums)}
  sums[kind + 1] = sums[kind + 1] + amount
  local sequence, dayBefore = last.sequence + 1, dayBeforeOf(last.at, last.sequence, last.dayBefore)
  local bytes, added = write(sequence, last.sequence, dayBefore, amount, after.balance, after.free, after.granted,
    sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], after.month, kind, reference, nonce)
  if type(added) == 'table' then error(added) end
  -- The copy of the head is too old now.
  redis.call('HDEL', HELD, 'head')
  return {
    sequence = sequence, at = now, before = last.sequence, dayBefore = dayBefore, amount = amount,
    balance = after.balance, free = after.free, granted = after.granted, sums = sums, month = after.month, kind = kind,
    reference = reference, bytes = bytes, nonce = nonce,
  }
end

-- Returns the pools of free and granted credits after a charge.
local function poolsAfter(free, granted, amount)
  local fromFree = math.min(free, amount)
  return free - fromFree, granted - math.min(granted, amount - fromFree)
end
local function spend(last, amount)
  local free, granted = poolsAfter(last.free, last.granted, amount)
  return {balance = last.balance - amount, free = free, granted = granted, month = last.month}
end

-- Applies the entries of a month change with step: settleMonth books them, due only computes the state after them.
local function monthTurn(last, freeCredits, step)
  local month = monthNow()
  if month <= last.month then return last end
  local after = last
  if after.free > 0 then
    after = step(after, EXPIRY, -after.free, {balance = after.balance - after.free, free = 0, granted = after.granted, month = after.month})
  end
  if freeCredits > 0 then
    after = step(after, GRANT, freeCredits, {balance = after.balance + freeCredits, free = freeCredits, granted = after.granted, month = month})
  end
  return after
end
local function settleMonth(last, freeCredits, nonce)
  return monthTurn(last, freeCredits, function(before, kind, amount, after) return append(before, kind, amount, after, false, nonce) end)
end
local function due(last, freeCredits)
  return monthTurn(last, freeCredits, function(_, _, _, after) return after end)
end
-- The copy of the state after the last entry, in the field `head` of HELD, because reading the end of a stream costs several times as much:
-- sequence, at, dayBefore, balance, free, granted, month, sums. Charges write it. Other steps delete it, but those of an earlier release leave it
-- as it was, so a step may find a copy that is too old. A charge notices, because its sequence is taken already.
local COPY = '<dddddddddddddd'
local COPY_BYTES = 112
-- Returns the copy in a field; nothing if there is none, or one of another release.
local function copyIn(field) return field and #field == COPY_BYTES and field end

-- Returns the balance of due by a copy that may be too old.
local function dueBalance(copy, freeCredits)
  local _, _, _, balance, free, _, month = struct.unpack(COPY, copy)
  if monthNow() <= month then return balance end
  return balance - math.max(0, free) + math.max(0, freeCredits)
end

-- Sets the copy, and the sum of the holds.
local function copyHead(held, ...)
  redis.call('HSET', HELD, 'held', whole(held), 'head', struct.pack(COPY, ...))
end

-- Charges by the copy, and sets the sum of the holds. Returns the sequence of the entry and the balance; nothing if the copy is too old or
-- does not cover the charge, which then must read the log.
local function chargeByCopy(copy, held, kind, amount, freeCredits, reference, nonce)
  local last, at, dayBefore, balance, free, granted, month, s0, s1, s2, s3, s4, s5, s6 = struct.unpack(COPY, copy)
  if balance < amount or monthNow() > month and (free > 0 or freeCredits > 0) then return nil end
  local sequence = last + 1
  dayBefore = dayBeforeOf(at, last, dayBefore)
  balance = balance - amount
  free, granted = poolsAfter(free, granted, amount)
  if kind == SCREENING then s0 = s0 - amount else s1 = s1 - amount end
  local _, added = write(sequence, last, dayBefore, -amount, balance, free, granted, s0, s1, s2, s3, s4, s5, s6, month, kind, reference, nonce)
  if type(added) == 'table' then return nil end
  copyHead(held, sequence, now, dayBefore, balance, free, granted, month, s0, s1, s2, s3, s4, s5, s6)
  return sequence, balance
end

-- Returns the charge that the step with this nonce wrote, searching back to a minute before a time.
local function chargeOf(nonce, since)
  local to = '+'
  while true do
    local rows = redis.call('XREVRANGE', LOG, to, '-', 'COUNT', 100)
    for _, row in ipairs(rows) do
      local entry = decodeRow(row)
      if entry.nonce == nonce and entry.kind <= 1 then return entry end
      if entry.at < since - 60000 then return nil end
      to = '(' .. row[1]
    end
    if #rows < 100 then return nil end
  end
end
