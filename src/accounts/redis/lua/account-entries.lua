-- Entries. The functions mirror encodeEntry and decodeEntry of ledger-entry.ts, spend and monthTurn of credits.ts.
local FORMAT = '<ddddddddddddddI4BBH'
-- Positions of the balance, the fifth double, and of the month, after fourteen doubles.
local BALANCE_AT, MONTH_AT = 33, 113
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

local function append(last, kind, amount, after, reference, nonce)
  local sums = {unpack(last.sums)}
  sums[kind + 1] = sums[kind + 1] + amount
  local dayBefore = last.sequence
  if math.floor(last.at / 86400000) == math.floor(now / 86400000) then dayBefore = last.dayBefore end
  local bytes = struct.pack(FORMAT, now, last.sequence, dayBefore, amount, after.balance, after.free, after.granted,
    sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7], after.month,
    kind + (reference and 128 or 0), #account, reference and #reference or 0) .. account .. (reference or '')
  local id = whole(last.sequence + 1) .. '-0'
  redis.call('XADD', LOG, id, 'e', bytes, 'n', nonce)
  return {
    sequence = last.sequence + 1, at = now, before = last.sequence, dayBefore = dayBefore, amount = amount,
    balance = after.balance, free = after.free, granted = after.granted, sums = sums, month = after.month, kind = kind,
    reference = reference, bytes = bytes, nonce = nonce,
  }
end

local function spend(last, amount)
  local fromFree = math.min(last.free, amount)
  local fromGranted = math.min(last.granted, amount - fromFree)
  return {balance = last.balance - amount, free = last.free - fromFree, granted = last.granted - fromGranted, month = last.month}
end

-- Applies the entries of a month change with step: settleMonth books them, due only computes the state after them.
local function monthTurn(last, freeCredits, step)
  local month = monthOf(now)
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
-- Returns the balance of due. Within a month that is the balance of the last entry, of which nothing else is decoded.
local function dueBalance(freeCredits)
  local last = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
  if not last then return due(NOTHING, freeCredits).balance end
  local bytes = last[2][2]
  if monthOf(now) <= struct.unpack('<I4', bytes, MONTH_AT) then return (struct.unpack('<d', bytes, BALANCE_AT)) end
  return due(decodeRow(last), freeCredits).balance
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
