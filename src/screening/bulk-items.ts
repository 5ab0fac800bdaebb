/**
 * Label sets of many addresses as bytes: the kernel that the bulk endpoint and the bulk file share. Addresses are byte ranges of
 * one buffer. Keys, look-ups and rendering are done a batch at a time, so that the waits for memory overlap.
 */

import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { maxKeyBytes, parseAddress, writeAddressKey } from '../chains/address/parse.ts';
import { CHAINS, type ChainId, isEvm } from '../chains/registry.ts';
import { type LabelHandle, type LabelReader, NOT_LABELLED } from '../labels/index/reader.ts';
import { sanctionsDetail } from './sanctions-detail.ts';
import { shownAddress } from './subject.ts';

/** What the answers of one batch rest on. */
export interface BulkContext {
  readonly reader: LabelReader;
  /** `dataAsOf` of every `sanctionsDetail`. */
  readonly dataAsOf: string | null;
}

/** One address of a batch: its text is `bytes[start, end)` of the batch's buffer. Reused from batch to batch. */
export interface BulkItem {
  start: number;
  end: number;
  /** The chain, or the sentence that says why there is none. */
  chain: ChainId | AssayError;
}

/** Addresses whose look-ups overlap: enough to hide the memory's latency, few enough to stay in the first-level cache. */
export const BATCH_ITEMS = 128;

/** An answer grows by doubling from here. */
const OUT_BYTES_START = 256 * 1024;
/** Room for the parts of an item beside its labels: head, address and verdict. */
const ITEM_FRAME_BYTES = 1_024;

/** A fragment as words of four bytes, little-endian, for copying a word at a time. */
interface Words {
  readonly words: Int32Array;
  readonly length: number;
}

function wordsOf(text: string): Words {
  const bytes = Buffer.from(text, 'utf8');
  const padded = Buffer.alloc((bytes.length + 3) & ~3);
  bytes.copy(padded);
  const words = Int32Array.from({ length: padded.length / 4 }, (_, index) => padded.readInt32LE(index * 4));
  return { words, length: bytes.length };
}

const OPEN = wordsOf('{"address":"');
const LABELS: ReadonlyMap<ChainId, Words> = new Map(
  CHAINS.map(({ id }) => [id, wordsOf(`","chain":"${id}","labels":`)]),
);
const KNOWN_CLEAN = wordsOf(',"sanctioned":false,"sanctionsDetail":null,"assessed":true}');
const UNKNOWN_CLEAN = wordsOf('[],"sanctioned":false,"sanctionsDetail":null,"assessed":false}');
/** Name of the last field of every item. */
const ASSESSED = '"assessed":';
/** Characters of an EVM address: ten words, and two bytes. */
const EVM_TEXT_LENGTH = 42;
const EVM_CHAINS: ReadonlySet<ChainId> = new Set(CHAINS.filter(({ id }) => isEvm(id)).map(({ id }) => id));

/**
 * Chains by the first characters of the texts that are canonical as they stand once their key was read: base58check and
 * lower-case bech32 write each key in one way only. All others (forms that have several texts) are parsed again to be shown.
 */
const CANONICAL_AS_GIVEN: Readonly<Partial<Record<ChainId, string>>> = {
  BTC: '13b',
  LTC: 'Ll',
  DOGE: 'DA9',
  DASH: 'X7',
  TRON: 'T',
};
const AS_GIVEN: ReadonlyMap<ChainId, Uint8Array> = new Map(
  CHAINS.map(({ id }) => [id, Buffer.from(CANONICAL_AS_GIVEN[id] ?? '')]),
);

/** Copies a fragment; up to three bytes behind it are written too, and overwritten by what follows. */
function put({ words, length }: Words, out: DataView, offset: number): number {
  for (let index = 0; index < words.length; index++)
    out.setInt32(offset + index * 4, words[index] as number, true);
  return offset + length;
}

const viewOf = (buffer: Buffer): DataView => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

