/** Query parameters and percent-encoded path segments, decoded and bounded. */
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';

/** Decodes one path segment or query value. Throws INVALID_REQUEST naming `field`. */
export function decodeParameter(text: string, field: string): string {
  let value = text;
  if (text.includes('%')) {
    try {
      value = decodeURIComponent(text);
    } catch {
      throw new AssayError('INVALID_REQUEST', `${field}: its percent-encoding is broken.`, { field });
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

/** The value of a query parameter; undefined where it is absent. Throws INVALID_REQUEST where it is given twice. */
export function queryValue(query: string, name: string): string | undefined {
  if (query === '') return undefined;
  let found: string | undefined;
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    if ((equals < 0 ? pair : pair.slice(0, equals)) !== name) continue;
    if (found !== undefined)
      throw new AssayError('INVALID_REQUEST', `${name}: is given more than once.`, { field: name });
    found = equals < 0 ? '' : decodeParameter(pair.slice(equals + 1).replaceAll('+', ' '), name);
  }
  return found;
}

/** The same, required and not empty. */
export function requiredQueryValue(query: string, name: string): string {
  const value = queryValue(query, name);
  if (value === undefined || value === '')
    throw new AssayError('INVALID_REQUEST', `${name} is required.`, { field: name });
  return value;
}
