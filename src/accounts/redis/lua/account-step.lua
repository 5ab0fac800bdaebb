-- First part of the script of an account: its keys, the clock, and the calendar. The script is the parts of account-lua.ts in their
-- order, after the table OUTCOME.
--
-- KEYS: log, state of the account, holds, events, stored response, mark, rate window, hash with the sum of the holds.
-- ARGV: operation, time in ms or nothing, balance, and then the arguments of the operation, from the fourth.
local LOG, STATE, HOLDS, EVENTS, KEPT, MARK, RATE, HELD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local account = ARGV[3]
local function whole(number) return string.format('%.0f', number) end
local function numbered(position) return tonumber(ARGV[position]) end

-- Milliseconds since the epoch, by the server's clock unless the caller passes a time.
local now = numbered(2)
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Returns the UTC calendar month, counted from year 0 (civil_from_days: Howard Hinnant, chrono-Compatible Low-Level Date Algorithms).
local function monthOf(ms)
  local days = math.floor(ms / 86400000) + 719468
  local era = math.floor(days / 146097)
  local ofEra = days - era * 146097
  local yearOfEra = math.floor((ofEra - math.floor(ofEra / 1460) + math.floor(ofEra / 36524) - math.floor(ofEra / 146096)) / 365)
  local ofYear = ofEra - (365 * yearOfEra + math.floor(yearOfEra / 4) - math.floor(yearOfEra / 100))
  local fromMarch = math.floor((5 * ofYear + 2) / 153)
  local year = yearOfEra + era * 400
  if fromMarch >= 10 then return (year + 1) * 12 + fromMarch - 10 end
  return year * 12 + fromMarch + 2
end