/** Renders batches of items into one buffer that is used again and again. */
export class BulkItems {
  /** Rendered bytes are `out[0, length)`; replaced by a larger one as needed. */
  out: Buffer = Buffer.allocUnsafeSlow(OUT_BYTES_START);
  length = 0;
  /** Items rendered since `clear` that carry an answer, and that carry an error. */
  answered = 0;
  failed = 0;
  /**
   * Returns the fields that take the place of `assessed` in an item whose address was understood, by chain and text; null: items have
   * their label sets alone.
   */
  fieldsOf: ((chain: ChainId, address: string) => object) | null = null;
  /** Called in the middle of every error item, behind its sentence: the bulk file notes where its line number belongs. */
  onError: ((index: number) => void) | null = null;

  #outView = viewOf(this.out);
  #source: Buffer = this.out;
  #sourceView = this.#outView;
  readonly #keys = new Uint8Array((BATCH_ITEMS + 1) * maxKeyBytes);
  readonly #keyStarts = new Int32Array(BATCH_ITEMS + 1);
  /** Length of a key, or a negative number where there is none. */
  readonly #keyLengths = new Int32Array(BATCH_ITEMS);
  readonly #handles = new Float64Array(BATCH_ITEMS);

  clear(): void {
    this.length = 0;
    this.answered = 0;
    this.failed = 0;
  }

