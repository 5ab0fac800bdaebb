/** Dates of labels as days in 16 bits: half of a word, and sufficient for any chain until the year 2149. */

/** Means "not known". 1 January 1970 itself is therefore not representable; no chain is that old. */
export const NO_DAY = 0;

const MS_PER_DAY = 86_400_000;
const DAY_MAX = 0xffff;

/**
 * Converts an ISO date or time (`2019-08-06`, `2019-08-06T10:00:00Z`) to days since 1970-01-01. A partial date (`2019`,
 * `2019-08`) means its first day.
 *
 * @returns NO_DAY if the text is null, not a date, or outside 1970-01-02 to 2149-06-06.
 */
export function dayFromIso(text: string | null): number {
  if (text === null) return NO_DAY;
  const epochMs = Date.parse(text.length > 10 ? text.slice(0, 10) : text);
  if (!Number.isFinite(epochMs)) return NO_DAY;
  const day = Math.floor(epochMs / MS_PER_DAY);
  return day > 0 && day <= DAY_MAX ? day : NO_DAY;
}

/** Days from the epoch of the shifted calendar below (0000-03-01) to 1 January 1970. */
const SHIFTED_EPOCH_DAYS = 719_468;

/**
 * Returns year, month and day packed as `year << 9 | month << 5 | day`.
 *
 * Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
 */
export function civilFromDay(day: number): number {
  const shifted = day + SHIFTED_EPOCH_DAYS;
  const era = (shifted / 146_097) | 0;
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra =
    ((dayOfEra - ((dayOfEra / 1460) | 0) + ((dayOfEra / 36_524) | 0) - ((dayOfEra / 146_096) | 0)) / 365) | 0;
  const dayOfYear = dayOfEra - (365 * yearOfEra + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0));
  const shiftedMonth = ((5 * dayOfYear + 2) / 153) | 0;
  const dayOfMonth = dayOfYear - (((153 * shiftedMonth + 2) / 5) | 0) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return (year << 9) | (month << 5) | dayOfMonth;
}

const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`);

/** Cache of rendered days: the labels of millions of addresses share a few thousand days, of 32 bytes each. */
const isoTexts: string[] = new Array(DAY_MAX + 1).fill('');

/** Returns the ISO date of a day; null for NO_DAY. */
export function isoFromDay(day: number): string | null {
  if (day === NO_DAY) return null;
  const known = isoTexts[day] as string;
  return known === '' ? renderDay(day) : known;
}

function renderDay(day: number): string {
  const civil = civilFromDay(day);
  const text = `${civil >> 9}-${two((civil >> 5) & 15)}-${two(civil & 31)}`;
  isoTexts[day] = text;
  return text;
}

/** Writes a day other than NO_DAY as `YYYY-MM-DD` (10 bytes of ASCII). */
export function writeIsoDay(day: number, out: Uint8Array, offset: number): void {
  const civil = civilFromDay(day);
  const year = civil >> 9;
  const month = (civil >> 5) & 15;
  const dayOfMonth = civil & 31;
  out[offset] = 48 + ((year / 1000) | 0);
  out[offset + 1] = 48 + (((year / 100) | 0) % 10);
  out[offset + 2] = 48 + (((year / 10) | 0) % 10);
  out[offset + 3] = 48 + (year % 10);
  out[offset + 4] = 45;
  out[offset + 5] = 48 + ((month / 10) | 0);
  out[offset + 6] = 48 + (month % 10);
  out[offset + 7] = 45;
  out[offset + 8] = 48 + ((dayOfMonth / 10) | 0);
  out[offset + 9] = 48 + (dayOfMonth % 10);
}

/**
 * Converts ten bytes `YYYY-MM-DD` to days since 1970-01-01;
 * returns -1 unless they are a date from 1970-01-02 to 2149-06-06.
 */
export function dayFromBytes(bytes: Uint8Array, offset: number): number {
  const digit = (index: number): number => {
    const value = (bytes[offset + index] as number) - 48;
    return value >= 0 && value <= 9 ? value : -10_000;
  };
  if (bytes[offset + 4] !== 45 || bytes[offset + 7] !== 45) return -1;
  const year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
  const month = digit(5) * 10 + digit(6);
  const dayOfMonth = digit(8) * 10 + digit(9);
  if (year < 1970 || year > 2149 || month < 1 || month > 12 || dayOfMonth < 1) return -1;
  // Hinnant, days_from_civil.
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = (shiftedYear / 400) | 0;
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = (((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) | 0) + dayOfMonth - 1;
  const dayOfEra = yearOfEra * 365 + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0) + dayOfYear;
  const day = era * 146_097 + dayOfEra - SHIFTED_EPOCH_DAYS;
  if (day <= 0 || day > DAY_MAX) return -1;
  return civilFromDay(day) === ((year << 9) | (month << 5) | dayOfMonth) ? day : -1;
}
