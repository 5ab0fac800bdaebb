/**
 * The work of an operation as its file declares it (`Behaviour`), and the work of the pipeline that follows from it. `operation.ts` adds
 * the facts and the schemas.
 */
import type { IdempotentAnswer } from '../accounts/idempotency.ts';
import type { Awaitable } from '../base/awaitable.ts';
import type { PooledJson } from '../base/buffer-pool.ts';
import type { Viewer } from './docs-api.ts';
import type { Guide } from './guide.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import type { Call } from './pipeline/call.ts';
import { type BodyOutline, jsonBytes, type ReadBody } from './pipeline/json-body.ts';
import type { HttpMetrics } from './pipeline/metrics.ts';
import type { AsyncData, LargeResponse, Page, Purchase, Work } from './pipeline/work.ts';
import type { HttpDeps } from './ports.ts';
import type { EventStream } from './server/port.ts';
import type { Upload } from './server/uploads.ts';

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

/** The work of an operation. Exactly one of these fields is given. */
export interface Behaviour<Body, In> {
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

/** The names of the work in a declaration; each operation has one of them. */
type WorkName = 'run' | 'purchase' | 'write' | 'page' | 'message' | 'follow' | 'upload' | 'file' | 'bytes';

/** The kind of work in the pipeline by its name in the declaration, without and with a body. */
const KINDS = {
  run: ['query', 'task'],
  purchase: ['purchase', 'purchase'],
  write: ['lookup', 'body'],
  page: ['page', 'page'],
  message: ['message', 'message'],
  follow: ['stream', 'stream'],
  upload: ['upload', 'upload'],
  file: ['file', 'file'],
  bytes: ['bytes', 'bytes'],
} as const satisfies Readonly<Record<WorkName, readonly [Work['kind'], Work['kind']]>>;

/**
 * Returns the kind of the one work that an operation declares.
 *
 * @throws if it declares none, or several
 */
export function kindOf(
  place: string,
  declared: Readonly<Partial<Record<WorkName, unknown>>>,
  hasBody: boolean,
): Work['kind'] {
  const [name, another] = (Object.keys(KINDS) as WorkName[]).filter((one) => declared[one] !== undefined);
  if (name === undefined || another !== undefined)
    throw new Error(`${place} needs exactly one kind of work.`);
  return KINDS[name][hasBody ? 1 : 0];
}

/** Returns true for JSON text: no value of an operation has a member with bytes, which JSON does not know. */
const isJsonText = (value: object): value is PooledJson =>
  (value as Partial<PooledJson>).json instanceof Uint8Array;

function jsonOf(value: object): PooledJson {
  if (isJsonText(value)) return value;
  return { json: value instanceof Uint8Array ? value : jsonBytes(value) };
}

/** Work over the bytes of a body that it parses itself. */
export const bytesWork = <Body, In>(
  { units, usualUnits, run }: NonNullable<Behaviour<Body, In>['bytes']>,
  headOf: (call: Call) => Omit<In, 'body'>,
): Work<Body> => ({
  kind: 'bytes',
  units,
  ...(usualUnits === undefined ? {} : { usualUnits }),
  answer: async (call, raw) => run(headOf(call), raw),
});

/**
 * Work over a body that matches its schema.
 *
 * @throws if the operation declares work that takes no such body
 */
export function bodyWork<Body, In>(
  place: string,
  { write, run, purchase, store, cost, subjects }: Behaviour<Body, In>,
  {
    read,
    inputOf,
    bare,
  }: {
    readonly read: ReadBody<Body>;
    readonly inputOf: (call: Call, body: Body) => In;
    readonly bare: true | undefined;
  },
): Work<Body> {
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
  throw new Error(`${place} has a body, so its work must be \`run\`, \`purchase\`, \`write\` or \`bytes\`.`);
}

/**
 * Work without a body that the pipeline parses.
 *
 * @throws if the operation declares no such work
 */
export function bodylessWork<Body, In>(
  place: string,
  { write, isCurrent, later, run, page, message, follow, file, upload }: Behaviour<Body, In>,
  {
    services,
    inputOf,
    headOf,
  }: {
    readonly services: Services;
    readonly inputOf: (call: Call, body: Body) => In;
    readonly headOf: (call: Call) => Omit<In, 'body'>;
  },
): Work<Body> {
  // Without a schema, the type of the body is that of null.
  const none = null as Body;
  if (message !== undefined)
    return { kind: 'message', answer: async (call, raw) => message(headOf(call), raw) };
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
