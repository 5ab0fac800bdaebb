/**
 * One endpoint as one value. `operation({…})` takes its facts, its schemas and its work; routing, validation, permissions, limits,
 * OpenAPI, /docs, the reference and the metrics are derived from the list in operations/index.ts. Files of operations
 * import the parts of the front end that they need from here.
 */
import { type Static, type TNull, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { KeyRecord } from '../accounts/keys.ts';
import { AssayError } from '../base/errors.ts';
import {
  type Behaviour,
  bodylessWork,
  bodyWork,
  bytesWork,
  type Input,
  kindOf,
  type Services,
} from './operation-work.ts';
import { headerReader, isRequired, pathReader, queryReader, shapeOf } from './parameters.ts';
import type { Call } from './pipeline/call.ts';
import { compileBody } from './pipeline/json-body.ts';
import type { Principal } from './pipeline/principal.ts';
import type { Page, Purchase, Work } from './pipeline/work.ts';
import {
  type OperationExample,
  type Parameter,
  type Route,
  type StatusRow,
  standardRetry,
  standardRole,
} from './routes.ts';
import { bodyEnvelope, chargedEnvelope, envelope } from './schemas/envelopes.ts';

export { type Caller, callerOf } from './pipeline/call.ts';
export { REPLAYED } from './pipeline/charging.ts';
export { errorBody, errorCodeLine } from './pipeline/errors.ts';
export { jsonBytes } from './pipeline/json-body.ts';
export { codingFor } from './pipeline/negotiation.ts';
export { sessionCookie } from './pipeline/principal.ts';
export { partsSource } from './server/bytes-source.ts';
export { EMPTY, openFileParts } from './server/file-parts.ts';
export { mayAnswerRange, namesTag, rangeOf } from './server/ranges.ts';
export type { Call, Input, Page, Purchase, Services };

type ValueOf<Properties extends TProperties> = Static<TObject<Properties>>;

type RouteColumns = Pick<Route, 'id' | 'sdk' | 'tag' | 'method' | 'path' | 'summary' | 'description'> &
  Partial<
    Pick<
      Route,
      | 'retry'
      | 'mount'
      | 'nodes'
      | 'permission'
      | 'principal'
      | 'role'
      | 'rateClass'
      | 'quota'
      | 'credits'
      | 'chargeType'
      | 'charges'
      | 'responseHeaders'
      | 'isListed'
      | 'takesApiKeyHeader'
    >
  >;

export interface OperationSpec<
  Body extends TSchema,
  Path extends TProperties,
  Query extends TProperties,
  Header extends TProperties,
> extends RouteColumns,
    Behaviour<Static<Body>, Input<Static<Body>, ValueOf<Path>, ValueOf<Query>, ValueOf<Header>>> {
  readonly body?: Body;
  /** Schemas of the `{name}` segments of the path. */
  readonly pathParameters?: Path;
  /** Schemas of the query parameters. One that is neither optional nor has a default is required. */
  readonly query?: Query;
  /** Schemas of the request headers, by their names. */
  readonly header?: Header;
  /** Schema of `data`, or the media type of a response that is not JSON. */
  readonly response: TSchema | string;
  /** Further media types of a response that is not JSON, between which a parameter chooses. */
  readonly otherTypes?: readonly string[];
  /** `data` is the whole response. Default: it is in the envelope. A page never has an envelope. */
  readonly bare?: true;
  readonly statuses?: Readonly<Record<number, StatusRow>>;
  readonly examples?: readonly OperationExample[];
}

export interface Operation extends Route {
  readonly kind: Work<never>['kind'];
  /** Passes the work over the services to `use`, which is generic because every body has its own type. */
  bind<Result>(services: Services, use: <Body>(work: Work<Body>) => Result): Result;
}

/** Columns that most operations leave out: no key, no limit, no charge. */
const DEFAULTS = {
  mount: 'api',
  nodes: 'api',
  permission: null,
  principal: null,
  rateClass: null,
  quota: null,
  credits: 0,
  chargeType: 'DEDUCTION',
  charges: null,
  responseHeaders: [],
  isListed: true,
  takesApiKeyHeader: false,
} as const satisfies Partial<Route>;

const parametersIn = (place: Parameter['in'], properties: TProperties): readonly Parameter[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: isRequired(schema),
    schema,
    description: shapeOf(schema).description ?? '',
  }));

/** Returns the schema of a whole response with its envelope. A media type has none. */
function wrapped(response: TSchema | string, credits: number, hasBody: boolean): TSchema | string {
  if (typeof response === 'string') return response;
  if (credits > 0) return chargedEnvelope(response);
  return hasBody ? bodyEnvelope(response) : envelope(response);
}

/** Returns the columns of a specification: all but its schemas, its texts of responses and its work. */
function columnsOf<
  Body extends TSchema,
  Path extends TProperties,
  Query extends TProperties,
  Header extends TProperties,
