/** The countries of a `jurisdiction` filter. */
import countries from 'i18n-iso-countries/index.js';
import { AssayError } from '../base/errors.ts';

const EU = 'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' ');
/** MiCA also applies in the EEA. */
const EEA = [...EU, 'IS', 'LI', 'NO'];

const REGIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['EU', EU],
  ['EEA', EEA],
]);

/** Common codes that differ from the ISO code. */
const SPELLINGS: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' };

export interface Scope {
  /** The ISO code in upper case. */
  readonly code: string;
  readonly countries: ReadonlySet<string>;
  readonly region: boolean;
}

/**
 * Parses a country code (ISO 3166-1 alpha-2, any letter case), `EU` or `EEA`.
 *
 * @throws INVALID_REQUEST naming `jurisdiction`
 */
export function parseScope(text: string): Scope {
  const upper = text.trim().toUpperCase();
  const code = SPELLINGS[upper] ?? upper;
  const region = REGIONS.get(code);
  if (region !== undefined) return { code, countries: new Set(region), region: true };
  if (/^[A-Z]{2}$/.test(code) && countries.isValid(code)) {
    return { code, countries: new Set([code]), region: false };
  }
  throw new AssayError(
    'INVALID_REQUEST',
    `jurisdiction: must be a country code (ISO 3166-1 alpha-2), EU or EEA (got '${text.slice(0, 32)}').`,
    { field: 'jurisdiction' },
  );
}

/** Returns true if a register of a jurisdiction (a country or EU) covers a country of the scope. */
export function registerCovers(jurisdiction: string, scope: Scope): boolean {
  const own = REGIONS.get(jurisdiction === 'EU' ? 'EEA' : jurisdiction) ?? [jurisdiction];
  return own.some((country) => scope.countries.has(country));
}
