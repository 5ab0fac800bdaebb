/**
 * Label sets of many addresses as bytes: the kernel that the bulk endpoint and the bulk file share. Addresses are byte ranges of
 * one buffer. Keys, look-ups and rendering are processed one batch at a time, so that memory waits overlap.
 */

import { AssayError } from '../base/errors.ts';
import { BATCH_TEXTS, KeyBatch } from '../chains/address/key-batch.ts';
import { isCanonicalAsGiven, parseAddress, shownAddress } from '../chains/address/parse.ts';
import { CHAIN_LIMITS } from '../chains/limits.ts';
import { CHAINS, type ChainId, isEvm } from '../chains/registry.ts';
import { type LabelHandle, type LabelReader, NOT_LABELLED } from '../labels/index/reader.ts';
import { sanctionsDetail } from './sanctions-detail.ts';

/** The data that the answers of one batch are based on. */
export interface BulkContext {
  readonly reader: LabelReader;
  /** `dataAsOf` of every `sanctionsDetail`: ISO 8601 UTC. */
  readonly dataAsOf: string | null;
  /**
   * True if a sanctions list is missing or too old, and nothing beside the items says so: then each item has the reason in its
   * `reasonCodes`, because an unqualified `sanctioned: false` would report missing data as clean.
   */
  readonly isStale: boolean;
}

/** One address of a batch: its text is `bytes[start, end)` of the batch's buffer. Reused for the next batch. */
export interface BulkItem {
  start: number;
  end: number;
  /** The chain, or the error if it is missing or not valid. */
  chain: ChainId | AssayError;
}

/**
 * Number of addresses with overlapping look-ups: enough to hide the memory latency, few enough to stay in the first-level cache.
 */
export const BATCH_ITEMS = BATCH_TEXTS;

/** Initial size of the output buffer, which grows by doubling. */
const OUT_BYTES_START = 256 * 1024;
/** Space for the parts of an item beside its labels: head, address and verdict. */
const ITEM_FRAME_BYTES = 1_024;

/** A fragment as little-endian words of four bytes, so that it is copied one word at a time. */
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

/** Ends of an item. */
interface Ends {
  /** After the labels of an address that is not sanctioned. */
  readonly knownClean: Words;
  /** Instead of the labels of an address without any. */
  readonly unknownClean: Words;
  /** After `assessed` of a sanctioned address. */
  readonly close: string;
}

function endsOf(close: string): Ends {
  return {
    knownClean: wordsOf(`,"sanctioned":false,"sanctionsDetail":null,"assessed":true${close}`),
    unknownClean: wordsOf(`[],"sanctioned":false,"sanctionsDetail":null,"assessed":false${close}`),
    close,
  };
}

const FRESH_ENDS = endsOf('}');
const STALE_ENDS = endsOf(',"reasonCodes":["STALE_OR_MISSING_DATA"]}');
/** Name of the last field of every item; only `reasonCodes` may follow it. */
const ASSESSED = '"assessed":';
/** Number of characters of an EVM address: ten words, and two bytes. */
const EVM_TEXT_LENGTH = 42;

/** What the items of a chain have in common. Most batches have one chain, and those of several have runs of each. */
interface ChainItems {
  readonly chain: ChainId;
  readonly isEvm: boolean;
  /** Text between the address and the labels. */
  readonly labels: Words;
}

const CHAIN_ITEMS: ReadonlyMap<ChainId, ChainItems> = new Map(
  CHAINS.map(({ id }) => [
    id,
    {
      chain: id,
      isEvm: isEvm(id),
      labels: wordsOf(`","chain":"${id}","labels":`),
    },
  ]),
);
const itemsOf = (chain: ChainId): ChainItems => CHAIN_ITEMS.get(chain) as ChainItems;
const FIRST_CHAIN = itemsOf('ETH');
const chainOfItem = ({ chain }: BulkItem): ChainId | null => (typeof chain === 'string' ? chain : null);

/** Copies a fragment. It also writes up to three bytes behind the fragment, which the next write overwrites. */
function put({ words, length }: Words, out: DataView, offset: number): number {
  for (let index = 0; index < words.length; index++)
    out.setInt32(offset + index * 4, words[index] as number, true);
  return offset + length;
}

const viewOf = (buffer: Buffer): DataView => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

/** Renders batches of items into one buffer, which it reuses. */
export class BulkItems {
  /** Rendered bytes are `out[0, length)`; replaced by a larger one as needed. */
  out: Buffer = Buffer.allocUnsafeSlow(OUT_BYTES_START);
  length = 0;
  /** Items rendered since `clear` that have an answer. */
  answered = 0;
  /** Items rendered since `clear` that have an error. */
  failed = 0;
  /**
   * Returns the fields that replace `assessed` in an item with a valid address, by chain and text. If null, items have only their
   * label sets.
   */
  fieldsOf: ((chain: ChainId, address: string) => object) | null = null;
  /** Called in every error item, after its error text: the bulk file notes the place for the line number. */
  onError: ((index: number) => void) | null = null;

  #outView = viewOf(this.out);
  #source: Buffer = this.out;
  #sourceView = this.#outView;
  readonly #keys = new KeyBatch();
  readonly #handles = new Float64Array(BATCH_ITEMS);
  /** Of the last item. */
  #chainItems = FIRST_CHAIN;

  clear(): void {
    this.length = 0;
    this.answered = 0;
    this.failed = 0;
  }

  /** Appends text or bytes. */
  append(text: string | Uint8Array): void {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    this.#reserve(bytes.length);
    this.out.set(bytes, this.length);
    this.length += bytes.length;
  }

