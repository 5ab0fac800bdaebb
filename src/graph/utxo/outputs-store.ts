/**
 * The store of outputs: one LMDB environment per UTXO chain, with every transaction, its outputs, and the transaction that spends each
 * output. Each write stores its blocks completely or not at all. Storing a block again changes nothing, and the newest block can be
 * reverted.
 */
import { join } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import {
  formatAddressKey,
  maxKeyBytes,
  parseAddress,
  writeAddressKeyFromText,
} from '../../chains/address/parse.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { isFormat, wrongFormat } from '../../state/format-version.ts';
import { type Database, hasEnvironment, openEnvironment, type RootDatabase } from '../../state/lmdb.ts';
import { UTXO_LIMITS } from './limits.ts';
import {
  decodeTransaction,
  encodeTransaction,
  type OutputDraft,
  type TransactionDraft,
  txidOfRecord,
} from './output-records.ts';
import type { SpendGraph, SpendTransaction, TxNumber } from './spend-graph.ts';
import type { OutputRef } from './taint.ts';

/** Changes when the meaning of any bytes in the databases below changes. A version is never reused. */
const FORMAT = { name: 'assay-outputs', version: 1 } as const;

/** A block, or those of its transactions that a file contains. */
export interface UtxoBlock {
  readonly height: number;
  /** Null if the source does not give it. */
  readonly hash: string | null;
  readonly parentHash: string | null;
  readonly timestampMs: number;
  readonly transactions: readonly UtxoTransaction[];
}

export interface StoredBlock {
  readonly height: number;
  readonly hash: string | null;
  readonly parentHash: string | null;
  readonly timestampMs: number;
}

export interface PutBlocks {
  /** Transactions that were new. */
  readonly stored: number;
  readonly duplicates: number;
  /** Transactions with all inputs known now, in chain order: those of the blocks, and earlier ones that waited for them. */
  readonly resolved: readonly UtxoTransaction[];
  /** Transactions of the blocks that have an input with an unknown value. */
  readonly unresolved: number;
}

export interface OutputsCoverage {
  readonly transactions: number;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Time of the newest block, ISO 8601. */
  readonly asOf: string | null;
}

export interface OutputsReader {
  /** A view for kernels, with a cache of its own. It is valid until the thread yields. Null if the chain was never written. */
  graph(chain: ChainId): SpendGraph | null;
  /** Numbers of the transactions of a block, in no order. Empty if no block is stored at that height. */
  transactionsAt(chain: ChainId, height: number): readonly TxNumber[];
  /** Number of an address. Null if no output of it is known. */
  addressNumber(chain: ChainId, key: AddressKey): number | null;
  /** Key of the address with a number. Null if the number was not assigned. */
  addressKey(chain: ChainId, number: number): AddressKey | null;
  /** Outputs that paid an address, newest block first. `limit` is capped by `addressOutputsMax`. */
  outputsOf(chain: ChainId, key: AddressKey, limit: number): readonly OutputRef[];
  /** Height, hash and time of a block. Null if no block is stored at that height. */
  block(chain: ChainId, height: number): StoredBlock | null;
  /** The stored block with this hash, or null. */
  blockOf(chain: ChainId, hash: string): StoredBlock | null;
  coverage(chain: ChainId): OutputsCoverage;
  close(): Promise<void>;
}

export interface OutputsStore extends OutputsReader {
  /**
   * Stores blocks in one transaction.
   *
   * @throws INVALID_FILE if they contradict the store: another block at a height, or an output spent twice
   * @throws INVALID_ADDRESS if an address is not valid
   */
  put(chain: ChainId, blocks: readonly UtxoBlock[]): PutBlocks;
  /** Stores one live block like `put`, and marks it as the one that `newestLive` returns. */
  putLive(chain: ChainId, block: UtxoBlock): PutBlocks;
  /** The live block that arrived last. Null if none arrived, or if it was reverted. */
  newestLive(chain: ChainId): StoredBlock | null;
  /**
   * Reverts a block and returns its transactions with what they spent. Does nothing if no block is stored at that height.
   *
   * @throws INVALID_REQUEST if a transaction of another block spends one of its outputs: newer blocks must be reverted first
   */
  revert(chain: ChainId, height: number): readonly UtxoTransaction[];
  /**
   * Stores the network that the files belong to.
   *
   * @throws INVALID_FILE if it differs from the stored network
   */
  setNetwork(chain: ChainId, network: string): void;
  /** Resolves when all writes are on disk. */
  flushed(): Promise<void>;
}

