/**
 * Keys of many address texts at once, as bulk look-ups and imports need them. A WebAssembly kernel that the build assembles (scripts/kernels)
 * reads the usual texts: base58check, four checksums in the lanes of a vector; witness programs; EVM addresses. It only confirms
 * what is right: the codec of the chain reads every other text, and decides what is wrong.
 */
import { type KernelMemory, loadKernel } from '../../base/kernel.ts';
import { CHAIN_LIMITS } from '../limits.ts';
import { CHAINS, type ChainId } from '../registry.ts';
import { BITCOIN_DIGITS, RIPPLE_DIGITS } from './base58.ts';
import type { BatchForm } from './batch-form.ts';
import { BECH32_DIGITS, bech32State, bech32Steps } from './bech32.ts';
import type { WriteKey } from './fault.ts';
import { batchFormOf, keyWriterOf, maxKeyBytes } from './parse.ts';

/** Texts of one batch: a multiple of the lanes. */
export const BATCH_TEXTS = 128;
/** Fewer texts cost more in lanes than one by one. */
const TEXTS_MIN = 3;
const PAGE_BYTES = 65_536;
const NUMBERS_BYTES = BATCH_TEXTS * 4;
/** A key of the kernel: chain, kind, and at most 32 bytes, behind which it may write eight more. */
const KEY_BYTES = 64;
const BLOCK_BYTES = 64;

/** Places of values in the memory of the kernel, in bytes. */
export const BATCH_MEMORY = {
  pages: 2 + Math.ceil(((BATCH_TEXTS + 1) * maxKeyBytes) / PAGE_BYTES),
  /** Tables of digits, 256 bytes each. */
  bitcoinDigits: 0,
  rippleDigits: 256,
  bech32Digits: 512,
  /** The bits that a step of a bech32 checksum adds for each of its five highest bits: 32 words. */
  bech32Steps: 768,
  /** Forms of texts, see FORM. */
  forms: 1024,
  formBytes: 128,
  /** 32-bit numbers, one for each text: its place in this memory, its form (0: none), and the length of its key. */
  starts: 4096,
  ends: 4096 + NUMBERS_BYTES,
  textForms: 4096 + 2 * NUMBERS_BYTES,
  lengths: 4096 + 3 * NUMBERS_BYTES,
  /** 32-bit numbers, one for each block: its text, and the checksum that the text has. */
  blockTexts: 4096 + 4 * NUMBERS_BYTES,
  written: 4096 + 5 * NUMBERS_BYTES,
  /** A decoded number of 32 bytes, and as many zeros. */
  number: 4096 + 6 * NUMBERS_BYTES,
  /** Constants of the rounds of Keccak, 24 times 8 bytes. */
  keccakConstants: 4096 + 6 * NUMBERS_BYTES + 64,
  /** Payloads, each a block of SHA-256. */
  blocks: 8192,
  blockBytes: BLOCK_BYTES,
  keys: 8192 + BATCH_TEXTS * BLOCK_BYTES,
  keyBytes: KEY_BYTES,
  /** The part of the source that contains the texts; ends before the end of the memory, because whole vectors are read. */
  source: PAGE_BYTES,
  end: 2 * PAGE_BYTES - 64,
  /** Keys that a codec writes: any length. */
  otherKeys: 2 * PAGE_BYTES,
  /** Longest base58check text: 58^36 has 27 bytes. All addresses with a hash of 20 bytes are shorter. */
  textMax: 36,
} as const;

/** Places of the words of a form. The versions follow, each a word, with its kind in the next; a kind of 0 ends them. */
export const FORM = {
  type: 0,
  digits: 4,
  keyByte: 8,
  versionBytes: 12,
  /** The prefix of bech32 texts and its '1' as the first word of a text, under a mask; its length; and the checksum after the prefix. */
  prefixMask: 16,
  prefix: 20,
  prefixBytes: 24,
  prefixState: 28,
  versions: 32,
} as const;
const EVM_TYPE = 1;
export const BASE58CHECK_TYPE = 2;
/** A prefix that no text has under a mask of 0. */
const NO_PREFIX = 1;

/** The text `source[start, end)`. */
export interface TextPlace {
  readonly start: number;
  readonly end: number;
}

/** What the texts of a chain have in common. */
interface ChainTexts {
  readonly chain: ChainId;
  /** Place of the form in the memory of the kernel; 0 if it has none. */
  readonly form: number;
  readonly write: WriteKey;
}

interface Kernel extends KernelMemory {
  readonly read: (count: number) => void;
}

function writeForm(memory: DataView, at: number, form: BatchForm): void {
  const word = (offset: number, value: number): void => memory.setInt32(at + offset, value, true);
  word(FORM.keyByte, form.keyByte);
  if (form.type === 'evm') {
    word(FORM.type, EVM_TYPE);
    word(FORM.versions + 4, form.kind);
    return;
  }
  word(FORM.type, BASE58CHECK_TYPE);
  word(FORM.digits, form.digits === RIPPLE_DIGITS ? BATCH_MEMORY.rippleDigits : BATCH_MEMORY.bitcoinDigits);
  word(FORM.versionBytes, form.versionBytes);
  for (const [index, [version, kind]] of form.kinds.entries()) {
    word(FORM.versions + index * 8, version);
    word(FORM.versions + index * 8 + 4, kind);
  }
  word(FORM.prefix, NO_PREFIX);
  if (form.hrp === null) return;
  const prefix = Buffer.alloc(4);
  prefix.write(`${form.hrp}1`, 'latin1');
  word(FORM.prefix, prefix.readInt32LE());
  word(FORM.prefixMask, form.hrp.length === 3 ? -1 : (1 << ((form.hrp.length + 1) * 8)) - 1);
  word(FORM.prefixBytes, form.hrp.length + 1);
  word(FORM.prefixState, bech32State(form.hrp));
}

