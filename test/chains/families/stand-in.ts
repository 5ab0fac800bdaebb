/** A small HTTP stub of a node or indexer, which answers in its documented format with the data that a test sets. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatAddressKey } from '../../../src/chains/address/parse.ts';
import { type ChainId, chainOf } from '../../../src/chains/registry.ts';

// biome-ignore lint/suspicious/noExplicitAny: data from the wire, read as loosely as a server reads it.
export type Loose = any;

export interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
  /** The body as JSON; null if there was none. */
  readonly body: Loose;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A plain value is answered with the status 200; `status` and `json` override that. */
export type Answer = { readonly status: number; readonly json: unknown };

export interface StandIn {
  readonly url: string;
  readonly requests: Asked[];
  close(): Promise<void>;
}

export const answer = (json: unknown, status = 200): Answer => ({ status, json });
export const notFound = (json: unknown = { error: 'not found' }): Answer => answer(json, 404);

/** Starts the server on a free port. */
export async function startStandIn(handle: (requests: Asked) => Answer): Promise<StandIn> {
  const requests: Asked[] = [];
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('error', () => {});
    incoming.on('end', () => {
      const url = new URL(incoming.url ?? '/', 'http://stand-in');
      const text = Buffer.concat(chunks).toString('utf8');
      const question: Asked = {
        path: url.pathname,
        query: url.searchParams,
        body: text === '' ? null : JSON.parse(text),
        headers: incoming.headers,
      };
      requests.push(question);
      const { status, json } = handle(question);
      const body = JSON.stringify(json, (_, value: unknown) =>
        typeof value === 'bigint' ? value.toString() : value,
      );
      outgoing.writeHead(status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      outgoing.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An error that a JSON-RPC method returns. */
export class RpcFault extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function jsonRpc(
  methods: Readonly<Record<string, (params: never) => unknown>>,
): (requests: Asked) => Answer {
  return ({ body }) => {
    const { id, method, params } = body as { id: number; method: string; params: never };
    try {
      const run = methods[method];
      if (run === undefined) throw new RpcFault(-32601, 'Method not found');
      return answer({ jsonrpc: '2.0', id, result: run(params) });
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      return answer({ jsonrpc: '2.0', id, error: { code: error.code, message: error.message } });
    }
  };
}

export interface MadeBlock<T> {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeS: number;
  readonly items: readonly T[];
}

/** Makes the chain of a stub: blocks with contents, newest last. `hash` makes the hash of a block from its height and branch. */
export function makeChain<T>(options: {
  readonly first: number;
  readonly hash: (height: number, branch: number) => string;
  readonly contents: readonly (readonly T[])[];
  readonly secondsApart?: number;
}) {
  const { first, hash, secondsApart = 5 } = options;
  const blocks: MadeBlock<T>[] = [];
  let branch = 0;
  const add = (items: readonly T[]): void => {
    const height = first + blocks.length;
    blocks.push({
      height,
      hash: hash(height, branch),
      parentHash: blocks.at(-1)?.hash ?? hash(first - 1, 0),
      timeS: 1_760_000_000 + (height - first) * secondsApart,
      items,
    });
  };
  for (const items of options.contents) add(items);
  return {
    blocks,
    head: (): MadeBlock<T> => blocks.at(-1) as MadeBlock<T>,
    at: (height: number): MadeBlock<T> | undefined => blocks.find((block) => block.height === height),
    mine: (): Promise<void> => {
      add([]);
      return Promise.resolve();
    },
    reorg: (depth: number): Promise<void> => {
      branch++;
      blocks.splice(-depth);
      for (let i = 0; i < depth; i++) add([]);
      return Promise.resolve();
    },
    /** All contents, newest first, with their block. */
    newestFirst: (): { readonly block: MadeBlock<T>; readonly item: T }[] =>
      blocks.toReversed().flatMap((block) => block.items.toReversed().map((item) => ({ block, item }))),
  };
}

/** Returns 32 bytes in hex that differ for each text. */
export const hex32 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The kind byte, the length of the payload, and its first bytes if the chain fixes them. */
const ACCOUNT_FORMS: Readonly<
  Partial<Record<ChainId, readonly [kind: number, length: number, ...prefix: number[]]>>
> = {
  SOL: [1, 32],
  TRON: [1, 20],
  XRP: [1, 20],
  XLM: [1, 32],
  ADA: [22, 29, 0x61],
  DOT: [1, 32],
  ATOM: [1, 20],
  ALGO: [1, 32],
  XTZ: [1, 22, 0, 0],
  TON: [1, 33, 0],
  XMR: [1, 64],
};

/** Returns a valid, canonical address of a chain that differs for each number. */
export function accountOf(chain: ChainId, number: number): string {
  const [kind, length, ...prefix] = ACCOUNT_FORMS[chain]!;
  const payload = new Uint8Array(length).fill(number);
  payload.set(prefix);
  return formatAddressKey(Uint8Array.of(chainOf(chain).keyByte, kind, ...payload), chain);
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Returns a base58 text of a given length that begins with `prefix` and differs for each seed: it looks like a hash but is not one. */
export function base58OfPrefix(prefix: string, length: number, seed: string): string {
  const bytes = Buffer.from(hex32(seed) + hex32(`${seed}.`) + hex32(`${seed}..`), 'hex');
  return (prefix + [...bytes].map((byte) => BASE58[byte % 58]).join('')).slice(0, length);
}
