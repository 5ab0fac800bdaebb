/** Query parameters and percent-encoded path segments, decoded and limited in length. */
import { AssayError } from '../../base/errors.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';

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
  if (value.length > CHAIN_LIMITS.addressTextMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `${field}: must have at most ${CHAIN_LIMITS.addressTextMax} characters.`,
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
  let found: string | undefined;
  // By offsets: hot operations ask for several parameters of each request, and a split would allocate for each.
  for (let from = query.indexOf(name); from >= 0; from = query.indexOf(name, from + 1)) {
    const behind = from + name.length;
    if (from > 0 && query[from - 1] !== '&') continue;
    if (behind < query.length && query[behind] !== '=' && query[behind] !== '&') continue;
    if (found !== undefined)
      throw new AssayError('INVALID_REQUEST', `${name}: must be given only once.`, { field: name });
    const next = query.indexOf('&', behind);
    const value = query.slice(behind + 1, next < 0 ? query.length : next);
    found = query[behind] === '=' ? decodeParameter(value.replaceAll('+', ' '), name) : '';
  }
  return found;
}

/**
 * Returns the parts of a query parameter that is a list with commas; undefined if it is absent. Each part, not the whole list, is
 * limited in length.
 *
 * @throws INVALID_REQUEST
 */
export function queryList(query: string, name: string): readonly string[] | undefined {
  const raw = query.split('&').find((pair) => pair.startsWith(`${name}=`));
  if (raw === undefined) return undefined;
  return raw
    .slice(name.length + 1)
    .replaceAll(/%2c/gi, ',')
    .split(',')
    .map((part) => decodeParameter(part, name).trim());
}
