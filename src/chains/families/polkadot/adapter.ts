/**
 * Polkadot over the JSON-RPC of a node (`substrate`: head, blocks with the events that the metadata of their runtime describes, and
 * accounts from storage) and over the API of Subscan (`subscan`: support.subscan.io) for histories, and for blocks with a state that the node
 * has pruned. Since November 2025 balances are on Polkadot Asset Hub. A node of either chain is accepted; a balance from the relay
 * chain has a note that says so.
 */
import { blake2b } from '@noble/hashes/blake2.js';
import { AssayError } from '../../../base/errors.ts';
import { parseAddress } from '../../address/parse.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asDecimalAmount,
  asHexCount,
  asObject,
  asSecondsMs,
  asText,
  asTimeMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcCall, rpcRequest } from '../../endpoints/json-rpc.ts';
import { apiKeyHeader, readWindows, rest, type WindowList } from '../../endpoints/rest.ts';
import type { Transfer } from '../../transfer.ts';
import {
  asAddressOf,
  asPattern,
  type ChainReader,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import { orUnknown } from '../asset-decimals.ts';
import type { Call, OpenAdapter } from '../port.ts';
import { createEventReader, type EventReader, isKnownMetadata } from './metadata.ts';
import { isMoveOrSwap, movesOf, standardAssetOf } from './moves.ts';
import { ScaleReader } from './scale.ts';

const NODE = ['substrate'] as const;
const SUBSCAN = ['subscan'] as const;
/** Block 0 of the relay chain and of Asset Hub. */
const RELAY = '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3';
const ASSET_HUB = '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f';
const DECIMALS = 10;
/** twox128("System") and twox128("Account"): the storage prefix of accounts. */
const ACCOUNTS_PREFIX = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9';
/** twox128("System") and twox128("Events"). */
const EVENTS_KEY = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7';
/** twox128("Assets") and twox128("Metadata"). */
const ASSET_METADATA_PREFIX = '0x682a59d51ab9e48a8c8cc418ff9708d2b5f3822e35ca2f31ce3526eab1363fd2';
/** The Timestamp pallet has this index on both chains; `set` is its first call. */
const TIMESTAMP_PALLET = 3;
const EXTRINSICS_MAX = 10_000;
const PAGE_MAX = 100;
const BLOCK_PAGES_MAX = 50;
const ON_RELAY =
  'Balances of Polkadot are on Asset Hub since November 2025; this is the balance that is left on the relay chain.';
const NO_EVENTS =
  'Transfers are missing: they are events, and the node has no state of this block, or its metadata has an unknown format.';
const SWAPS = 'Swaps in pools are missing: the runtime does not report their senders and receivers.';
/** Number of runtime versions with cached metadata: 5 MB each, about one new version a month. */
const RUNTIMES_KEPT = 3;
const METADATA_CHARS_MAX = 32_000_000;
const EVENTS_CHARS_MAX = 32_000_000;

const asHash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^0x[0-9a-f]{64}$/, field);
const headersFor = apiKeyHeader('X-API-Key');

/** Reads `free + reserved` and the nonce from the SCALE bytes of AccountInfo; zeros for an account that is not in storage. */
function readAccount(value: Json): { readonly balance: bigint; readonly nonce: number } {
  if (value === null) return { balance: 0n, nonce: 0 };
  const bytes = Buffer.from(asPattern(value, /^0x(?:[0-9a-f]{2}){48,200}$/, 'account').slice(2), 'hex');
  const u128 = (at: number): bigint => bytes.readBigUInt64LE(at) + (bytes.readBigUInt64LE(at + 8) << 64n);
  // nonce, consumers, providers, sufficients (u32 each), then free and reserved (u128 each).
  return { balance: u128(16) + u128(32), nonce: bytes.readUInt32LE(0) };
}