  /**
   * Appends items `[from, to)`, at most BATCH_ITEMS, each followed by `separator`. The last one is followed by `last`, or by
   * nothing if that is null.
   */
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
    this.#keys.read(bytes, items, from, to, chainOfItem);
    const { reader } = context;
    const { keys, starts, lengths } = this.#keys;
    reader.findMany(keys, starts, lengths, to - from, this.#handles);
    reader.readJsonAhead(this.#handles, to - from);
    for (let index = from; index < to; index++) {
      const item = items[index] as BulkItem;
      if ((lengths[index - from] as number) < 0) this.#writeError(bytes, item, index);
      else {
        this.#writeItem(context, bytes, item, this.#handles[index - from] as LabelHandle);
        if (this.fieldsOf !== null) this.#replaceEnd(this.fieldsOf, bytes, item);
      }
      const end = index === to - 1 ? last : separator;
      if (end !== null) this.out[this.length++] = end;
    }
  }

  /** Returns what the items of a chain have in common. The chain is usually that of the last item: comparing it costs less than a look-up. */
  #turnTo(chain: ChainId): ChainItems {
    if (chain !== this.#chainItems.chain) this.#chainItems = itemsOf(chain);
    return this.#chainItems;
  }

  #writeItem(context: BulkContext, bytes: Buffer, item: BulkItem, handle: LabelHandle): void {
    this.#reserve(ITEM_FRAME_BYTES + CHAIN_LIMITS.addressTextMax);
    const chain = item.chain as ChainId;
    const { isEvm, labels } = this.#turnTo(chain);
    let at = put(OPEN, this.#outView, this.length);
    if (isEvm) at = this.#putEvm(item.start, at);
    else if (isCanonicalAsGiven(chain, bytes[item.start] as number, bytes[item.start + 1] as number))
      at = this.#putText(item, at);
    else {
      at += this.out.write(
        shownAddress(parseAddress(chain, bytes.toString('latin1', item.start, item.end))),
        at,
        'latin1',
      );
    }
    at = put(labels, this.#outView, at);
    this.length = at;
    this.answered++;
    const ends = context.isStale ? STALE_ENDS : FRESH_ENDS;
    if (handle === NOT_LABELLED) {
      this.length = put(ends.unknownClean, this.#outView, at);
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
    // An address may have labels only on other chains of its family: then the array is empty.
    if (end - at <= 2) {
      this.length = put(ends.unknownClean, this.#outView, at);
      return;
    }
    if (!reader.isSanctioned(handle, chain)) {
      this.length = put(ends.knownClean, this.#outView, end);
      return;
    }
    const detail = sanctionsDetail(reader.labels(handle, chain), context.dataAsOf);
    this.append(
      `,"sanctioned":true,"sanctionsDetail":${JSON.stringify(detail)},"assessed":true${ends.close}`,
    );
    this.#reserve(1);
  }

  /** Replaces `assessed` of the item that was just written, and what follows it, with more fields. */
  #replaceEnd(fieldsOf: NonNullable<BulkItems['fieldsOf']>, bytes: Buffer, item: BulkItem): void {
    const fields = fieldsOf(item.chain as ChainId, bytes.toString('latin1', item.start, item.end));
    this.length = this.out.lastIndexOf(ASSESSED, this.length - 1, 'latin1');
    this.append(`${JSON.stringify(fields).slice(1, -1)}}`);
    this.#reserve(1);
  }

  /**
   * Writes an EVM address in lower case. Setting one bit lowers the letters of a valid address and leaves its digits and the x
   * unchanged.
   */
  #putEvm(start: number, at: number): number {
    const from = this.#sourceView;
    const to = this.#outView;
    for (let index = 0; index < EVM_TEXT_LENGTH - 2; index += 4)
      to.setInt32(at + index, from.getInt32(start + index, true) | 0x20202020, true);
    const tail = EVM_TEXT_LENGTH - 2;
    to.setInt16(at + tail, from.getInt16(start + tail, true) | 0x2020, true);
    return at + EVM_TEXT_LENGTH;
  }

  /** Copies the text of an item a word at a time, and up to three bytes behind it, if the source has them. */
  #putText({ start, end }: BulkItem, at: number): number {
    const from = this.#sourceView;
    const to = this.#outView;
    const shift = at - start;
    let place = start;
    for (const last = Math.min(end - 1, from.byteLength - 4); place <= last; place += 4)
      to.setInt32(place + shift, from.getInt32(place, true), true);
    for (; place < end; place++) to.setUint8(place + shift, from.getUint8(place));
    return end + shift;
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

  /** Ensures room for `bytes` more and one separator. */
  #reserve(bytes: number): void {
    if (this.length + bytes < this.out.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.out.length * 2, this.length + bytes + 1));
    this.out.copy(larger, 0, 0, this.length);
    this.out = larger;
    this.#outView = viewOf(larger);
  }
}

/** Returns a text as sent, cut to the maximum length of an address. */
const shortened = (text: string): string =>
  text.length > CHAIN_LIMITS.addressTextMax ? `${text.slice(0, CHAIN_LIMITS.addressTextMax)}…` : text;

/** Returns the reason why an item has no key, with the message of the codec. */
function reasonOf({ chain }: BulkItem, text: string): string {
  if (typeof chain !== 'string') return chain.message;
  if (text === '') return 'address: must not be empty.';
  if (text.length > CHAIN_LIMITS.addressTextMax)
    return `address: must have at most ${CHAIN_LIMITS.addressTextMax} characters.`;
  try {
    parseAddress(chain, text);
  } catch (error) {
    if (error instanceof AssayError) return error.message;
    throw error;
  }
  throw new Error(`The codec of ${chain} rejects bytes whose text it accepts.`);
}
