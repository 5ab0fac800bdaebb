/** Query parameters and percent-encoded path segments, decoded and limited in length. */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';

/** Characters of a value that an error quotes. */
const QUOTED_MAX = 32;

/**
 * Decodes one path segment or query value.
 *
 * @throws INVALID_REQUEST with `field`
 */
export function decodeParameter(text: string, field: string): string {
  let value = text;
  if (text.includes('%')) {
    try {
      value = decodeURIComponent(text);
    } catch {
      throw new AssayError('INVALID_REQUEST', `${field}: the percent-encoding is invalid.`, { field });
    }
  }
  if (value.length > LIMITS.addressTextMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `${field}: must have at most ${LIMITS.addressTextMax} characters.`,
      {
        field,
      },
    );
  }
  return value;
}

/** Returns the names of the parameters of a query. A name with invalid percent-encoding is returned as sent. */
export const queryNames = (query: string): string[] =>
  query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const equals = pair.indexOf('=');
      const name = equals < 0 ? pair : pair.slice(0, equals);
      try {
        return decodeURIComponent(name.replaceAll('+', ' '));
      } catch {
        return name;
      }
    });

/**
 * Returns the value of a query parameter; undefined if it is absent.
 *
 * @throws INVALID_REQUEST if the parameter is given twice
 */
export function queryValue(query: string, name: string): string | undefined {
  if (query === '') return undefined;
  let found: string | undefined;
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    if ((equals < 0 ? pair : pair.slice(0, equals)) !== name) continue;
    if (found !== undefined)
      throw new AssayError('INVALID_REQUEST', `${name}: must be given only once.`, { field: name });
    found = equals < 0 ? '' : decodeParameter(pair.slice(equals + 1).replaceAll('+', ' '), name);
  }
  return found;
}

/**
 * Returns the value of a required query parameter.
 *
 * @throws INVALID_REQUEST if it is absent or empty
 */
export function requiredQueryValue(query: string, name: string): string {
  const value = queryValue(query, name);
  if (value === undefined || value === '')
    throw new AssayError('INVALID_REQUEST', `${name} is required.`, { field: name });
  return value;
}

/**
 * Returns a whole number from the query, or `fallback` if it is absent.
 *
 * @throws INVALID_REQUEST with the bounds
 */
export function wholeNumber(
  query: string,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  const text = queryValue(query, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
  throw new AssayError('INVALID_REQUEST', `${name}: must be a whole number from ${least} to ${most}.`, {
    field: name,
  });
}

/**
 * Returns `text` if it is one of `words`.
 *
 * @throws INVALID_REQUEST with the list of words
 */
export function oneOf<T extends string>(field: string, text: string, words: readonly T[]): T {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must be one of ${words.join(', ')} (got "${text.slice(0, QUOTED_MAX)}").`,
    { field },
  );
}

/** Default number of rows of a page. */
export const PAGE_DEFAULT = 50;

/** Returns the page that the query asks for by `limit` and `offset`. */
export const pageOf = (
  query: string,
  limitMax: number,
): { readonly limit: number; readonly offset: number } => ({
  limit: wholeNumber(query, 'limit', PAGE_DEFAULT, 1, limitMax),
  offset: wholeNumber(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER),
});
