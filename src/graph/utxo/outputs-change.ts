/** The changes of one write to the store of outputs: read once, changed in memory, and written at the end of its transaction. */
import { AssayError } from '../../base/errors.ts';
import {
  formatAddressKey,
  maxKeyBytes,
  parseAddress,
  writeAddressKeyFromText,
} from '../../chains/address/parse.ts';
import type { UtxoBlock, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import { encodeTransaction, type OutputDraft, type TransactionDraft } from './output-records.ts';
import {
  addressOutputKey,
  type ChainOutputs,
  findNumber,
  isTxid,
  NOTHING,
  PREFIX_HEX,
  readAddress,
  readState,
  readTransaction,
  type State,
  U32_MAX,
} from './output-tables.ts';
import type { TxNumber } from './spend-graph.ts';

const keyScratch = new Uint8Array(maxKeyBytes);

/** Returns the error of a file that contradicts itself or the store. */
export const contradiction = (what: string): AssayError => new AssayError('INVALID_FILE', what);

/** Throws INVALID_FILE if the known inputs of a transaction are worth less than what it pays: one of the two was read wrongly. */
function checkBalance({ txid, isCoinbase, inputs, outputs, shielded }: UtxoTransaction): void {
  if (isCoinbase) return;
  let left = (shielded?.in ?? 0n) - (shielded?.out ?? 0n);
  for (const { value } of inputs) left += value ?? 0n;
  for (const { value } of outputs) left -= value;
  if (left < 0n) throw contradiction(`Transaction ${txid} pays ${-left} satoshi more than it takes.`);
}

/** The changes of one `put` or `revert` call: read once, changed in memory, and written at the end of its LMDB transaction. */
export class OutputsChange {
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