/** Writes the keys of batches of texts. Holds the keys of one batch. */
export class KeyBatch {
  /** Bytes that contain all keys of the batch. */
  readonly keys: Uint8Array;
  /** Start of each key in `keys`. */
  readonly starts = new Int32Array(BATCH_TEXTS);
  /** Length of each key; negative if the text is no address of its chain. */
  readonly lengths: Int32Array;
  readonly #read: ((count: number) => void) | null;
  readonly #textStarts: Int32Array;
  readonly #textEnds: Int32Array;
  readonly #textForms: Int32Array;
  readonly #chains: ReadonlyMap<ChainId, ChainTexts>;
  /** Of the last text: most batches have one chain, and those of several have runs of each. */
  #last: ChainTexts;

  /** @param useKernel - false reads every text by its codec. The kernel is compared with this. */
  constructor(useKernel = true) {
    const kernel = useKernel ? loadKernel<Kernel>('address-keys') : null;
    const buffer = kernel?.memory.buffer ?? new ArrayBuffer(BATCH_MEMORY.pages * PAGE_BYTES);
    this.#read = kernel?.read ?? null;
    this.keys = new Uint8Array(buffer);
    const numbers = (at: number): Int32Array => new Int32Array(buffer, at, BATCH_TEXTS);
    this.lengths = numbers(BATCH_MEMORY.lengths);
    this.#textStarts = numbers(BATCH_MEMORY.starts);
    this.#textEnds = numbers(BATCH_MEMORY.ends);
    this.#textForms = numbers(BATCH_MEMORY.textForms);
    this.keys.set(BITCOIN_DIGITS, BATCH_MEMORY.bitcoinDigits);
    this.keys.set(RIPPLE_DIGITS, BATCH_MEMORY.rippleDigits);
    this.keys.set(BECH32_DIGITS, BATCH_MEMORY.bech32Digits);
    new Int32Array(buffer, BATCH_MEMORY.bech32Steps).set(bech32Steps());
    this.#chains = this.#placeForms(new DataView(buffer));
    this.#last = this.#chains.get('BTC') as ChainTexts;
  }

  /** Writes each form once: the EVM chains share theirs. */
  #placeForms(memory: DataView): ReadonlyMap<ChainId, ChainTexts> {
    const places = new Map<BatchForm, number>();
    return new Map(
      CHAINS.map(({ id: chain }) => {
        const form = batchFormOf(chain);
        if (form !== null && !places.has(form)) {
          const place = BATCH_MEMORY.forms + places.size * BATCH_MEMORY.formBytes;
          writeForm(memory, place, form);
          places.set(form, place);
        }
        const place = form === null ? 0 : (places.get(form) as number);
        return [chain, { chain, form: place, write: keyWriterOf(chain) }];
      }),
    );
  }

  /**
   * Writes the keys of the items `[from, to)`, at most BATCH_TEXTS; the key of the first has the index 0.
   *
   * @param items - places of their texts in `source`
   * @param chainOf - returns the chain of an item; null gives it a negative length
   */
  read<Item extends TextPlace>(
    source: Uint8Array,
    items: readonly Item[],
    from: number,
    to: number,
    chainOf: (item: Item) => ChainId | null,
  ): void {
    const count = to - from;
    if (this.#read === null || count < TEXTS_MIN) this.lengths.fill(0, 0, count);
    else {
      this.#place(source, items, from, to, chainOf);
      this.#read(count);
    }
    let at: number = BATCH_MEMORY.otherKeys;
    for (let index = 0; index < count; index++) {
      if ((this.lengths[index] as number) > 0) continue;
      const item = items[from + index] as Item;
      const chain = chainOf(item);
      const { start, end } = item;
      const isReadable = chain !== null && end > start && end - start <= CHAIN_LIMITS.addressTextMax;
      const length = isReadable ? this.#turnTo(chain).write(source, start, end, this.keys, at) : -1;
      this.starts[index] = at;
      this.lengths[index] = length;
      if (length > 0) at += length;
    }
  }

  /** Copies the texts to the kernel. A text before the first one, or too far behind it, gets no form. */
  #place<Item extends TextPlace>(
    source: Uint8Array,
    items: readonly Item[],
    from: number,
    to: number,
    chainOf: (item: Item) => ChainId | null,
  ): void {
    const first = (items[from] as Item).start;
    const shift = BATCH_MEMORY.source - first;
    const lastEnd = Math.min(source.length, BATCH_MEMORY.end - shift);
    let last = first;
    for (let index = 0; index < to - from; index++) {
      const item = items[from + index] as Item;
      const { start, end } = item;
      const chain = chainOf(item);
      const isNear = start >= first && end > start && end <= lastEnd;
      this.#textForms[index] = chain !== null && isNear ? this.#turnTo(chain).form : 0;
      this.#textStarts[index] = start + shift;
      this.#textEnds[index] = end + shift;
      this.starts[index] = BATCH_MEMORY.keys + index * KEY_BYTES;
      if (isNear && end > last) last = end;
    }
    this.keys.set(source.subarray(first, last), BATCH_MEMORY.source);
  }

  #turnTo(chain: ChainId): ChainTexts {
    if (chain !== this.#last.chain) this.#last = this.#chains.get(chain) as ChainTexts;
    return this.#last;
  }
}
