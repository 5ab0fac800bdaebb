/**
 * One endpoint as one value. `operation({…})` takes its facts, its schemas and its work; routing, validation, permissions, limits,
 * OpenAPI, /docs, the reference and the metrics are derived from the list in operations/index.ts. Files of operations
 * import the parts of the front end that they need from here.
 */
import { type Static, type TNull, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { IdempotentAnswer } from '../accounts/idempotency.ts';
import type { KeyRecord } from '../accounts/keys.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { PooledJson } from '../base/buffer-pool.ts';
import { AssayError } from '../base/errors.ts';
import type { Viewer } from './docs-api.ts';
import type { Guide } from './guide.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import { headerReader, isRequired, pathReader, queryReader, shapeOf } from './parameters.ts';
import type { Call } from './pipeline/call.ts';
import { type BodyOutline, compileBody, jsonBytes } from './pipeline/json-body.ts';
import type { HttpMetrics } from './pipeline/metrics.ts';
import type { Principal } from './pipeline/principal.ts';
import type { AsyncData, LargeResponse, Page, Purchase, Work } from './pipeline/work.ts';
import type { HttpDeps } from './ports.ts';
import {
  type OperationExample,
  type Parameter,
  type Route,
  type StatusRow,
  standardRetry,
  standardRole,
} from './routes.ts';
import { bodyEnvelope, chargedEnvelope, envelope } from './schemas/envelopes.ts';
import type { EventStream } from './server/port.ts';
import type { Upload } from './server/uploads.ts';

export { type Caller, callerOf } from './pipeline/call.ts';
export { REPLAYED } from './pipeline/charging.ts';
export { errorBody, errorCodeLine } from './pipeline/errors.ts';
export { jsonBytes } from './pipeline/json-body.ts';
export { codingFor } from './pipeline/negotiation.ts';
export { sessionCookie } from './pipeline/principal.ts';
export { partsSource } from './server/bytes-source.ts';
export { EMPTY, openFileParts } from './server/file-parts.ts';
export { mayAnswerRange, namesTag, rangeOf } from './server/ranges.ts';
export type { Call, Page, Purchase };

/** The services that operations use. */
export interface Services extends HttpDeps {
  /** The files of the built guide. */
  readonly guide: Guide;
  readonly metrics: Pick<HttpMetrics, 'contentType' | 'scrape'>;
  /** Documents that do not change during the life of the process. */
  readonly documents: {
    readonly openApi: () => Page;
    readonly docs: () => Page;
    /** The page of /docs/api, and its files by their names. */
    readonly viewer: Viewer;
  };
  readonly mcp: McpEndpoint;
}

/** A validated request. */
export interface Input<Body, Path, Query, Header> {
  readonly services: Services;
  /** Headers of the response, the client, and the charge of the request. */
  readonly call: Call;
  /** Fields that the schema does not have are removed. Null if the operation has no body. */
  readonly body: Body;
  readonly path: Path;
  readonly query: Query;
  readonly header: Header;
}

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

/** The work of an operation. Exactly one of these fields is given. */
interface Behaviour<Body, In> {
  /** Returns `data`: a value, or its JSON text as bytes or as a `PooledJson`. Only this kind of work can cost credits. */
  readonly run?: (input: In) => Awaitable<object>;
  /**
   * Beside `run`: stores its result and books the charge, if the body asks for that, and returns the whole response; else returns null.
   *
   * @param result - JSON text of `data`
   */
  readonly store?: (input: In, result: PooledJson, charge: Purchase) => Promise<IdempotentAnswer> | null;
  /** Does the work, books its charge and returns the whole response: for work that stores something that must exist exactly if it is charged. */
  readonly purchase?: (input: In, charge: Purchase) => Promise<IdempotentAnswer>;
  /**
   * Writes the JSON text of `data` into `out`, synchronously: for hot operations.
   *
   * @returns the offset after the written text, or -1 if it does not fit
   */
  readonly write?: (input: In, out: Buffer, offset: number) => number;
  /** Beside `write`: work for requests that need something which takes longer, such as a receipt. */
  readonly later?: {
    /** Called for every request of a hot operation, before its parameters are read. */
    readonly isAsked: (call: Call) => boolean;
    /** Returns the JSON text of `data`. */
    readonly answer: (input: In) => Promise<AsyncData>;
  };
  /**
   * Whether the client's cached copy is still valid, by its If-None-Match header. With `write` only; the response is then 304 and
   * costs no quota.
   */
  readonly isCurrent?: (services: Services, ifNoneMatch: string) => boolean;
  /** Returns a whole response without an envelope. */
  readonly page?: (input: In) => Awaitable<Page>;
  /** Takes the bytes of a JSON body, and returns a whole response without an envelope, also for a body that is not valid. */
  readonly message?: (input: Omit<In, 'body'>, body: Uint8Array) => Promise<Page>;
  /** Responds for as long as the client stays connected. `open` starts the stream. */
  readonly follow?: (input: In, open: () => EventStream) => void;
  /** Receives a body of any size while it arrives. */
  readonly upload?: {
    readonly types: readonly string[];
    readonly bytesMax: number;
    readonly open: (input: In) => Promise<Upload>;
  };
  /** Returns bytes that are read at the pace of the client. */
  readonly file?: (input: In) => Promise<LargeResponse>;
  /** Takes the bytes of a body that is parsed elsewhere, and returns the bytes of `data`. */
  readonly bytes?: {
    /**
     * Returns the quota units of a body in its most usual form, of which one pass proves that it is valid JSON in ASCII with known fields
     * only; null of any other body, which is then outlined and checked for unknown fields.
     */
    readonly usualUnits?: (body: Uint8Array) => number | null;
    /** Returns the quota units of the body. Throws if the body asks for too many. */
    readonly units: (outline: BodyOutline, body: Uint8Array) => number;
    readonly run: (input: Omit<In, 'body'>, body: Uint8Array) => Promise<AsyncData>;
  };
  /** Credits of this body, reserved before the work begins. Default: `credits`. */
  readonly cost?: (body: Body) => number;
  /** Parts of the ledger reference after the operation: the addresses and the chain. */
  readonly subjects?: (body: Body) => readonly string[];
}

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

/** Returns true for JSON text: no value of an operation has a member with bytes, which JSON does not know. */
const isJsonText = (value: object): value is PooledJson =>
  (value as Partial<PooledJson>).json instanceof Uint8Array;

function jsonOf(value: object): PooledJson {
  if (isJsonText(value)) return value;
  return { json: value instanceof Uint8Array ? value : jsonBytes(value) };
}

/** Returns the schema of a whole response with its envelope. A media type has none. */
function wrapped(response: TSchema | string, credits: number, hasBody: boolean): TSchema | string {
  if (typeof response === 'string') return response;
  if (credits > 0) return chargedEnvelope(response);
  return hasBody ? bodyEnvelope(response) : envelope(response);
}

/** Returns the one kind of work that an operation declares. */
function onlyKind<Kind extends string>(place: string, kinds: Readonly<Record<Kind, unknown>>): Kind {
  const [kind, another] = (Object.keys(kinds) as Kind[]).filter((name) => kinds[name] !== undefined);
  if (kind === undefined || another !== undefined)
    throw new Error(`${place} needs exactly one kind of work.`);
  return kind;
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
  const {
    run,
    store,
    purchase,
    write,
    later,
    isCurrent,
    page,
    message,
    follow,
    upload,
    file,
    bytes,
    cost,
    subjects,
    bare,
    ...facts
  } = spec;
  const {
    body = null,
    pathParameters,
    query,
    header,
    response,
    otherTypes,
    statuses,
    examples,
    ...columns
  } = facts;
  type Call0 = Input<Static<Body>, ValueOf<Path>, ValueOf<Query>, ValueOf<Header>>;
  const declared = {
    ...DEFAULTS,
    ...columns,
    parameters: [
      ...parametersIn('path', pathParameters ?? {}),
      ...parametersIn('query', query ?? {}),
      ...parametersIn('header', header ?? {}),
    ],
  };
  const row = {
    ...declared,
    role: columns.role ?? standardRole(declared),
    retry: columns.retry ?? standardRetry(declared),
  };
  const place = `${row.method} ${row.path}`;
  const kinds = { run, purchase, write, page, message, follow, upload, file, bytes };
  const isWhole = bare || page !== undefined || message !== undefined;
  const kind = onlyKind(place, kinds);
  if (row.credits > 0 && ((run ?? purchase) === undefined || body === null))
    throw new Error(`${place} costs credits, so it needs a body and \`run\` or \`purchase\`.`);
  if (store !== undefined && (run === undefined || row.credits === 0))
    throw new Error(`${place} stores the result of \`run\` with its charge, so it needs both.`);

  // The type parameters have these defaults if the specification leaves the schemas out.
  const bodySchema = (body ?? Type.Null()) as Body;
  const readPath = pathReader(row.path, (pathParameters ?? {}) as Path);
  const readQuery = queryReader((query ?? {}) as Query);
  const readHeader = headerReader((header ?? {}) as Header);

  function workOver(services: Services): Work<Static<Body>> {
    const read = compileBody(bodySchema);
    const headOf = (call: Call): Omit<Call0, 'body'> => ({
      services,
      call,
      path: readPath(call.exchange),
      query: readQuery(call.exchange),
      header: readHeader(call.exchange),
    });
    // Written out, because every request of a hot operation makes one.
    const inputOf = (call: Call, value: Static<Body>): Call0 => ({
      services,
      call,
      body: value,
      path: readPath(call.exchange),
      query: readQuery(call.exchange),
      header: readHeader(call.exchange),
    });
    if (bytes !== undefined) {
      const { units, usualUnits } = bytes;
      return {
        kind: 'bytes',
        units,
        ...(usualUnits === undefined ? {} : { usualUnits }),
        answer: async (call, raw) => bytes.run(headOf(call), raw),
      };
    }
    if (body !== null) {
      if (write !== undefined)
        return {
          kind: 'body',
          read,
          write: (call, out, offset, value) => write(inputOf(call, value), out, offset),
        };
      if (run !== undefined)
        return {
          kind: 'task',
          read,
          ...(cost === undefined ? {} : { cost }),
          ...(subjects === undefined ? {} : { subjects }),
          ...(bare ? { bare } : {}),
          ...(store === undefined
            ? {}
            : { store: (call, value, result, charge) => store(inputOf(call, value), result, charge) }),
          answer: async (call, value) => jsonOf(await run(inputOf(call, value))),
        };
      if (purchase !== undefined)
        return {
          kind: 'purchase',
          read,
          ...(subjects === undefined ? {} : { subjects }),
          purchase: (call, value, charge) => purchase(inputOf(call, value), charge),
        };
      throw new Error(`${place} has a body, so its work must be \`run\`, \`write\` or \`bytes\`.`);
    }
    if (message !== undefined)
      return {
        kind: 'message',
        answer: async (call, raw) => message(headOf(call), raw),
      };
    // Without a schema, the type of the body is that of null.
    const none = null as Static<Body>;
    if (write !== undefined)
      return {
        kind: 'lookup',
        write: (call, out, offset) => write(inputOf(call, none), out, offset),
        ...(isCurrent === undefined ? {} : { isCurrent: (tags) => isCurrent(services, tags) }),
        ...(later === undefined
          ? {}
          : {
              later: {
                isAsked: later.isAsked,
                answer: async (call: Call) => later.answer(inputOf(call, none)),
              },
            }),
      };
    if (run !== undefined)
      return { kind: 'query', answer: async (call) => jsonOf(await run(inputOf(call, none))) };
    if (page !== undefined) return { kind: 'page', answer: (call) => page(inputOf(call, none)) };
    if (follow !== undefined)
      return { kind: 'stream', follow: (call, open) => follow(inputOf(call, none), open) };
    if (file !== undefined) return { kind: 'file', open: async (call) => file(inputOf(call, none)) };
    if (upload !== undefined) {
      const { bytesMax, open } = upload;
      return { kind: 'upload', bytesMax, open: async (call) => open(inputOf(call, none)) };
    }
    throw new Error(`${place} has no work.`);
  }

  const KINDS = {
    run: body === null ? 'query' : 'task',
    purchase: 'purchase',
    write: body === null ? 'lookup' : 'body',
    page: 'page',
    message: 'message',
    follow: 'stream',
    upload: 'upload',
    file: 'file',
    bytes: 'bytes',
  } as const;
  return {
    ...row,
    kind: KINDS[kind],
    body,
    upload: upload?.types ?? null,
    response: isWhole ? response : wrapped(response, row.credits, body !== null),
    otherTypes: otherTypes ?? [],
    statuses: statuses ?? {},
    examples: examples ?? [],
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