  /** Appends the bytes of a text. */
  append(text: string | Uint8Array): void {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    this.#reserve(bytes.length);
    this.out.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Appends items `[from, to)` of at most BATCH_ITEMS, each followed by `separator` (all but the last one: `last`). */
  write(
    context: BulkContext,
    bytes: Buffer,
    items: readonly BulkItem[],
    from: number,
    to: number,
    separator: number,
    last: number | null,
  ): void {
    if (bytes !== this.#source) {
      this.#source = bytes;
      this.#sourceView = viewOf(bytes);
    }
    this.#readKeys(bytes, items, from, to);
    const { reader } = context;
    for (let index = 0; index < to - from; index++) {
      const length = this.#keyLengths[index] as number;
      this.#handles[index] =
        length < 0 ? NOT_LABELLED : reader.find(this.#keys, this.#keyStarts[index] as number, length);
    }
    for (let index = from; index < to; index++) {
      const item = items[index] as BulkItem;
      if ((this.#keyLengths[index - from] as number) < 0) this.#writeError(bytes, item, index);
      else {
        this.#writeItem(context, bytes, item, this.#handles[index - from] as LabelHandle);
        if (this.fieldsOf !== null) this.#replaceEnd(this.fieldsOf, bytes, item);
      }
      const end = index === to - 1 ? last : separator;
      if (end !== null) this.out[this.length++] = end;
    }
  }

  #readKeys(bytes: Buffer, items: readonly BulkItem[], from: number, to: number): void {
    let at = 0;
    for (let index = from; index < to; index++) {
      const { start, end, chain } = items[index] as BulkItem;
      const place = index - from;
      this.#keyStarts[place] = at;
      const readable = typeof chain === 'string' && end > start && end - start <= LIMITS.addressTextMax;
      const length = readable ? writeAddressKey(chain, bytes, start, end, this.#keys, at) : -1;
      this.#keyLengths[place] = length;
      if (length > 0) at += length;
    }
  }

  #writeItem(context: BulkContext, bytes: Buffer, item: BulkItem, handle: LabelHandle): void {
    this.#reserve(ITEM_FRAME_BYTES + LIMITS.addressTextMax);
    const chain = item.chain as ChainId;
    let at = put(OPEN, this.#outView, this.length);
    if (EVM_CHAINS.has(chain)) at = this.#putEvm(item.start, at);
    else if (AS_GIVEN.get(chain)?.includes(bytes[item.start] as number)) {
      for (let from = item.start; from < item.end; from++) this.out[at++] = bytes[from] as number;
    } else {
      at += this.out.write(
        shownAddress(parseAddress(chain, bytes.toString('latin1', item.start, item.end))),
        at,
        'latin1',
      );
    }
    at = put(LABELS.get(chain) as Words, this.#outView, at);
    this.length = at;
    this.answered++;
    if (handle === NOT_LABELLED) {
      this.length = put(UNKNOWN_CLEAN, this.#outView, at);
      return;
    }
    const { reader } = context;
    let end = reader.writeLabelsJson(handle, chain, this.out, at);
    while (end < 0) {
      this.#reserve(this.out.length);
      end = reader.writeLabelsJson(handle, chain, this.out, at);
    }
    this.length = end;
    this.#reserve(ITEM_FRAME_BYTES);
    // An address can be labelled on other chains of its family alone: then the array is empty.
    if (end - at <= 2) {
      this.length = put(UNKNOWN_CLEAN, this.#outView, at);
      return;
    }
    if (!reader.isSanctioned(handle, chain)) {
      this.length = put(KNOWN_CLEAN, this.#outView, end);
      return;
    }
    const detail = sanctionsDetail(reader.labels(handle, chain), context.dataAsOf);
    this.append(`,"sanctioned":true,"sanctionsDetail":${JSON.stringify(detail)},"assessed":true}`);
    this.#reserve(1);
  }

  /** Writes more fields over the last one of the item that was written just now. */
  #replaceEnd(fieldsOf: NonNullable<BulkItems['fieldsOf']>, bytes: Buffer, item: BulkItem): void {
    const fields = fieldsOf(item.chain as ChainId, bytes.toString('latin1', item.start, item.end));
    this.length = this.out.lastIndexOf(ASSESSED, this.length - 1, 'latin1');
    this.append(`${JSON.stringify(fields).slice(1, -1)}}`);
    this.#reserve(1);
  }

  /** Digits, the x and letters of a valid address: setting one bit lowers the letters and leaves the rest. */
  #putEvm(start: number, at: number): number {
    const from = this.#sourceView;
    const to = this.#outView;
    for (let index = 0; index < EVM_TEXT_LENGTH - 2; index += 4)
      to.setInt32(at + index, from.getInt32(start + index, true) | 0x20202020, true);
    const tail = EVM_TEXT_LENGTH - 2;
    to.setInt16(at + tail, from.getInt16(start + tail, true) | 0x2020, true);
    return at + EVM_TEXT_LENGTH;
  }

  #writeError(bytes: Buffer, item: BulkItem, index: number): void {
    const text = bytes.toString('utf8', item.start, item.end);
    this.append(
      `{"address":${JSON.stringify(shortened(text))},"error":${JSON.stringify(reasonOf(item, text))}`,
    );
    this.onError?.(index);
    this.append('}');
    this.#reserve(1);
    this.failed++;
  }

  /** Makes room for `bytes` more, and one separator. */
  #reserve(bytes: number): void {
    if (this.length + bytes < this.out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.out.length * 2, this.length + bytes + 1));
    this.out.copy(larger, 0, 0, this.length);
    this.out = larger;
    this.#outView = viewOf(larger);
  }
}

/** As sent, but no longer than an address can be. */
const shortened = (text: string): string =>
  text.length > LIMITS.addressTextMax ? `${text.slice(0, LIMITS.addressTextMax)}…` : text;

/** Why an item has no key, in the words of the codec. */
function reasonOf({ chain }: BulkItem, text: string): string {
  if (typeof chain !== 'string') return chain.message;
  if (text === '') return 'address: it is empty.';
  if (text.length > LIMITS.addressTextMax)
    return `address: it has more than ${LIMITS.addressTextMax} characters, and no address is longer.`;
  try {
    parseAddress(chain, text);
  } catch (error) {
    if (error instanceof AssayError) return error.message;
    throw error;
  }
  throw new Error(`The codec of ${chain} refuses bytes whose text it accepts.`);
}
