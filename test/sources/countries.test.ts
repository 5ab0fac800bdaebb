import { describe, expect, it } from 'vitest';
import { readCountries, readCountry } from '../../src/sources/countries.ts';

describe('countries of the lists', () => {
  it.each([
    ['Russia', 'RU'],
    ['RUSSIAN FEDERATION', 'RU'],
    ['Korea, North', 'KP'],
    ["KOREA, DEMOCRATIC PEOPLE'S REPUBLIC OF", 'KP'],
    ['IRAN (ISLAMIC REPUBLIC OF)', 'IR'],
    ['CONGO, Democratic Republic of (was Zaire)', 'CD'],
    ['Burma', 'MM'],
    ['Türkiye', 'TR'],
    ['United Kingdom', 'GB'],
    ['(1) Syria', 'SY'],
    ['NA', 'NA'],
    ['IR', 'IR'],
  ])('reads %s as %s', (text, code) => expect(readCountry(text)).toBe(code));

  it('keeps a text that names no country, and returns nothing for the unknown', () => {
    expect(readCountry('former Soviet Union')).toBe('former Soviet Union');
    expect(readCountry('UNKNOWN')).toBeNull();
    expect(readCountry('00')).toBeNull();
    expect(readCountry(' ')).toBeNull();
  });

  it('names each country once', () => {
    expect(readCountries(['Iran', undefined, '', 'IR', 'Cuba'])).toEqual(['IR', 'CU']);
  });
});
