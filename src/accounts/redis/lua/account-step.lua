-- First part of the script of an account: the keys and arguments of the step that runs, the clock, and the calendar. The script is the
-- parts of account-lua.ts in their order, with the numbers of the outcomes in place of their names.
--
-- The script runs one or more steps (account-run.lua).
-- KEYS: eight for each step: log, state of the account, holds, events, stored response, mark, rate window, hash with the sum of the holds.
-- ARGV: for each step the number of its arguments, and then these: operation, time in ms or nothing, balance, and the arguments of the
-- operation, from the fourth.
local ALL_KEYS, ALL_ARGUMENTS = KEYS, ARGV
local LOG, STATE, HOLDS, EVENTS, KEPT, MARK, RATE, HELD
local ARGV, account, now
local function whole(number) return string.format('%d', number) end
local function numbered(position) return tonumber(ARGV[position]) end

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