>(spec: OperationSpec<Body, Path, Query, Header>): RouteColumns {
  const { body, pathParameters, query, header, response, otherTypes, bare, statuses, examples, ...facts } =
    spec;
  const { run, store, purchase, write, later, isCurrent, page, message, ...others } = facts;
  const { follow, upload, file, bytes, cost, subjects, ...columns } = others;
  return columns;
}

/** Completes the columns by their defaults. */
function rowOf(columns: RouteColumns, parameters: readonly Parameter[]) {
  const declared = { ...DEFAULTS, ...columns, parameters };
  return {
    ...declared,
    role: columns.role ?? standardRole(declared),
    retry: columns.retry ?? standardRetry(declared),
  };
}

/** Throws if the work cannot be charged as the columns say. */
function checkCharge(
  place: string,
  { credits }: Pick<Route, 'credits'>,
  { run, purchase, store }: Behaviour<never, never>,
  hasBody: boolean,
): void {
  if (credits > 0 && ((run ?? purchase) === undefined || !hasBody))
    throw new Error(`${place} costs credits, so it needs a body and \`run\` or \`purchase\`.`);
  if (store !== undefined && (run === undefined || credits === 0))
    throw new Error(`${place} stores the result of \`run\` with its charge, so it needs both.`);
}

type NoParameters = Record<never, never>;

/**
 * Declares an operation.
 *
 * @throws if the facts contradict each other
 */
export function operation<
  Body extends TSchema = TNull,
  Path extends TProperties = NoParameters,
  Query extends TProperties = NoParameters,
  Header extends TProperties = NoParameters,
>(spec: OperationSpec<Body, Path, Query, Header>): Operation {
  type Given = Input<Static<Body>, ValueOf<Path>, ValueOf<Query>, ValueOf<Header>>;
  const { body = null, pathParameters, query, header, response, bare } = spec;
  const hasBody = body !== null;
  const row = rowOf(columnsOf(spec), [
    ...parametersIn('path', pathParameters ?? {}),
    ...parametersIn('query', query ?? {}),
    ...parametersIn('header', header ?? {}),
  ]);
  const place = `${row.method} ${row.path}`;
  const kind = kindOf(place, spec, hasBody);
  checkCharge(place, row, spec, hasBody);
  const isWhole = bare || kind === 'page' || kind === 'message';
  // The type parameters have these defaults if the specification leaves the schemas out.
  const bodySchema = (body ?? Type.Null()) as Body;
  const readPath = pathReader(row.path, (pathParameters ?? {}) as Path);
  const readQuery = queryReader((query ?? {}) as Query);
  const readHeader = headerReader((header ?? {}) as Header);

  function workOver(services: Services): Work<Static<Body>> {
    const read = compileBody(bodySchema);
    // Written out, because every request of a hot operation makes one.
    const inputOf = (call: Call, value: Static<Body>): Given => ({
      services,
      call,
      body: value,
      path: readPath(call.exchange),
      query: readQuery(call.exchange),
      header: readHeader(call.exchange),
    });
    const headOf = (call: Call): Omit<Given, 'body'> => ({
      services,
      call,
      path: readPath(call.exchange),
      query: readQuery(call.exchange),
      header: readHeader(call.exchange),
    });
    if (spec.bytes !== undefined) return bytesWork(spec.bytes, headOf);
    if (hasBody) return bodyWork(place, spec, { read, inputOf, bare });
    return bodylessWork(place, spec, { services, headOf, inputOf });
  }

  return {
    ...row,
    kind,
    body,
    upload: spec.upload?.types ?? null,
    response: isWhole ? response : wrapped(response, row.credits, hasBody),
    otherTypes: spec.otherTypes ?? [],
    statuses: spec.statuses ?? {},
    examples: spec.examples ?? [],
    bind: (services, use) => use(workOver(services)),
  };
}

/**
 * Returns the authenticated client of an account operation.
 *
 * @throws INTERNAL if the call has none
 */
export function principalOf(call: Call): Principal {
  if (call.principal === null)
    throw new AssayError('INTERNAL', 'An operation of people was reached without a principal.');
  return call.principal;
}

/**
 * Returns the account of an authenticated client.
 *
 * @throws INTERNAL if it has none
 */
export function accountOf({ accountId }: Principal): string {
  if (accountId === null)
    throw new AssayError('INTERNAL', 'An operation of an account was reached without one.');
  return accountId;
}

/**
 * Returns the id of the person of a session.
 *
 * @throws INTERNAL if the client has no session
 */
export function personOf({ session }: Principal): string {
  if (session === null) throw new AssayError('INTERNAL', 'An operation of a person was reached without one.');
  return session.person.id;
}

/** Header line of responses that no cache may store. */
export const NO_STORE = '\r\nCache-Control: no-store';

/**
 * Copies bytes that were made elsewhere into the output of `write`.
 *
 * @returns the offset after them, or -1 if they do not fit
 */
export function copyInto(out: Buffer, offset: number, data: Uint8Array): number {
  if (offset + data.length > out.length) return -1;
  out.set(data, offset);
  return offset + data.length;
}

export type { KeyRecord, Principal };