/** Reads a SCALE compact number at an offset: the value and the offset after it; null if the bytes end too early. */
function compactAt(bytes: Buffer, at: number): readonly [value: bigint, end: number] | null {
  const first = bytes[at];
  if (first === undefined) return null;
  const mode = first & 3;
  const length = mode === 3 ? (first >> 2) + 4 : 1 << mode;
  const start = mode === 3 ? at + 1 : at;
  if (start + length > bytes.length || length > 16) return null;
  let value = 0n;
  for (let i = start + length - 1; i >= start; i--) value = (value << 8n) | BigInt(bytes[i] as number);
  return [mode === 3 ? value : value >> 2n, start + length];
}

/** Returns the time that the first inherent of a block sets, in milliseconds; 0 for block 0, which has none. */
function timeOf(extrinsics: readonly Json[]): number {
  for (const value of extrinsics) {
    const text = asText(value, 'extrinsic', 20_000_000);
    if (!/^0x(?:[0-9a-f]{2}){4,64}$/.test(text)) continue;
    const bytes = Buffer.from(text.slice(2), 'hex');
    const at = compactAt(bytes, 0)?.[1] ?? 0;
    // Unsigned, version 4 or 5; then pallet and call.
    const isSet =
      (bytes[at] === 4 || bytes[at] === 5) && bytes[at + 1] === TIMESTAMP_PALLET && bytes[at + 2] === 0;
    const moment = isSet ? compactAt(bytes, at + 3)?.[0] : undefined;
    if (moment !== undefined) return asTimeMs(Number(moment), 'timestamp');
  }
  return 0;
}

/**
 * Returns the decimals that convert the whole units to the smallest units: Subscan gives both amounts but not the decimals. Null if no
 * value matches, as for zero.
 */
function decimalsBetween(units: Json | undefined, amount: bigint): number | null {
  const text = typeof units === 'number' ? String(units) : units;
  const parts = typeof text === 'string' ? /^(\d{1,60})(?:\.(\d{1,40}))?$/.exec(text) : null;
  if (parts === null || amount === 0n) return null;
  const [, whole = '', fraction = ''] = parts;
  for (let decimals = 0, digits = BigInt(whole + fraction); decimals <= 40; decimals++)
    if (digits * 10n ** BigInt(decimals) === amount * 10n ** BigInt(fraction.length)) return decimals;
  return null;
}

/** Returns whether a row is about DOT itself. Any asset may use the symbol DOT, but only assets of a pallet have a `/` in their id. */
function isNative({ asset_symbol: symbol, asset_unique_id: id }: JsonObject): boolean {
  return (symbol === undefined || symbol === 'DOT') && !(typeof id === 'string' && id.includes('/'));
}

/** Converts an entry of Subscan's list of transfers. */
function rowOf(row: JsonObject, timestampMs?: number): HistoryRow {
  const height = asCount(row.block_num, 'block_num');
  const event = asCount(row.event_idx, 'event_idx');
  if (row.success === false) return { height, transfers: [] };
  const { list, add } = transfersOf('DOT', {
    // Transfers without an extrinsic (by the runtime itself, by messages from other chains) are named after their block.
    txHash: row.hash === '' || row.hash === undefined ? `${height}-${event}` : asHash(row.hash, 'hash'),
    blockNumber: height,
    timestampMs: timestampMs ?? asSecondsMs(row.block_timestamp, 'block_timestamp'),
  });
  const parties = { from: asAddressOf('DOT', row.from, 'from'), to: asAddressOf('DOT', row.to, 'to') };
  const position = `event:${event}`;
  if (isNative(row)) add({ position, ...parties, amount: asDecimalAmount(row.amount, DECIMALS, 'amount') });
  else
    add({
      position,
      ...parties,
      amount: asAmount(row.amount_v2, 'amount_v2'),
      decimals: decimalsBetween(row.amount, asAmount(row.amount_v2, 'amount_v2')),
      asset: asPattern(row.asset_unique_id, /^[\w:./-]{1,100}$/, 'asset_unique_id'),
    });
  return { height, transfers: list };
}

