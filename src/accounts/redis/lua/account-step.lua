-- First part of the script of an account: the keys and arguments of the step that runs, the clock, and the calendar. The script is the
-- parts of account-lua.ts in their order, with the numbers of the outcomes in place of their names.
--
-- The script runs one or more steps (account-run.lua).
-- KEYS: the keys of the steps, only in a Redis Cluster, which must know them.
-- ARGV: one text (step-codec.ts), for each step a format of `struct` and values in it: operation, time in ms or nothing, balance; the arguments
-- of the operation, from the fourth; the names of the stored response, the mark and the rate window, or nothing; the pool of the balance, and
-- the beginning of the account's keys. A value that is not given is an empty text.
local packed = ARGV[1]
local SLOT, LOG, STATE, HOLDS, KEPT, MARK, RATE, HELD
-- Values of the step that runs, and the position of the last argument of its operation.
local ARGV, LAST
local account, now
local digitsOf = {}
-- Returns the digits of a number. Steps of a script share most of their numbers.
local function whole(number)
  local digits = digitsOf[number]
  if not digits then
    digits = string.format('%d', number)
    digitsOf[number] = digits
  end
  return digits
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
local monthBegan, monthFound
-- Returns the month of `now`, which the steps of a script share.
local function monthNow()
  if monthBegan ~= now then monthBegan, monthFound = now, monthOf(now) end
  return monthFound
end
