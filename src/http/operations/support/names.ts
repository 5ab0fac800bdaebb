/** Queries of names, and cleared matches as responses show them. */
import { AssayError } from '../../../base/errors.ts';
import type { ClearedMatch } from '../../../names/cleared.ts';
import type { NameQuery } from '../../../names/name.ts';
import { requireName } from '../../../names/screen-names.ts';
import { readCountryCode } from '../../../sources/countries.ts';
import { identifierRule, normaliseIdentifiers } from '../../../sources/identifiers.ts';

/** Checks that a partial date exists: `1972-13` has the form of a date but is not one. */
function requireDate(text: string | null, field: string): string | null {
  const [year, month = '01', day = '01'] = (text ?? '').split('-');
  const at = `${year}-${month}-${day}`;
  const time = Date.parse(`${at}T00:00:00Z`);
  if (!Number.isNaN(time) && new Date(time).toISOString().startsWith(at)) return text;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must be an ISO date, or a part of one such as 1972-05.`,
    { field },
  );
}

/** Checks that a country has the code: any other code would agree with no listed party, and lower the confidence of each. */
function requireCountry(text: string, field: string): string {
  const code = readCountryCode(text);
  if (code !== null) return code;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: '${text}' is not a country code of ISO 3166-1 alpha-2, such as CH.`,
    { field },
  );
}

/**
 * Validates identifiers and returns them in the form in which they are compared. An error never repeats the value: errors are logged,
 * and the number of a passport is personal.
 */
function requireIdentifiers(
  asked: NonNullable<NameQuery['identifiers']>,
  prefix: string,
): NonNullable<NameQuery['identifiers']> {
  return normaliseIdentifiers(asked, (kind) => {
    const field = `${prefix}identifiers.${kind}`;
    return new AssayError('INVALID_REQUEST', `${field}: must be ${identifierRule(kind)}.`, { field });
  });
}

/**
 * Validates a name query and copies its fields.
 *
 * @param prefix - prefix of the fields in errors
 * @throws INVALID_REQUEST with the field
 */
export function nameQuery(query: NameQuery, prefix: string): NameQuery {
  requireName(query.name, `${prefix}name`);
  const { name, birthDate, countries, schema, identifiers } = query;
  return {
    name,
    ...(birthDate === undefined ? {} : { birthDate: requireDate(birthDate, `${prefix}birthDate`) }),
    ...(countries === undefined
      ? {}
      : { countries: countries.map((code, at) => requireCountry(code, `${prefix}countries[${at}]`)) }),
    ...(schema === undefined ? {} : { schema }),
    ...(identifiers === undefined ? {} : { identifiers: requireIdentifiers(identifiers, prefix) }),
  };
}

/** Returns a cleared match as responses show it: the list is called `source`. */
export const clearedView = ({
  id,
  name,
  list,
  entityId,
  entityName,
  entityVersion,
  note,
  clearedAt,
}: ClearedMatch) => ({ id, name, source: list, entityId, entityName, entityVersion, note, clearedAt });
