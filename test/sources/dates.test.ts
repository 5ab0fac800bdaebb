import { describe, expect, it } from 'vitest';
import { partialDate, readDate, readDates, readUsDate, yearRange } from '../../src/sources/dates.ts';

describe('dates of the lists', () => {
  it.each([
    ['2025-03-04', '2025-03-04'],
    ['2018-12-21T14:39:54.511+01:00', '2018-12-21'],
    ['2015-04-07-04:00', '2015-04-07'],
    ['1972', '1972'],
    ['1972-05', '1972-05'],
    ['21/06/2021', '2021-06-21'],
    ['dd/mm/1972', '1972'],
    ['dd/05/1972', '1972-05'],
    ['00/00/1968', '1968'],
    ['24-Jun-2026', '2026-06-24'],
    ['10 Dec 1948', '1948-12-10'],
    ['March 1962', '1962-03'],
    ['circa 1934', '1934'],
    // If the month does not have the day, only the month is used.
    ['31/02/1980', '1980-02'],
  ])('reads %s as %s', (text, date) => expect(readDate(text)).toBe(date));

  it.each(['', 'unknown', '12', '99/99/99', '1972-1974-1976', '0001'])(
    'does not take %j for a date',
    (text) => expect(readDate(text)).toBeNull(),
  );

  it('reads the month first only for OFAC', () => {
    expect(readUsDate('02/22/2022')).toBe('2022-02-22');
    expect(readUsDate('2022-02-22')).toBeNull();
  });

  it('expands a range of years, and keeps only the ends of a wide one', () => {
    expect(readDates('1953 to 1955')).toEqual(['1953', '1954', '1955']);
    expect(readDates('01 Jan 1961 to 31 Dec 1961')).toEqual(['1961']);
    expect(readDates('1953-1954')).toEqual(['1953', '1954']);
    expect(yearRange(1900, 1990)).toEqual(['1900', '1990']);
    expect(readDates('not a date')).toEqual([]);
  });

  it('builds partial dates from numbers', () => {
    expect(partialDate(2024, 2, 29)).toBe('2024-02-29');
    expect(partialDate(2023, 2, 29)).toBe('2023-02');
    expect(partialDate(Number.NaN, 1, 1)).toBeNull();
    expect(partialDate(1980, Number.NaN, 3)).toBe('1980');
  });
});
