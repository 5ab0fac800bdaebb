/** `POST /namescreen/bulk`, and the matches that an account has cleared. The pool does the matching. */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { ClearedMatch } from '../../names/cleared.ts';
import type { NameQuery } from '../../names/name.ts';
import { type NamesAnswer, requireName } from '../../names/screen-names.ts';
import { type Call, callerOf } from '../pipeline/call.ts';
import { jsonBytes } from '../pipeline/json-body.ts';
import { decodeParameter, queryValue, wholeNumber } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

type Deps = Pick<HttpDeps, 'useCases'>;

const accountOf = (call: Call): string => callerOf(call).accountId;

/**
 * Validates a name query and copies its known fields.
 *
 * @throws INVALID_REQUEST with the field
 */
function queryOf(said: NameQuery, field: string): NameQuery {
  requireName(said.name, `${field}name`);
  const { name, birthDate, countries, schema } = said;
  return {
    name,
    ...(birthDate === undefined ? {} : { birthDate: requireDate(birthDate, `${field}birthDate`) }),
    ...(countries === undefined ? {} : { countries: countries.map((country) => country.toUpperCase()) }),
    ...(schema === undefined ? {} : { schema }),
  };
}

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

interface NamesBodyValue {
  readonly names: readonly NameQuery[];
}

/** An invalid name rejects the request before any credits are reserved, so nothing is charged. */
function requireNames(body: unknown): readonly NameQuery[] {
  return (body as NamesBodyValue).names.map((one, at) => queryOf(one, `names[${at}].`));
}

/** Handles `POST /namescreen/bulk`. */
export function namesWork({ useCases }: Deps): Work {
  return {
    kind: 'task',
    bare: true,
    cost: (body) => requireNames(body).length,
    answer: (call, body) => {
      const account = accountOf(call);
      const cleared = useCases.names.cleared();
      return useCases.names.screen(
        requireNames(body).map((query) => ({
          ...query,
          cleared: cleared.of(account, query.name).map(entityOf),
        })),
      );
    },
  };
}

const entityOf = ({ list, entityId, entityVersion }: ClearedMatch) => ({ list, entityId, entityVersion });

/** The response calls a list `source`. */
const shown = ({ id, name, list, entityId, entityName, entityVersion, note, clearedAt }: ClearedMatch) => ({
  id,
  name,
  source: list,
  entityId,
  entityName,
  entityVersion,
  note,
  clearedAt,
});

interface ClearBodyValue extends NameQuery {
  readonly source: string;
  readonly entityId: string;
  readonly note?: string;
}

/** Handles `POST /namescreen/cleared`. */
export function clearWork({ useCases }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { source, entityId, note = null } = body as ClearBodyValue;
      const account = accountOf(call);
      const query = queryOf(body as ClearBodyValue, '');
      // Only a current match of the name can be cleared, with its current version.
      const answer = JSON.parse(Buffer.from(await useCases.names.screen([query])).toString()) as NamesAnswer;
      const match = answer.results[0]?.topMatches.find(
        (one) => one.source === source && one.entityId === entityId,
      );
      if (match === undefined) {
        throw new AssayError(
          'NOT_FOUND',
          `entityId: '${entityId.slice(0, 64)}' of '${source.slice(0, 64)}' is not among the matches of this name.`,
          { field: 'entityId' },
        );
      }
      const cleared = await useCases.names.cleared().clear(account, {
        name: query.name,
        list: source,
        entityId,
        entityName: match.name,
        entityVersion: match.entityVersion,
        note,
      });
      return jsonBytes({ cleared: shown(cleared) });
    },
  };
}

/** Handles `GET /namescreen/cleared`. */
export function clearedListWork({ useCases }: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const account = accountOf(call);
      const name = queryValue(query, 'name');
      const cursor = queryValue(query, 'cursor');
      const limit = wholeNumber(query, 'limit', LIMITS.clearedPageDefault, 1, LIMITS.clearedPageMax);
      const store = useCases.names.cleared();
      const page = store.list(account, {
        limit,
        ...(cursor === undefined ? {} : { cursor }),
        ...(name === undefined ? {} : { name }),
      });
      return jsonBytes({ cleared: page.cleared.map(shown), nextCursor: page.nextCursor });
    },
  };
}

/** Handles `DELETE /namescreen/cleared/{id}`. */
export function unclearWork({ useCases }: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const id = decodeParameter(call.exchange.params[0] ?? '', 'id');
      return jsonBytes({ cleared: shown(await useCases.names.cleared().remove(accountOf(call), id)) });
    },
  };
}
