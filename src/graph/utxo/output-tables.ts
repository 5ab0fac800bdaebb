/** The tables of a chain in the store of outputs, and how they are read. */
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import { isFormat, wrongFormat } from '../../state/format-version.ts';
import { type Database, hasEnvironment, openEnvironment, type RootDatabase } from '../../state/lmdb.ts';
import { decodeTransaction, type TransactionDraft, txidOfRecord } from './output-records.ts';
import type { TxNumber } from './spend-graph.ts';

/** Changes when the meaning of any bytes in the databases below changes. A version is never reused. */
const FORMAT = { name: 'assay-outputs', version: 1 } as const;

/** Counters of a chain, and the range of its blocks. */
export interface State {
  nextTransaction: number;
  nextAddress: number;
  transactions: number;
  firstBlock: number | null;
  lastBlock: number | null;
  newestMs: number | null;
}

export type BlockRecord = readonly [
  hash: string | null,
  parentHash: string | null,
  timestampMs: number,
  numbers: readonly TxNumber[],
];

/** Addresses cached between batches. The maps are cleared when this is reached. About 250 bytes each. */
const ADDRESSES_REMEMBERED_MAX = 200_000;

/** Cache of canonical address texts and their numbers: base58 and its checksum cost more than everything else done with an address. */
class AddressMemory {
  readonly numbers = new Map<string, number>();
  readonly texts = new Map<number, string>();

  note(number: number, text: string): void {
    if (this.texts.size >= ADDRESSES_REMEMBERED_MAX) this.clear();
    this.numbers.set(text, number);
    this.texts.set(number, text);
  }

  clear(): void {
    this.numbers.clear();
    this.texts.clear();
  }
}

/** The open tables of a chain. */
export interface ChainOutputs {
  readonly chain: ChainId;
  readonly memory: AddressMemory;
  readonly root: RootDatabase;
  readonly meta: Database<unknown, string>;
  /** First 8 bytes of a transaction id → the numbers, u32 each, of all transactions with that prefix. Usually there is one. */
  readonly numbers: Database<Buffer, Uint8Array>;
  readonly transactions: Database<Buffer, number>;
  readonly addressNumbers: Database<Buffer, Uint8Array>;
  readonly addresses: Database<Buffer, number>;
  /** (address, block, transaction, output): the outputs that paid an address, in chain order. */
  readonly addressOutputs: Database<Buffer, Uint8Array>;
  readonly blocks: Database<BlockRecord, number>;
  /** Hash of a block → its height. */
  readonly heights: Database<number, string>;
}

/** Digits of a transaction id that are its key in `numbers`. */
export const PREFIX_HEX = 16;
/** The greatest number of a transaction, an address or an output. */
export const U32_MAX = 0xffff_ffff;
export const NOTHING = Buffer.alloc(0);

/** Returns true for a transaction id: 64 hexadecimal digits. */
export const isTxid = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Returns the key of an output in `addressOutputs`. Outputs of unknown transactions sort before block 0. */
export function addressOutputKey(address: number, block: number, tx: TxNumber, n: number): Buffer {
  const key = Buffer.allocUnsafe(16);
  key.writeUInt32BE(address, 0);
  key.writeUInt32BE(block + 1, 4);
  key.writeUInt32BE(tx, 8);
  key.writeUInt32BE(n, 12);
  return key;
}

/**
 * Opens the tables of a chain, and creates them unless `readOnly`.
 *
 * @returns null for a read-only store that its writer has not created yet; a later call opens it
 * @throws STORE_VERSION if the file has an unknown format
 */
export function openChain(path: string, chain: ChainId, readOnly: boolean): ChainOutputs | null {
  if (readOnly && !hasEnvironment(path)) return null;
  const root = openEnvironment(path, { maxDbs: 8, readOnly, noSubdir: true });
  const db = <V, K extends number | string | Uint8Array>(
    name: string,
    encoding: 'binary' | 'msgpack',
    keyEncoding: 'binary' | 'ordered-binary' | 'uint32',
  ): Database<V, K> => root.openDB<V, K>({ name, encoding, keyEncoding });
  const meta: Database<unknown, string> | undefined = db('meta', 'msgpack', 'ordered-binary');
  const format = meta?.get('format');
  const isFresh = format === undefined && (meta === undefined || meta.getCount() === 0);
  if (!isFresh && !isFormat(format, FORMAT)) {
    void root.close();
    throw wrongFormat(`The outputs store ${path}`, format, FORMAT);
  }
  const databases = {
    meta,
    numbers: db<Buffer, Uint8Array>('numbers', 'binary', 'binary'),
    transactions: db<Buffer, number>('transactions', 'binary', 'uint32'),
    addressNumbers: db<Buffer, Uint8Array>('address-numbers', 'binary', 'binary'),
    addresses: db<Buffer, number>('addresses', 'binary', 'uint32'),
    addressOutputs: db<Buffer, Uint8Array>('address-outputs', 'binary', 'binary'),
    blocks: db<BlockRecord, number>('blocks', 'msgpack', 'uint32'),
    heights: db<number, string>('heights', 'msgpack', 'ordered-binary'),
  };
  if (readOnly && (isFresh || Object.values<unknown>(databases).includes(undefined))) {
    void root.close();
    return null;
  }
  // Written after the databases are opened: a store that has a format has all of them.
  if (isFresh) meta.putSync('format', { ...FORMAT, chain });
  return { chain, memory: new AddressMemory(), root, ...databases };
}

/** Returns the counters of a chain as they were last committed. */
export const readState = (store: ChainOutputs): State =>
  (store.meta.get('state') as State | undefined) ?? {
    nextTransaction: 1,
    nextAddress: 1,
    transactions: 0,
    firstBlock: null,
    lastBlock: null,
    newestMs: null,
  };

/**
 * Returns the transaction with a number.
 *
 * @throws STORE_CORRUPT if it is missing
 */
export function readTransaction(store: ChainOutputs, number: TxNumber): TransactionDraft {
  const bytes = store.transactions.getBinaryFast(number);
  if (!bytes)
    throw new AssayError(
      'STORE_CORRUPT',
      `The outputs store of ${store.chain} is damaged: transaction ${number} is missing.`,
    );
  return decodeTransaction(number, bytes);
}

/** Returns the number of the transaction with an id; null if the store does not have it. */
export function findNumber(store: ChainOutputs, txid: string): TxNumber | null {
  const listed = store.numbers.getBinary(Buffer.from(txid.slice(0, PREFIX_HEX), 'hex'));
  if (!listed) return null;
  for (let at = 0; at < listed.length; at += 4) {
    const number = listed.readUInt32LE(at);
    const bytes = store.transactions.getBinaryFast(number);
    if (bytes && txidOfRecord(bytes) === txid) return number;
  }
  return null;
}

/**
 * Returns the key of the address with a number.
 *
 * @throws STORE_CORRUPT if it is missing
 */
export function readAddress(store: ChainOutputs, address: number): AddressKey {
  const key = store.addresses.getBinary(address);
  if (!key)
    throw new AssayError(
      'STORE_CORRUPT',
      `The outputs store of ${store.chain} is damaged: address ${address} is missing.`,
    );
  return key;
}
