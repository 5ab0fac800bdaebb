/** Converts country names as the publishers print them to ISO 3166-1 alpha-2 codes. */
import { createRequire } from 'node:module';
import countries from 'i18n-iso-countries/index.js';

/** Spellings of the lists that the ISO names and their aliases do not contain. Keys are in the form of `foldCountry`. */
const PUBLISHERS_SPELLINGS: Readonly<Record<string, string>> = {
  'bahamas the': 'BS',
  'bahrain kingdom of': 'BH',
  bosnia: 'BA',
  'bosnia and herzegowina': 'BA',
  'bosnia herzegovina': 'BA',
  britain: 'GB',
  burma: 'MM',
  'cape verde': 'CV',
  'congo democratic republic': 'CD',
  'congo democratic republic of the': 'CD',
  'congo democratic republic of was zaire': 'CD',
  'congo dr': 'CD',
  'congo peoples republic of': 'CG',
  'china hong kong special administrative region': 'HK',
  'congo republic of the': 'CG',
  'cote d ivoire': 'CI',
  'czech republic': 'CZ',
  'antigua barbuda': 'AG',
  'british virgin islands': 'VG',
  brunei: 'BN',
  'cabo verde': 'CV',
  'democratic peoples republic of korea': 'KP',
  'democratic republic of congo': 'CD',
  'democratic republic of the congo': 'CD',
  dprk: 'KP',
  drc: 'CD',
  'east timor': 'TL',
  england: 'GB',
  'gambia the': 'GM',
  'great britain': 'GB',
  'guinea bissau': 'GW',
  'hong kong': 'HK',
  'hong kong china': 'HK',
  'hong kong special administrative region of china': 'HK',
  iran: 'IR',
  'iran islamic republic of': 'IR',
  'ivory coast': 'CI',
  kosovo: 'XK',
  'korea north': 'KP',
  'korea south': 'KR',
  'korea democratic peoples republic of': 'KP',
  'korea republic of': 'KR',
  laos: 'LA',
  'libyan arab jamahiriya': 'LY',
  macau: 'MO',
  macedonia: 'MK',
  'macedonia the former yugoslav republic of': 'MK',
  'man isle of': 'IM',
  'micronesia federated states of': 'FM',
  moldova: 'MD',
  'moldova republic of': 'MD',
  'north korea': 'KP',
  'north macedonia the republic of': 'MK',
  'occupied palestinian territories': 'PS',
  palestine: 'PS',
  palestinian: 'PS',
  'palestinian territories': 'PS',
  'palestinian territory occupied': 'PS',
  prc: 'CN',
  'peoples republic of china': 'CN',
  'region crimea': 'UA',
  'region gaza': 'PS',
  'region northern mali': 'ML',
  'republic of ireland': 'IE',
  'republic of palau': 'PW',
  reunion: 'RE',
  russia: 'RU',
  'saint kitts and nevis': 'KN',
  scotland: 'GB',
  'south korea': 'KR',
  'sint maarten': 'SX',
  'st kitts and nevis': 'KN',
  'st kitts nevis': 'KN',
  'st vincent and the grenadines': 'VC',
  swaziland: 'SZ',
  syria: 'SY',
  taiwan: 'TW',
  'taiwan province of china': 'TW',
  tanzania: 'TZ',
  'tanzania united republic of': 'TZ',
  'the gambia': 'GM',
  'the netherlands': 'NL',
  'the occupied palestinian territories': 'PS',
  'trinidad tobago': 'TT',
  turkey: 'TR',
  turkiye: 'TR',
  uae: 'AE',
  uk: 'GB',
  'united kingdom of great britain and northern ireland': 'GB',
  usa: 'US',
  'vatican city': 'VA',
  venezuela: 'VE',
  'venezuela bolivarian republic of': 'VE',
  'viet nam': 'VN',
  vietnam: 'VN',
  'virgin islands british': 'VG',
  'virgin islands us': 'VI',
  wales: 'GB',
  'west bank': 'PS',
  gaza: 'PS',
};

/** The texts that publishers print for an unknown country. */
const UNKNOWN = new Set(['', '00', 'unknown', 'undetermined', 'not known', 'none', 'none identified']);

let ready = false;
function names(): typeof countries {
  if (!ready) {
    countries.registerLocale(createRequire(import.meta.url)('i18n-iso-countries/langs/en.json'));
    ready = true;
  }
  return countries;
}

let codes: ReadonlyMap<string, string> | undefined;

/** Returns the codes of the English names, official ones and aliases, in lower case. `getAlpha2Code` of the package compares a name with all of them. */
function codesByName(): ReadonlyMap<string, string> {
  if (codes === undefined) {
    const found = new Map<string, string>();
    for (const [code, aliases] of Object.entries(names().getNames('en', { select: 'all' })))
      for (const name of aliases) if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), code);
    codes = found;
  }
  return codes;
}

const foldCountry = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[’'`.]/g, '')
    .replace(/[^a-z0-9]+/g, ' ')
    .replace(/^possibly /, '')
    .trim();

/**
 * Returns the ISO code of a country's name or code; the trimmed text
 * itself if it is not a known country; null if it means "unknown".
 */
export function readCountry(text: string): string | null {
  const printed = text.trim().replace(/^\(\d+\)\s*/, '');
  if (UNKNOWN.has(printed.toLowerCase())) return null;
  if (/^[A-Z]{2}$/.test(printed) && names().isValid(printed)) return printed;
  return PUBLISHERS_SPELLINGS[foldCountry(printed)] ?? codesByName().get(printed.toLowerCase()) ?? printed;
}

/**
 * Returns the ISO code of a code of two letters, in any case. `UK`, which people write and ISO 3166-1 does not have, is `GB`.
 *
 * @returns null if no country has the code
 */
export function readCountryCode(text: string): string | null {
  const code = readCountry(text.toUpperCase());
  return code !== null && /^[A-Z]{2}$/.test(code) && names().isValid(code) ? code : null;
}

/** Returns the ISO code of two letters of a code of three letters (ISO 3166-1 alpha-3); any other text is returned as it is. */
export const fromThreeLetters = (text: string): string =>
  /^[A-Z]{3}$/.test(text) ? (names().alpha3ToAlpha2(text) ?? text) : text;

/** Returns the distinct countries of several texts, in order. */
export function readCountries(texts: Iterable<string | undefined>): string[] {
  const found = new Set<string>();
  for (const text of texts) {
    const country = text === undefined ? null : readCountry(text);
    if (country !== null) found.add(country);
  }
  return [...found];
}

let words: ReadonlySet<string> | undefined;

/** Returns the English names of countries that are one word, in lower case. */
export function countryWords(): ReadonlySet<string> {
  words ??= new Set(
    Object.values(names().getNames('en', { select: 'official' }))
      .map((name) => name.toLowerCase())
      .filter((name) => /^[a-z]{4,}$/.test(name)),
  );
  return words;
}