const asBytes = (value: Json, max: number, field: string): Buffer => {
  const text = asText(value, field, max);
  if (text.length % 2 !== 0 || !/^0x[0-9a-f]*$/.test(text)) throw badAnswer(field, 'bytes in hex');
  return Buffer.from(text.slice(2), 'hex');
};

/**
 * Returns the hash of an extrinsic; null for an inherent, which the block author includes by rule (the time, messages from other
 * chains) and which has no sender.
 */
function extrinsicHash(value: Json): string | null {
  const bytes = asBytes(value, 20_000_000, 'extrinsic');
  const version = bytes[compactAt(bytes, 0)?.[1] ?? 0];
  if (version === 4 || version === 5) return null;
  return `0x${Buffer.from(blake2b(bytes, { dkLen: 32 })).toString('hex')}`;
}

/** Reads the decimals from the bytes of an asset's metadata: deposit, name, symbol, decimals. */
function assetDecimals(bytes: Buffer): number | null {
  const reader = new ScaleReader(bytes, 'asset');
  reader.skip(16);
  reader.text();
  reader.text();
  return decimalsOrNull(reader.u8());
}

interface WireBlock {
  readonly parentHash: string;
  readonly timestampMs: number;
  /** Of the extrinsics. */
  readonly hashes: readonly (string | null)[];
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class PolkadotReader implements ChainReader {
  readonly #pool: EndpointPool;
  readonly #relays: ReadonlySet<string>;

  /** Least recently used first. */
  readonly #runtimes = new Map<string, Promise<EventReader | null>>();

  constructor(pool: EndpointPool, relays: ReadonlySet<string>) {
    this.#pool = pool;
    this.#relays = relays;
  }

  async #rpc<T>(method: string, params: Json, read: (result: Json) => T, call: Call) {
    const { value, endpoint } = await rpcCall(this.#pool, { method, params, layouts: NODE, read }, call);
    return { value, source: endpoint.source, height: null, isRelay: this.#relays.has(endpoint.url) };
  }

  async #account(address: string, call: Call) {
    const publicKey = Buffer.from(parseAddress('DOT', address).key.subarray(2));
    const hashed = Buffer.from(blake2b(publicKey, { dkLen: 16 }));
    const key = `${ACCOUNTS_PREFIX}${hashed.toString('hex')}${publicKey.toString('hex')}`;
    const { isRelay, ...sourced } = await this.#rpc('state_getStorage', [key], readAccount, call);
    return isRelay ? { ...sourced, note: ON_RELAY } : sourced;
  }

  #hashOf(height: number, call: Call) {
    return this.#rpc(
      'chain_getBlockHash',
      [height],
      (result) => (result === null ? null : asHash(result, 'hash')),
      call,
    );
  }

  /** Sends a request to Subscan and unwraps its response `{code, message, data}`. */
  #subscan<T>(path: string, body: JsonObject, read: (data: JsonObject) => T, call: Call) {
    return rest(
      this.#pool,
      {
        path,
        body,
        layouts: SUBSCAN,
        headersFor,
        read(json) {
          const { code, message, data } = asObject(json, 'answer');
          if (code !== 0)
            throw new AssayError('CHAIN_REFUSED', `Subscan refused: ${String(message).slice(0, 200)}.`);
          return read(asObject(data, 'data'));
        },
      },
      call,
    );
  }

  #transfersPage(body: JsonObject, max: number, call: Call) {
    return this.#subscan(
      'api/v2/scan/transfers',
      body,
      (data) => asArray(data.transfers ?? [], 'transfers', max).map((row) => asObject(row, 'transfer')),
      call,
    );
  }

  async #transfersAt(height: number, timestampMs: number, call: Call): Promise<readonly Transfer[]> {
    const found: Transfer[] = [];
    for (let page = 0; page < BLOCK_PAGES_MAX; page++) {
      const { value } = await this.#transfersPage(
        { block_range: `${height}-${height}`, row: PAGE_MAX, page },
        PAGE_MAX,
        call,
      );
      for (const each of value) {
        const row = rowOf(each, timestampMs);
        if (row.height !== height) throw badAnswer('block_num', `the requested ${height}`);
        found.push(...row.transfers);
      }
      // Newest first, like the lists; within a block, transfers are in block order.
      if (value.length < PAGE_MAX) return found.reverse();
    }
    throw badAnswer('transfers', 'a list of limited length');
  }

  /**
   * Returns the event reader for blocks on top of a parent; null if the metadata version is unknown. Code that a block sets takes
   * effect in the next block.
   */
  async #runtimeOf(parentHash: string, call: Call): Promise<EventReader | null> {
    const { value: name } = await this.#rpc(
      'state_getRuntimeVersion',
      [parentHash],
      (result) => {
        const { specName, specVersion } = asObject(result, 'version');
        return `${asText(specName, 'specName', 100)} ${asCount(specVersion, 'specVersion')}`;
      },
      call,
    );
    const known = this.#runtimes.get(name);
    const reading = known ?? this.#readRuntime(parentHash, call);
    this.#runtimes.delete(name);
    this.#runtimes.set(name, reading);
    const [oldest] = this.#runtimes.keys();
    if (this.#runtimes.size > RUNTIMES_KEPT && oldest !== undefined) this.#runtimes.delete(oldest);
    // The callers that await `reading` receive the error; the next request tries again.
    reading.catch(() => this.#runtimes.delete(name));
    return reading;
  }

  async #readRuntime(hash: string, call: Call): Promise<EventReader | null> {
    const read = (result: Json) => {
      const metadata = asBytes(result, METADATA_CHARS_MAX, 'metadata');
      return isKnownMetadata(metadata) ? createEventReader(metadata) : null;
    };
    return (await this.#rpc('state_getMetadata', [hash], read, call)).value;
  }

  /** Returns the transfers of a block from its own events; null if the node cannot provide them. */
  async #movesAt(height: number, hash: string, body: WireBlock, call: Call) {
    if (height === 0) return { transfers: [], hasSwaps: false };
    try {
      const [runtime, { value: events }] = await Promise.all([
        this.#runtimeOf(body.parentHash, call),
        this.#rpc(
          'state_getStorage',
          [EVENTS_KEY, hash],
          (result) => (result === null ? null : asBytes(result, EVENTS_CHARS_MAX, 'events')),
          call,
        ),
      ]);
      // Every block has an event of its first inherent: no events at all means that the state was pruned.
      if (runtime === null || events === null) return null;
      return movesOf(runtime.read(events, isMoveOrSwap), { height, ...body });
    } catch (error) {
      if (error instanceof RpcRefusal) return null;
      throw error;
    }
  }

  #bodyOf(hash: string, height: number, call: Call) {
    return this.#rpc(
      'chain_getBlock',
      [hash],
      (result): WireBlock => {
        const block = asObject(asObject(result, 'result').block, 'block');
        const header = asObject(block.header, 'header');
        if (asHexCount(header.number, 'number') !== height)
          throw badAnswer('number', `the requested ${height}`);
        const extrinsics = asArray(block.extrinsics, 'extrinsics', EXTRINSICS_MAX);
        return {
          parentHash: asHash(header.parentHash, 'parentHash'),
          timestampMs: timeOf(extrinsics),
          hashes: extrinsics.map(extrinsicHash),
        };
      },
      call,
    );
  }

  async balance(address: string, call: Call) {
    const sourced = await this.#account(address, call);
    return { ...sourced, value: sourced.value.balance };
  }

  /** Counts the transactions that the account signed: its nonce. */
  async transactionCount(address: string, call: Call) {
    const sourced = await this.#account(address, call);
    return { ...sourced, value: sourced.value.nonce };
  }

  async rows(address: string, { cursor, size, from, to }: RowsQuery, call: Call) {
    let source = '';
    const list: WindowList<HistoryRow> = async ({ min, max, size: limit }) => {
      const range =
        min === null && max === null ? {} : { block_range: `${min ?? 0}-${max ?? 4_294_967_295}` };
      const rows: { key: number; row: HistoryRow }[] = [];
      for (let page = 0; rows.length < limit; page++) {
        const count = Math.min(PAGE_MAX, limit);
        const sourced = await this.#transfersPage(
          { address, row: count, page, order: 'desc', ...range },
          count,
          call,
        );
        source = sourced.source;
        for (const each of sourced.value.slice(0, limit - rows.length)) {
          const row = rowOf(each);
          rows.push({ key: row.height, row });
        }
        if (sourced.value.length < count) break;
      }
      return rows;
    };
    const page = await readWindows([list], { cursor, size, min: from, max: to });
    return { value: page, source, height: null };
  }

  /** Returns the newest final block. */
  async head(call: Call) {
    const { value: hash } = await this.#rpc(
      'chain_getFinalizedHead',
      [],
      (result) => asHash(result, 'hash'),
      call,
    );
    const { value: height } = await this.#rpc(
      'chain_getHeader',
      [hash],
      (result) => asHexCount(asObject(result, 'header').number, 'number'),
      call,
    );
    const { value, source } = await this.#bodyOf(hash, height, call);
    return { source, height, value: { height, hash, timestampMs: value.timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const { value: hash, source } = await this.#hashOf(height, call);
    if (hash === null) return { value: null, source, height: null };
    const body = (await this.#bodyOf(hash, height, call)).value;
    const { parentHash, timestampMs } = body;
    const moves = await this.#movesAt(height, hash, body, call);
    const isIndexed = moves === null && this.#pool.reachable(SUBSCAN);
    const transfers =
      moves?.transfers ?? (isIndexed ? await this.#transfersAt(height, timestampMs, call) : []);
    const note = moves === null ? (isIndexed ? undefined : NO_EVENTS) : moves.hasSwaps ? SWAPS : undefined;
    return {
      source,
      height,
      ...(note === undefined ? {} : { note }),
      value: {
        chain: 'DOT',
        height,
        hash,
        parentHash: height === 0 ? null : parentHash,
        timestampMs,
        transfers,
      },
    };
  }

  async hashAt(height: number, call: Call) {
    return (await this.#hashOf(height, call)).value;
  }

  /** Returns the decimals of an asset of the pallet `Assets` from its storage. */
  async decimalsOf(asset: string, call: Call) {
    const number = standardAssetOf(asset);
    if (number === null || !this.#pool.reachable(NODE)) return null;
    const id = Buffer.alloc(4);
    id.writeUInt32LE(number);
    const hashed = Buffer.from(blake2b(id, { dkLen: 16 }));
    const { value } = await this.#rpc(
      'state_getStorage',
      [`${ASSET_METADATA_PREFIX}${hashed.toString('hex')}${id.toString('hex')}`],
      orUnknown((result) => (result === null ? null : assetDecimals(asBytes(result, 100_000, 'asset')))),
      call,
    );
    return value;
  }
}

/** Opens the adapter of Polkadot. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) => {
  /** URLs of relay chain nodes. */
  const relays = new Set<string>();
  const genesis = rpcRequest<string>({
    method: 'chain_getBlockHash',
    params: [0],
    layouts: NODE,
    read: (result) => asHash(result, 'hash'),
  });
  return openAccountChain(
    {
      layouts: { balance: NODE, count: NODE, history: SUBSCAN, block: NODE },
      verify: {
        ...genesis,
        read(answer, endpoint) {
          const hash = genesis.read(answer, endpoint);
          if (hash === RELAY) relays.add(endpoint.url);
          else if (hash !== ASSET_HUB)
            throw new AssayError(
              'CHAIN_MISMATCH',
              `An endpoint of DOT serves a chain that begins with ${hash}.`,
            );
        },
      },
      pollPublicMs: 6_000,
      reader: (pool) => new PolkadotReader(pool, relays),
    },
    options,
    deps,
  );
};