export interface OutputsStoreOptions {
  /** Folder with one file per chain. */
  readonly path: string;
  readonly readOnly: boolean;
}

interface State {
  nextTransaction: number;
  nextAddress: number;
  transactions: number;
  firstBlock: number | null;
  lastBlock: number | null;
  newestMs: number | null;
}

type BlockRecord = readonly [
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

const keyScratch = new Uint8Array(maxKeyBytes);

interface ChainOutputs {
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

const PREFIX_HEX = 16;
const U32_MAX = 0xffff_ffff;
const NOTHING = Buffer.alloc(0);

const isTxid = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Outputs of unknown transactions sort before block 0. */
function addressOutputKey(address: number, block: number, tx: TxNumber, n: number): Buffer {
  const key = Buffer.allocUnsafe(16);
  key.writeUInt32BE(address, 0);
  key.writeUInt32BE(block + 1, 4);
  key.writeUInt32BE(tx, 8);
  key.writeUInt32BE(n, 12);
  return key;
}

/** Returns null for a read-only store that its writer has not created yet. A later call opens it (see chain-store.ts). */
function openChain(path: string, chain: ChainId, readOnly: boolean): ChainOutputs | null {
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

const readState = (store: ChainOutputs): State =>
  (store.meta.get('state') as State | undefined) ?? {
    nextTransaction: 1,
    nextAddress: 1,
    transactions: 0,
    firstBlock: null,
    lastBlock: null,
    newestMs: null,
  };

function readTransaction(store: ChainOutputs, number: TxNumber): TransactionDraft {
  const bytes = store.transactions.getBinaryFast(number);
  if (!bytes)
    throw new AssayError(
      'STORE_CORRUPT',
      `The outputs store of ${store.chain} is damaged: transaction ${number} is missing.`,
    );
  return decodeTransaction(number, bytes);
}

function findNumber(store: ChainOutputs, txid: string): TxNumber | null {
  const listed = store.numbers.getBinary(Buffer.from(txid.slice(0, PREFIX_HEX), 'hex'));
  if (!listed) return null;
  for (let at = 0; at < listed.length; at += 4) {
    const number = listed.readUInt32LE(at);
    const bytes = store.transactions.getBinaryFast(number);
    if (bytes && txidOfRecord(bytes) === txid) return number;
  }
  return null;
}

function readAddress(store: ChainOutputs, address: number): AddressKey {
  const key = store.addresses.getBinary(address);
  if (!key)
    throw new AssayError(
      'STORE_CORRUPT',
      `The outputs store of ${store.chain} is damaged: address ${address} is missing.`,
    );
  return key;
}

const contradiction = (what: string): AssayError => new AssayError('INVALID_FILE', what);

/** Throws INVALID_FILE if the known inputs of a transaction are worth less than what it pays: one of the two was read wrongly. */
function checkBalance({ txid, isCoinbase, inputs, outputs, shielded }: UtxoTransaction): void {
  if (isCoinbase) return;
  let left = (shielded?.in ?? 0n) - (shielded?.out ?? 0n);
  for (const { value } of inputs) left += value ?? 0n;
  for (const { value } of outputs) left -= value;
  if (left < 0n) throw contradiction(`Transaction ${txid} pays ${-left} satoshi more than it takes.`);
}

/** The changes of one `put` or `revert` call: read once, changed in memory, and written at the end of its LMDB transaction. */
class Change {
  readonly #store: ChainOutputs;
  readonly #state: State;
  readonly #drafts = new Map<TxNumber, TransactionDraft>();
  readonly #changed = new Set<TxNumber>();
  readonly #numbers = new Map<string, TxNumber>();
  readonly #toResolve = new Set<TxNumber>();
  stored = 0;
  duplicates = 0;

  constructor(store: ChainOutputs) {
    this.#store = store;
    this.#state = readState(store);
  }

  putBlock(block: UtxoBlock): void {
    const { height } = block;
    const known = this.#store.blocks.get(height);
    if (known?.[0] && block.hash && known[0] !== block.hash)
      throw contradiction(
        `Block ${height} is ${block.hash} in this file, but ${known[0]} in the store of ${this.#store.chain}: ` +
          'revert the stored one first.',
      );
    const below = height > 0 ? this.#store.blocks.get(height - 1)?.[0] : undefined;
    if (below && block.parentHash && below !== block.parentHash)
      throw contradiction(
        `Block ${height} builds on ${block.parentHash}, and block ${height - 1} of ${this.#store.chain} is ${below}: ` +
          'revert the stored one first.',
      );
    const numbers = new Set(known?.[3] ?? []);
    for (const transaction of block.transactions) {
      const number = this.#putTransaction(transaction);
      if (number !== null) numbers.add(number);
    }
    this.#store.blocks.putSync(height, [
      block.hash ?? known?.[0] ?? null,
      block.parentHash ?? known?.[1] ?? null,
      block.timestampMs,
      [...numbers],
    ]);
    if (block.hash) this.#store.heights.putSync(block.hash, height);
    const state = this.#state;
    state.firstBlock = Math.min(state.firstBlock ?? height, height);
    state.lastBlock = Math.max(state.lastBlock ?? height, height);
    state.newestMs = Math.max(state.newestMs ?? block.timestampMs, block.timestampMs);
  }

  /** Returns null for a coinbase that an earlier block already contains: Bitcoin's blocks 91842 and 91880 repeat one (BIP 30). */
  #putTransaction(transaction: UtxoTransaction): TxNumber | null {
    const { txid, blockNumber } = transaction;
    const draft = this.#draftOf(txid);
    if (draft.isKnown && draft.block !== blockNumber) {
      this.duplicates++;
      if (transaction.isCoinbase) return null;
      throw contradiction(
        `Transaction ${txid} is in block ${blockNumber} of this file, but is stored in block ${draft.block}.`,
      );
    }
    if (draft.isKnown) this.duplicates++;
    else this.#fill(draft, transaction);
    for (const [at, input] of transaction.inputs.entries()) {
      const parent = this.#draftOf(input.txid);
      const output = this.#outputOf(parent, input.vout);
      if (output.spentBy !== null && output.spentBy !== draft.number)
        throw contradiction(
          `Input ${at} of ${txid} spends output ${input.vout} of ${input.txid}, which ` +
            `${this.#draft(output.spentBy).txid} has already spent.`,
        );
      if (output.spentBy === null) {
        output.spentBy = draft.number;
        this.#changed.add(parent.number);
      }
      if (output.value !== null || input.value === null) continue;
      output.value = input.value;
      output.address = this.#addressNumber(input.address);
      this.#index(parent, output);
      this.#changed.add(parent.number);
    }
    this.#toResolve.add(draft.number);
    return draft.number;
  }

  /** Makes a transaction known. Its own data replaces what its spenders implied about its outputs. */
  #fill(draft: TransactionDraft, transaction: UtxoTransaction): void {
    const spenders = new Map<number, TxNumber>();
    for (const output of draft.outputs) {
      if (output.spentBy !== null) {
        spenders.set(output.n, output.spentBy);
        this.#toResolve.add(output.spentBy);
      }
      if (output.address > 0)
        this.#store.addressOutputs.removeSync(
          addressOutputKey(output.address, draft.block, draft.number, output.n),
        );
    }
    let previous = -1;
    for (const { n, value } of transaction.outputs) {
      if (!Number.isSafeInteger(n) || n <= previous || value < 0n)
        throw contradiction(
          `Output ${n} of ${draft.txid} comes after output ${previous}, or its value is negative or missing.`,
        );
      previous = n;
    }
    const { shielded } = transaction;
    draft.isKnown = true;
    // A transaction that spends nothing creates new money, whatever its chain calls it (Dash pays out its credit pool this way).
    draft.isCoinbase =
      transaction.isCoinbase || (transaction.inputs.length === 0 && (shielded?.in ?? 0n) === 0n);
    draft.block = transaction.blockNumber;
    draft.indexInBlock = transaction.indexInBlock;
    draft.timestampMs = transaction.timestampMs;
    draft.shieldedIn = shielded?.in ?? 0n;
    draft.shieldedOut = shielded?.out ?? 0n;
    draft.inputs = transaction.inputs.map(({ txid, vout }) => ({ tx: this.#draftOf(txid).number, n: vout }));
    draft.outputs = transaction.outputs.map(({ n, value, script, address }) => {
      const spentBy = spenders.get(n) ?? null;
      spenders.delete(n);
      return { n, value, script, address: this.#addressNumber(address), spentBy };
    });
    for (const [n, spender] of spenders)
      throw contradiction(
        `${this.#draft(spender).txid} spends output ${n} of ${draft.txid}, which does not exist.`,
      );
    for (const output of draft.outputs) this.#index(draft, output);
    this.#changed.add(draft.number);
    this.#state.transactions++;
    this.stored++;
  }

  #index(draft: TransactionDraft, { address, n }: OutputDraft): void {
    if (address === 0) return;
    const key = addressOutputKey(address, draft.block, draft.number, n);
    this.#store.addressOutputs.putSync(key, NOTHING);
  }

  #outputOf(draft: TransactionDraft, n: number): OutputDraft {
    const direct = draft.outputs[n];
    if (direct?.n === n) return direct;
    const found = draft.outputs.find((output) => output.n === n);
    if (found) return found;
    if (draft.isKnown) throw contradiction(`Output ${n} of ${draft.txid} is spent, but does not exist.`);
    const output: OutputDraft = { n, value: null, script: 'other', address: 0, spentBy: null };
    draft.outputs.push(output);
    draft.outputs.sort((a, b) => a.n - b.n);
    return output;
  }

  #draft(number: TxNumber): TransactionDraft {
    const known = this.#drafts.get(number);
    if (known) return known;
    const draft = readTransaction(this.#store, number);
    this.#drafts.set(number, draft);
    return draft;
  }

  /** Returns the transaction with this id. Creates it if it is not in the store. */
  #draftOf(txid: string): TransactionDraft {
    const noted = this.#numbers.get(txid);
    if (noted !== undefined) return this.#draft(noted);
    if (!isTxid(txid))
      throw contradiction(`'${txid.slice(0, 80)}' is not a transaction id of 64 hex digits.`);
    const number = findNumber(this.#store, txid) ?? this.#newTransaction(txid);
    this.#numbers.set(txid, number);
    return this.#draft(number);
  }

  #newTransaction(txid: string): TxNumber {
    const number = this.#state.nextTransaction++;
    if (number > U32_MAX)
      throw new AssayError(
        'INTERNAL',
        `The outputs store of ${this.#store.chain} is full: all transaction numbers are used.`,
      );
    const prefix = Buffer.from(txid.slice(0, PREFIX_HEX), 'hex');
    const listed = this.#store.numbers.getBinary(prefix) ?? NOTHING;
    const added = Buffer.alloc(listed.length + 4);
    listed.copy(added);
    added.writeUInt32LE(number, listed.length);
    this.#store.numbers.putSync(prefix, added);
    this.#drafts.set(number, {
      number,
      txid,
      isKnown: false,
      isCoinbase: false,
      block: -1,
      indexInBlock: 0,
      timestampMs: 0,
      inputs: [],
      outputs: [],
      shieldedIn: 0n,
      shieldedOut: 0n,
    });
    this.#changed.add(number);
    return number;
  }

  #addressNumber(text: string | null): number {
    if (text === null) return 0;
    const { addressNumbers, addresses, chain, memory } = this.#store;
    const known = memory.numbers.get(text);
    if (known !== undefined) return known;
    const length = writeAddressKeyFromText(chain, text, keyScratch, 0);
    // `parseAddress` throws an error that explains why the address is not valid.
    const key = length > 0 ? Buffer.from(keyScratch.subarray(0, length)) : parseAddress(chain, text).key;
    let number = addressNumbers.getBinary(key)?.readUInt32LE(0);
    if (number === undefined) {
      number = this.#state.nextAddress++;
      const value = Buffer.alloc(4);
      value.writeUInt32LE(number);
      addressNumbers.putSync(key, value);
      addresses.putSync(number, Buffer.from(key));
    }
    memory.note(number, text);
    return number;
  }

  #textOf(address: number): string | null {
    if (address === 0) return null;
    const { memory, chain } = this.#store;
    const known = memory.texts.get(address);
    if (known !== undefined) return known;
    const text = formatAddressKey(readAddress(this.#store, address), chain);
    memory.note(address, text);
    return text;
  }

  /** The transaction as a source would deliver it with all its inputs looked up. */
  #resolve(draft: TransactionDraft): UtxoTransaction {
    return {
      chain: this.#store.chain,
      txid: draft.txid,
      blockNumber: draft.block,
      indexInBlock: draft.indexInBlock,
      timestampMs: draft.timestampMs,
      isCoinbase: draft.isCoinbase,
      inputs: draft.inputs.map(({ tx, n }) => {
        const parent = this.#draft(tx);
        const { value, address } = this.#outputOf(parent, n);
        return { txid: parent.txid, vout: n, address: this.#textOf(address), value };
      }),
      outputs: draft.outputs.map(({ n, value, script, address }) => ({
        n,
        value: value ?? 0n,
        script,
        address: this.#textOf(address),
      })),
      ...(draft.shieldedIn > 0n || draft.shieldedOut > 0n
        ? { shielded: { in: draft.shieldedIn, out: draft.shieldedOut } }
        : {}),
    };
  }

  resolved(): { readonly resolved: UtxoTransaction[]; readonly unresolved: number } {
    const resolved: UtxoTransaction[] = [];
    let unresolved = 0;
    for (const number of this.#toResolve) {
      const draft = this.#draft(number);
      const isComplete = draft.inputs.every(({ tx, n }) => this.#outputOf(this.#draft(tx), n).value !== null);
      if (!isComplete) {
        unresolved++;
        continue;
      }
      const transaction = this.#resolve(draft);
      checkBalance(transaction);
      resolved.push(transaction);
    }
    resolved.sort((a, b) => a.blockNumber - b.blockNumber || a.indexInBlock - b.indexInBlock);
    return { resolved, unresolved };
  }

  revert(height: number): UtxoTransaction[] {
    const block = this.#store.blocks.get(height);
    if (!block) return [];
    const drafts = block[3].map((number) => this.#draft(number));
    const own = new Set(block[3]);
    for (const { txid, outputs } of drafts)
      for (const { n, spentBy } of outputs)
        if (spentBy !== null && !own.has(spentBy))
          throw new AssayError(
            'INVALID_REQUEST',
            `Block ${height} cannot be reverted: ${this.#draft(spentBy).txid} of a newer block spends output ${n} ` +
              `of ${txid}.`,
          );
    const transactions = drafts.map((draft) => this.#resolve(draft));
    for (const draft of drafts) this.#forget(draft, own);
    this.#store.blocks.removeSync(height);
    if (block[0] !== null) this.#store.heights.removeSync(block[0]);
    const state = this.#state;
    if (state.lastBlock === height) {
      const [below] = [...this.#store.blocks.getRange({ reverse: true, limit: 1 })];
      state.lastBlock = below?.key ?? null;
      state.newestMs = below?.value[2] ?? null;
      if (!below) state.firstBlock = null;
    }
    return transactions;
  }

  /** Removes a transaction of a reverted block and clears the spends of its inputs. Its number is not assigned again. */
  #forget(draft: TransactionDraft, own: ReadonlySet<TxNumber>): void {
    const { transactions, numbers, addressOutputs } = this.#store;
    for (const { tx, n } of draft.inputs) {
      if (own.has(tx)) continue;
      const output = this.#outputOf(this.#draft(tx), n);
      output.spentBy = null;
      this.#changed.add(tx);
    }
    for (const { address, n } of draft.outputs)
      if (address > 0) addressOutputs.removeSync(addressOutputKey(address, draft.block, draft.number, n));
    transactions.removeSync(draft.number);
    const prefix = Buffer.from(draft.txid.slice(0, PREFIX_HEX), 'hex');
    const listed = numbers.getBinary(prefix) ?? NOTHING;
    const left: Buffer[] = [];
    for (let at = 0; at < listed.length; at += 4)
      if (listed.readUInt32LE(at) !== draft.number) left.push(listed.subarray(at, at + 4));
    if (left.length > 0) numbers.putSync(prefix, Buffer.concat(left));
    else numbers.removeSync(prefix);
    this.#changed.delete(draft.number);
    this.#state.transactions--;
  }

  write(): void {
    const { transactions, meta } = this.#store;
    for (const number of [...this.#changed].sort((a, b) => a - b))
      transactions.putSync(number, encodeTransaction(this.#draft(number)));
    meta.putSync('state', this.#state);
  }
}

/** Transactions that a view caches. The cache is cleared when this is reached. About 1 KB each. */
const VIEW_TRANSACTIONS_MAX = 50_000;

function viewOf(store: ChainOutputs): SpendGraph {
  const known = new Map<TxNumber, SpendTransaction>();
  return {
    numberOf: (txid) => (isTxid(txid) ? findNumber(store, txid) : null),
    transaction(number) {
      const remembered = known.get(number);
      if (remembered) return remembered;
      if (known.size >= VIEW_TRANSACTIONS_MAX) known.clear();
      const transaction = readTransaction(store, number);
      known.set(number, transaction);
      return transaction;
    },
    keyOf: (address) => readAddress(store, address),
  };
}

/**
 * Opens the folder of outputs stores. The environment of a chain is opened at its first use. A read-only store of a chain that was never
 * written behaves like an empty one.
 *
 * @throws STORE_VERSION, when a chain is first used, if its store has an unknown format
 */
export function openOutputsStore(options: OutputsStoreOptions): OutputsStore {
  const open = new Map<ChainId, ChainOutputs>();

  const storeOf = (chain: ChainId): ChainOutputs | null => {
    const known = open.get(chain);
    if (known) return known;
    if (chainOf(chain).family !== 'utxo') return null;
    const path = join(options.path, `${chain.toLowerCase()}-outputs.mdb`);
    const store = openChain(path, chain, options.readOnly);
    // Not cached: another process may create it at any moment.
    if (store === null) return null;
    open.set(chain, store);
    return store;
  };

  const writable = (chain: ChainId): ChainOutputs => {
    const store = options.readOnly ? null : storeOf(chain);
    if (store) return store;
    throw new AssayError('INVALID_REQUEST', `chain: the outputs store of ${chain} was opened read-only.`);
  };

  /** Runs a write in one transaction. If it fails, the address cache is cleared: the numbers it added were never committed. */
  const write = <T>(chain: ChainId, work: (change: Change) => T): T => {
    const store = writable(chain);
    try {
      return store.root.transactionSync(() => {
        const change = new Change(store);
        const result = work(change);
        change.write();
        return result;
      });
    } catch (error) {
      store.memory.clear();
      throw error;
    }
  };

  const addressNumber = (chain: ChainId, key: AddressKey): number | null =>
    storeOf(chain)?.addressNumbers.getBinary(key)?.readUInt32LE(0) ?? null;

  const blockAt = (chain: ChainId, height: number): StoredBlock | null => {
    const record = storeOf(chain)?.blocks.get(height);
    return record ? { height, hash: record[0], parentHash: record[1], timestampMs: record[2] } : null;
  };

  return {
    graph(chain) {
      const store = storeOf(chain);
      return store && viewOf(store);
    },

    transactionsAt: (chain, height) => storeOf(chain)?.blocks.get(height)?.[3] ?? [],

    addressNumber,

    addressKey: (chain, number) => storeOf(chain)?.addresses.getBinary(number) ?? null,

    outputsOf(chain, key, limit) {
      const store = storeOf(chain);
      const address = addressNumber(chain, key);
      if (!store || address === null) return [];
      const refs: OutputRef[] = [];
      const range = store.addressOutputs.getKeys({
        start: addressOutputKey(address, U32_MAX - 1, U32_MAX, U32_MAX),
        end: addressOutputKey(address, -1, 0, 0),
        reverse: true,
        limit: Math.min(Math.max(0, limit), UTXO_LIMITS.addressOutputsMax),
      });
      for (const key of range) {
        const bytes = Buffer.from(key);
        refs.push({ tx: bytes.readUInt32BE(8), n: bytes.readUInt32BE(12) });
      }
      return refs;
    },

    block: blockAt,

    blockOf(chain, hash) {
      const height = storeOf(chain)?.heights.get(hash);
      return height === undefined ? null : blockAt(chain, height);
    },

    coverage(chain) {
      const store = storeOf(chain);
      const state = store ? readState(store) : null;
      return {
        transactions: state?.transactions ?? 0,
        firstBlock: state?.firstBlock ?? null,
        lastBlock: state?.lastBlock ?? null,
        asOf: state?.newestMs == null ? null : isoTime(state.newestMs),
      };
    },

    put: (chain, blocks) =>
      write(chain, (change) => {
        for (const block of blocks) change.putBlock(block);
        return { stored: change.stored, duplicates: change.duplicates, ...change.resolved() };
      }),

    putLive: (chain, block) =>
      write(chain, (change) => {
        change.putBlock(block);
        writable(chain).meta.putSync('live', block.height);
        return { stored: change.stored, duplicates: change.duplicates, ...change.resolved() };
      }),

    newestLive(chain) {
      const height = storeOf(chain)?.meta.get('live');
      return typeof height === 'number' ? blockAt(chain, height) : null;
    },

    revert: (chain, height) => write(chain, (change) => change.revert(height)),

    setNetwork(chain, network) {
      const { meta } = writable(chain);
      const known = meta.get('network');
      if (known === undefined) meta.putSync('network', network);
      else if (known !== network)
        throw contradiction(
          `The file is of the network '${network}', but the store of ${chain} is of '${String(known)}': ` +
            'networks cannot be mixed.',
        );
    },

    async flushed() {
      for (const store of open.values()) await store.root.flushed;
    },

    async close() {
      for (const store of open.values()) await store.root.close();
      open.clear();
    },
  };
}
