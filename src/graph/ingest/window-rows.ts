/**
 * Reads the rows of a plain CSV of transfers, byte by byte, into the columns of runs. Unusual rows (quotes, odd numbers, an address that does
 * not parse) go one by one to the reader of small files, which accepts them or explains what is wrong.
 */

import { parse as parseCsv } from 'csv-parse/sync';
import { AssayError, messageOf } from '../../base/errors.ts';
import { maxKeyBytes, writeAddressKey, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import { assetInFile, loadTokenList } from '../../chains/tokens.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { checkTransfer } from '../check-transfer.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type { LoadPlace } from '../store/bulk-load.ts';
import { packTransaction, positionCode, VALUE_CODE } from '../store/fingerprint.ts';
import {
  initiationCode,
  packInitiation,
  SENDER_IS_FROM,
  SENDER_IS_OTHER,
  SENDER_IS_TO,
  UNKNOWN_INITIATION,
} from '../store/initiation.ts';
import { BulkTransfer, type RunFiller } from '../store/run-columns.ts';
import { centsOf, digits, HEX, isText, readAmount } from './cells.ts';
import type { TransferRowReader } from './ethereum-etl.ts';
import { ndjsonReader } from './ndjson.ts';
import type { ReplacedValue, RowValues, ValuedAmount } from './row-values.ts';
import type { RowFields } from './rows.ts';
import { AddressTexts, faultOf, latestTimeMs, REJECT_TEXT_CHARS, timeOf } from './transfer-fields.ts';
import { COLUMNS, EVM_KEY_BYTES, KERNEL_ROWS, TransferRows } from './transfer-rows.ts';

export const LINE_FEED = 10;
const RETURN = 13;
const QUOTE = 34;
const COMMA = 44;
const ZERO = 48;
const COLON = 58;

/** 0x and 64 or 40 digits. */
const EVM_HASH_CHARS = 66;
const EVM_ADDRESS_CHARS = 42;

export const WINDOW_BYTES = 4 * 1024 * 1024;
export const FIELDS_MAX = 64;

/** In other columns, `chain` and `decimals`, a value sends the row to the slow reader. */
type Column = (typeof COLUMNS)[number];

/** Optional columns that are read byte by byte, too. */
const OPTIONAL_COLUMNS = ['sender', 'called', 'decodes'] as const;
type OptionalColumn = (typeof OPTIONAL_COLUMNS)[number];

interface WindowRowsOptions {
  readonly chain: ChainId;
  readonly values: RowValues;
  readonly run: RunFiller;
  readonly reject: (line: number, reason: string, text: string) => void;
  readonly onReplaced: (value: ReplacedValue) => void;
  /** Takes the full run. */
  readonly onFull: (place: LoadPlace) => void;
}

interface LearnedAsset {
  readonly asset: string;
  /** As for `RunFiller.assetNumber`. */
  readonly decimals: number | null;
  /** In the run that is being filled. 0 if it is not in the run yet. */
  number: number;
}

/** Texts of assets that are remembered: about 150 bytes each. */
const LEARNED_ASSETS_MAX = 50_000;

/** Reads the rows of windows into the runs of a load. */
export class WindowRows {
  readonly #options: WindowRowsOptions;
  readonly #readRow: TransferRowReader;
  readonly #names: readonly string[];
  /** -1 for a column that the file does not have. */
  readonly #places: Readonly<Record<Column | OptionalColumn, number>>;
  /** Columns that send a row to the slow reader if they are not empty. */
  readonly #others: readonly number[];
  readonly #starts = new Int32Array(FIELDS_MAX + 1);
  readonly #ends = new Int32Array(FIELDS_MAX + 1);
  /** Length of the cells of a column that are nearly always hexadecimal. 0 for other columns. */
  readonly #hexLengths = new Int32Array(FIELDS_MAX + 1);
  readonly #transfer = new BulkTransfer();
  readonly #key = new Uint8Array(maxKeyBytes);
  readonly #otherKey = new Uint8Array(maxKeyBytes);
  readonly #assets: AddressTexts;
  readonly #chain: { readonly symbol: string; readonly decimals: number };
  readonly #isEvm: boolean;
  readonly #tokens = loadTokenList();
  #timeText = '';
  #time = 0;
  // The asset of the last limit lookup.
  #limited = '';
  #limit = Number.POSITIVE_INFINITY;
  /** Rows of the file with a replaced value. */
  #replaced = 0;
  /** Reads plain rows. Null if the chain or the processor has no kernel for them. */
  readonly #plain: TransferRows | null;
  /** Assets by the text of their cell, as the reader of plain rows numbers them. */
  readonly #learned = new Map<string, number>();
  readonly #learnedAssets: LearnedAsset[] = [];
  /** Memory for a window of the file. */
  readonly window: Buffer;

  constructor(options: WindowRowsOptions, names: readonly string[], secret: Uint8Array) {
    this.#options = options;
    this.#names = names;
    // For unusual rows.
    this.#readRow = ndjsonReader({ chain: options.chain, worthOfZero: options.values.worth });
    this.#places = Object.fromEntries(
      [...COLUMNS, ...OPTIONAL_COLUMNS].map((column) => [column, names.indexOf(column)]),
    ) as Record<Column | OptionalColumn, number>;
    const slow = ['chain', 'decimals'];
    this.#others = names.flatMap((name, index) => (slow.includes(name) ? [index] : []));
    this.#assets = new AddressTexts(options.chain);
    this.#chain = chainOf(options.chain);
    this.#isEvm = isEvm(options.chain);
    if (this.#isEvm) {
      this.#hexLengths[this.#places.txHash] = EVM_HASH_CHARS;
      this.#hexLengths[this.#places.from] = EVM_ADDRESS_CHARS;
      this.#hexLengths[this.#places.to] = EVM_ADDRESS_CHARS;
    }
    const optional = OPTIONAL_COLUMNS.map((column) => this.#places[column]).filter((place) => place >= 0);
    const layout = { chain: options.chain, names, empties: [...this.#others, ...optional] };
    this.#plain = TransferRows.of(layout, secret, WINDOW_BYTES);
    this.window = this.#plain?.window ?? Buffer.allocUnsafe(WINDOW_BYTES);
  }

  /** Reads the rows of `window[0, end)`. Returns the place after them. */
  take(end: number, place: LoadPlace): LoadPlace {
    const { window } = this;
    const { run } = this.#options;
    let { line, rows, rejected } = place;
    this.#replaced = place.replaced ?? 0;
    const timeMaxMs = latestTimeMs();
    let at = 0;
    while (at < end) {
      const room = Math.min(run.room, KERNEL_ROWS);
      const plain = this.#plain?.read(at, end, { rowsMax: room, seed: run.seed, timeMaxMs }) ?? 0;
      if (plain > 0) {
        rejected += this.#addPlain(at, plain, line);
        at = (this.#plain as TransferRows).rowEnds[plain - 1] as number;
        rows += plain;
        line += plain;
      }
      if (plain < room && at < end) {
        run.beginRow();
        let rowEnd = this.#split(window, at);
        if (rowEnd > at && this.#read(window, line)) {
          rows++;
          run.add(this.#transfer);
          this.#learn();
        } else {
          rowEnd = window.indexOf(LINE_FEED, at);
          const textEnd = rowEnd > at && window[rowEnd - 1] === RETURN ? rowEnd - 1 : rowEnd;
          if (textEnd > at) {
            rows++;
            if (!this.#readSlowly(window.toString('utf8', at, textEnd), line)) rejected++;
          }
        }
        at = rowEnd + 1;
        line++;
      }
      if (!run.isFull) continue;
      this.#options.onFull({ offset: place.offset + at, line, rows, rejected, replaced: this.#replaced });
      // Assets have other numbers in the next run.
      for (const learned of this.#learnedAssets) learned.number = 0;
    }
    return { offset: place.offset + end, line, rows, rejected, replaced: this.#replaced };
  }

  /** Adds the rows that were read as plain ones, from an offset of the window on. Returns how many of them were rejected. */
  #addPlain(start: number, count: number, line: number): number {
    const { run } = this.#options;
    const plain = this.#plain as TransferRows;
    let rejected = 0;
    let from = 0;
    for (let row = 0; row < count; row++) {
      if (this.#checkPlain(plain, row, line + row)) continue;
      run.addAll(plain, from, row, EVM_KEY_BYTES);
      from = row + 1;
      const at = row === 0 ? start : (plain.rowEnds[row - 1] as number);
      const text = this.window.toString('utf8', at, (plain.rowEnds[row] as number) - 1).replace(/\r$/, '');
      run.beginRow();
      if (!this.#readSlowly(text, line + row)) rejected++;
    }
    run.addAll(plain, from, count, EVM_KEY_BYTES);
    return rejected;
  }

  /** Sets the asset and the value of a plain row as the run stores them. Returns false if the row is unusual. */
  #checkPlain(plain: TransferRows, row: number, line: number): boolean {
    const asset = this.#learnedAssets[plain.assets[row] as number] as LearnedAsset;
    if (asset.number === 0) asset.number = this.#options.run.assetNumber(asset.asset, asset.decimals);
    plain.assets[row] = asset.number;
    const cents = plain.cents[row] as number;
    const { amounts } = plain;
    const transfer = this.#transfer;
    transfer.amountLow = amounts[row * 3] as number;
    transfer.amountMiddle = amounts[row * 3 + 1] as number;
    transfer.amountHigh = amounts[row * 3 + 2] as number;
    transfer.timestampMs = plain.times[row] as number;
    transfer.cents = cents;
    if (!this.#checkAmount(asset.asset, line)) return false;
    plain.cents[row] = transfer.cents;
    return true;
  }

  /** Teaches the reader of plain rows the asset and the time of the row that was read last. */
  #learn(): void {
    const plain = this.#plain;
    if (plain === null) return;
    const starts = this.#starts;
    const ends = this.#ends;
    const { asset: assetAt, timestamp: timeAt } = this.#places;
    plain.learnTime(starts[timeAt] as number, ends[timeAt] as number, this.#transfer.timestampMs);
    const start = starts[assetAt] as number;
    const end = ends[assetAt] as number;
    const text = this.window.toString('latin1', start, end);
    let number = this.#learned.get(text);
    if (number === undefined) {
      if (this.#learned.size === LEARNED_ASSETS_MAX) return;
      const asset = this.#readAsset(this.window, start, end) as string;
      const decimals = this.#decimalsOf(asset);
      number = this.#learnedAssets.push({ asset, decimals, number: 0 }) - 1;
      this.#learned.set(text, number);
    }
    plain.learnAsset(start, end, number);
  }

  /** Reads the cells of the last `#split`. Returns false for an unusual row. */
  #read(bytes: Buffer, line: number): boolean {
    const starts = this.#starts;
    const ends = this.#ends;
    for (const other of this.#others) if (starts[other] !== ends[other]) return false;
    const { txHash, position, blockNumber, timestamp, from, to, amount, valueUsd } = this.#places;
    const transfer = this.#transfer;
    if (!this.#readTransaction(bytes, starts[txHash] as number, ends[txHash] as number)) return false;
    if (!this.#readPosition(bytes, starts[position] as number, ends[position] as number)) return false;
    const block = digits(bytes, starts[blockNumber] as number, ends[blockNumber] as number);
    if (block < 0) return false;
    transfer.blockNumber = block;
    if (!this.#readTime(bytes, starts[timestamp] as number, ends[timestamp] as number)) return false;
    const sender = this.#address(bytes, starts[from] as number, ends[from] as number);
    const receiver = this.#address(bytes, starts[to] as number, ends[to] as number);
    if (sender < 0 || receiver < 0 || (sender === 0 && receiver === 0)) return false;
    transfer.from = sender;
    transfer.to = receiver;
    if (!readAmount(bytes, starts[amount] as number, ends[amount] as number, transfer)) return false;
    transfer.cents = -1;
    if (starts[valueUsd] !== ends[valueUsd]) {
      const cents = centsOf(bytes, starts[valueUsd] as number, ends[valueUsd] as number);
      if (cents < 0) return false;
      transfer.cents = cents;
    }
    if (!this.#readInitiation(bytes)) return false;
    const { asset: assetAt } = this.#places;
    const asset = this.#readAsset(bytes, starts[assetAt] as number, ends[assetAt] as number);
    return asset !== null && this.#checkAmount(asset, line);
  }

  /**
   * Returns false if the amount exceeds the maximum. A value of 0 for an amount, and a value that contradicts the price tables, are replaced
   * by the value from the tables.
   */
  #checkAmount(asset: string, line: number): boolean {
    const transfer = this.#transfer;
    const { amountLow, amountMiddle, amountHigh, timestampMs, cents } = transfer;
    const about = amountLow + amountMiddle * 2 ** 32 + amountHigh * 2 ** 64;
    if (about >= this.#amountMax(asset)) return false;
    const row = { asset, timestampMs, decimals: null };
    const isUnknown = cents === 0 && about > 0;
    if (cents < 0 || (!isUnknown && !this.#options.values.contradicts(row, about, cents / 100))) return true;
    const amount = BigInt(amountLow) + (BigInt(amountMiddle) << 32n) + (BigInt(amountHigh) << 64n);
    if (isUnknown) {
      const usd = this.#options.values.worth({ asset, amount, timestampMs });
      transfer.cents = usd === null ? -1 : Math.round(usd * 100);
      return true;
    }
    const stored = this.#replacement({ ...row, amount, valueUsd: cents / 100 }, line);
    if (stored !== null) transfer.cents = Math.round(stored * 100);
    return true;
  }

  /** Returns the value to be stored instead of the given one, and reports it. Null if the given value is believed. */
  #replacement(valued: ValuedAmount, line: number): number | null {
    const stored = this.#options.values.replacement(valued);
    if (stored === null || valued.valueUsd === null) return null;
    this.#replaced++;
    this.#options.onReplaced({ line, asset: valued.asset, given: valued.valueUsd, stored });
    return stored;
  }

  /** The maximum amount as a double. Infinity if the asset is unknown. */
  #amountMax(asset: string): number {
    if (asset !== this.#limited) {
      this.#limited = asset;
      this.#limit = Number(this.#options.values.amountMax(asset) ?? Number.POSITIVE_INFINITY);
    }
    return this.#limit;
  }

  /** Returns false for an unusual cell. An absent column counts as an empty cell. */
  #readInitiation(bytes: Buffer): boolean {
    const transfer = this.#transfer;
    transfer.initiation = UNKNOWN_INITIATION;
    const { sender: senderAt, called: calledAt, decodes: decodesAt } = this.#places;
    if (senderAt < 0 && calledAt < 0 && decodesAt < 0) return true;
    const sender = this.#cell('sender');
    const called = this.#cell('called');
    const decodes = this.#cell('decodes');
    // The slow reader explains a row in which only the sender is missing.
    if (sender === null) return called === null && decodes === null;
    const isFrom = this.#isSame(bytes, sender, this.#cell('from'));
    const isTo = isFrom === false && this.#isSame(bytes, sender, this.#cell('to'));
    if (isFrom === null || isTo === null) return false;
    const code = isFrom ? SENDER_IS_FROM : isTo ? SENDER_IS_TO : SENDER_IS_OTHER;
    const asset = this.#cell('asset');
    const isNative = asset !== null && isText(bytes, asset.start, asset.end, this.#chain.symbol);
    let isDecoded: boolean | null = null;
    if (decodes !== null) {
      if (isText(bytes, decodes.start, decodes.end, 'true')) isDecoded = true;
      else if (isText(bytes, decodes.start, decodes.end, 'false')) isDecoded = false;
      else return false;
    }
    if (called === null || isNative) {
      // An address that does not parse is a fault of the row, whatever the asset.
      if (called !== null && this.#isSame(bytes, called, called) === null) return false;
      transfer.initiation = packInitiation(code, null, null);
      return true;
    }
    const callsAsset = this.#isEvm ? this.#isSame(bytes, called, asset) : null;
    // On other chains the name of an asset need not be an address: the slow reader compares the canonical texts.
    if (callsAsset === null) return false;
    transfer.initiation = packInitiation(code, callsAsset, callsAsset ? isDecoded : false);
    return true;
  }

  /** The bytes of a cell of the current row. Null if the cell is empty or the file has no such column. */
  #cell(column: Column | OptionalColumn): { readonly start: number; readonly end: number } | null {
    const place = this.#places[column];
    if (place < 0) return null;
    const start = this.#starts[place] as number;
    const end = this.#ends[place] as number;
    return start === end ? null : { start, end };
  }

  /** Returns true if two cells contain the same address. Null if the first does not parse. */
  #isSame(
    bytes: Buffer,
    one: { readonly start: number; readonly end: number },
    other: { readonly start: number; readonly end: number } | null,
  ): boolean | null {
    const { chain } = this.#options;
    const length = writeAddressKey(chain, bytes, one.start, one.end, this.#key, 0);
    if (length < 0) return null;
    if (other === null) return false;
    const otherLength = writeAddressKey(chain, bytes, other.start, other.end, this.#otherKey, 0);
    return (
      length === otherLength &&
      Buffer.compare(this.#key.subarray(0, length), this.#otherKey.subarray(0, length)) === 0
    );
  }

  /**
   * Finds the cells of the row at `start`, which ends with a line feed. In a hexadecimal cell, only the end is looked at: its reader rejects
   * a cell with a comma, a quote or a line feed.
   *
   * @returns the position of the line feed, or -1 for an unusual row
   */
  #split(bytes: Buffer, start: number): number {
    const starts = this.#starts;
    const ends = this.#ends;
    const hexLengths = this.#hexLengths;
    const last = this.#names.length - 1;
    let at = start;
    for (let field = 0; ; field++) {
      starts[field] = at;
      const length = hexLengths[field] as number;
      let byte = bytes[at + length] as number;
      if (length > 0 && byte === COMMA) at += length;
      else
        for (byte = bytes[at] as number; byte !== COMMA && byte !== LINE_FEED; byte = bytes[++at] as number)
          if (byte === QUOTE) return -1;
      ends[field] = at;
      if (field === last) {
        if (byte !== LINE_FEED) return -1;
        if (at > start && bytes[at - 1] === RETURN) ends[field] = Math.max(starts[field] as number, at - 1);
        return at;
      }
      if (byte === LINE_FEED) return -1;
      at++;
    }
  }

  #readTransaction(bytes: Buffer, start: number, end: number): boolean {
    const { transaction } = this.#transfer;
    if (this.#isEvm) {
      if (end - start !== EVM_HASH_CHARS || bytes[start] !== ZERO || (bytes[start + 1] as number) !== 120)
        return false;
      transaction[0] = 0;
      this.#transfer.transactionLength = 33;
      let seen = 0;
      for (let from = start + 2, to = 1; from < end; from += 2, to++) {
        const high = HEX[bytes[from] as number] as number;
        const low = HEX[bytes[from + 1] as number] as number;
        seen |= high | low;
        transaction[to] = (high << 4) | (low & 15);
      }
      return seen < 16;
    }
    const packed = packTransaction(bytes.toString('utf8', start, end));
    if (packed.length < 2 || packed.length > 1 + GRAPH_LIMITS.txHashTextMax) return false;
    packed.copy(transaction);
    this.#transfer.transactionLength = packed.length;
    return true;
  }

  #readPosition(bytes: Buffer, start: number, end: number): boolean {
    const transfer = this.#transfer;
    // `log:12`, by far the most frequent form besides `value`.
    if (bytes[start] === 108 && bytes[start + 3] === COLON && end - start < 13 && end - start > 4) {
      const number = digits(bytes, start + 4, end);
      const isPlain = number === 0 ? end - start === 5 : bytes[start + 4] !== ZERO;
      if (number >= 0 && isPlain && bytes[start + 1] === 111 && bytes[start + 2] === 103) {
        transfer.position = number * 8 + 9;
        return true;
      }
    }
    if (isText(bytes, start, end, 'value')) {
      transfer.position = VALUE_CODE;
      return true;
    }
    if (end === start || end - start > CHAIN_LIMITS.transferPositionTextMax) return false;
    const text = bytes.toString('utf8', start, end);
    transfer.position = positionCode(text) ?? -1;
    transfer.positionText = text;
    return true;
  }

  #readTime(bytes: Buffer, start: number, end: number): boolean {
    // Blocks repeat their time.
    if (!isText(bytes, start, end, this.#timeText)) {
      const text = bytes.toString('latin1', start, end);
      let ms: number | null;
      try {
        ms = timeOf({ timestamp: text }, 'timestamp', 'milliseconds');
      } catch {
        // The slow reader finds the same fault, and reports it.
        return false;
      }
      if (ms === null) return false;
      this.#timeText = text;
      this.#time = ms;
    }
    this.#transfer.timestampMs = this.#time;
    return true;
  }

  /** Number of an address in the row: 0 for an empty cell, -1 if it does not parse. */
  #address(bytes: Buffer, start: number, end: number): number {
    if (start === end) return 0;
    const length = writeAddressKey(this.#options.chain, bytes, start, end, this.#key, 0);
    return length < 0 ? -1 : this.#options.run.addAddress(this.#key, 0, length);
  }

  /** The canonical text of the asset. Null for an unusual cell. */
  #readAsset(bytes: Buffer, start: number, end: number): string | null {
    const { chain, run } = this.#options;
    if (isText(bytes, start, end, this.#chain.symbol)) {
      this.#transfer.asset = run.assetNumber(this.#chain.symbol, this.#chain.decimals);
      return this.#chain.symbol;
    }
    if (start === end) return null;
    const text = bytes.toString('utf8', start, end);
    let asset = this.#isEvm ? text : assetInFile(chain, text);
    if (this.#isEvm)
      try {
        asset = this.#assets.required({ asset: text }, 'asset');
      } catch {
        // The slow reader finds the same fault, and reports it.
        return null;
      }
    this.#transfer.asset = run.assetNumber(asset, this.#decimalsOf(asset));
    return asset;
  }

  /** Returns the decimals of the chain's own asset or of a listed token; null for others. */
  #decimalsOf(asset: string): number | null {
    const { symbol, decimals } = this.#chain;
    return asset === symbol ? decimals : this.#tokens.decimalsOf(this.#options.chain, asset);
  }

  /** Returns false if the row is rejected. */
  #readSlowly(text: string, line: number): boolean {
    const { reject, run } = this.#options;
    const read = this.#readRow;
    let transfer: Transfer | null;
    try {
      transfer = read(this.#fieldsOf(text, line));
      if (transfer) {
        checkTransfer(transfer);
        this.#options.values.check(transfer);
      }
    } catch (error) {
      reject(line, faultOf(error), text.slice(0, REJECT_TEXT_CHARS));
      return false;
    }
    if (!transfer) return true;
    const stored = this.#replacement(transfer, line);
    this.#take(stored === null ? transfer : { ...transfer, valueUsd: stored });
    run.add(this.#transfer);
    return true;
  }

  #fieldsOf(text: string, line: number): RowFields {
    const cells = text.includes('"') ? quotedCells(text) : text.split(',');
    const expected = this.#names.length;
    if (cells.length !== expected)
      throw new AssayError(
        'INVALID_REQUEST',
        `Invalid Record Length: columns length is ${expected}, got ${cells.length} on line ${line}`,
      );
    return Object.fromEntries(cells.map((cell, index) => [this.#names[index], cell]));
  }

  /** Fills the reused transfer from a record. */
  #take(record: Transfer): void {
    const transfer = this.#transfer;
    const { run } = this.#options;
    const packed = packTransaction(record.txHash);
    packed.copy(transfer.transaction);
    transfer.transactionLength = packed.length;
    transfer.position = positionCode(record.position) ?? -1;
    transfer.positionText = record.position;
    transfer.blockNumber = record.blockNumber;
    transfer.timestampMs = record.timestampMs;
    transfer.from = this.#numberOf(record.from);
    transfer.to = this.#numberOf(record.to);
    transfer.asset = run.assetNumber(record.asset, record.decimals);
    transfer.setAmount(record.amount);
    transfer.cents = record.valueUsd === null ? -1 : Math.round(record.valueUsd * 100);
    transfer.initiation = initiationCode(record);
  }

  #numberOf(address: string | null): number {
    if (address === null) return 0;
    const length = writeAddressKeyFromText(this.#options.chain, address, this.#key, 0);
    return this.#options.run.addAddress(this.#key, 0, length);
  }
}

/** Splits a row with quotes into cells. A quoted cell must end on its line. */
function quotedCells(text: string): string[] {
  try {
    const rows: string[][] = parseCsv(text, { relax_column_count: true });
    return rows[0] ?? [];
  } catch (error) {
    throw new AssayError('INVALID_REQUEST', `The row is not CSV: ${messageOf(error)}`, { cause: error });
  }
}
