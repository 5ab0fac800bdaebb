/**
 * Groups of texts in memory that two threads share. One fills a group, the other computes a result of each text, and the memory is used again.
 */

/** The sizes of groups. */
export interface GroupSizes {
  readonly groups: number;
  /** Texts of a group. */
  readonly texts: number;
  /** Bytes of all texts of a group. */
  readonly textBytes: number;
  /** Bytes of the result of a text. */
  readonly resultBytes: number;
}

const endsBytesOf = ({ texts }: GroupSizes): number => texts * Uint32Array.BYTES_PER_ELEMENT;

const bytesOf = (sizes: GroupSizes): number => {
  // The next group begins with numbers of four bytes.
  const bytes = endsBytesOf(sizes) + sizes.texts * sizes.resultBytes + sizes.textBytes;
  return Math.ceil(bytes / Uint32Array.BYTES_PER_ELEMENT) * Uint32Array.BYTES_PER_ELEMENT;
};

/** A group of texts, and their results. */
export class TextGroup {
  readonly number: number;
  /** The bytes of the texts, one behind the other. */
  readonly texts: Buffer;
  readonly #sizes: GroupSizes;
  /** Where each text ends. */
  readonly #ends: Uint32Array;
  readonly #results: Buffer;
  #count = 0;
  #end = 0;

  constructor(memory: SharedArrayBuffer, number: number, sizes: GroupSizes) {
    const resultsBytes = sizes.texts * sizes.resultBytes;
    const from = number * bytesOf(sizes);
    this.number = number;
    this.#sizes = sizes;
    this.#ends = new Uint32Array(memory, from, sizes.texts);
    this.#results = Buffer.from(memory, from + endsBytesOf(sizes), resultsBytes);
    this.texts = Buffer.from(memory, from + endsBytesOf(sizes) + resultsBytes, sizes.textBytes);
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count === this.#sizes.texts;
  }

  /** Makes place for a text, and returns its offset in `texts`; -1 if it does not fit. The caller writes all of its bytes. */
  reserve(bytes: number): number {
    const from = this.#end;
    if (this.isFull || from + bytes > this.#sizes.textBytes) return -1;
    this.#end += bytes;
    this.#ends[this.#count++] = this.#end;
    return from;
  }

  clear(): void {
    this.#count = 0;
    this.#end = 0;
  }

  /** Calls a function with each of the first texts, and with the place of its result. No bytes are copied. */
  each(count: number, use: (text: Buffer, result: Buffer, number: number) => void): void {
    let from = 0;
    for (let number = 0; number < count; number++) {
      const end = this.#ends[number] as number;
      use(this.texts.subarray(from, end), this.result(number), number);
      from = end;
    }
  }

  /** Returns the result of a text, valid until the group is cleared. */
  result(number: number): Buffer {
    const from = number * this.#sizes.resultBytes;
    return this.#results.subarray(from, from + this.#sizes.resultBytes);
  }

  /** Returns the results of all texts, one behind the other, valid until the group is cleared. */
  results(): Buffer {
    return this.#results.subarray(0, this.#count * this.#sizes.resultBytes);
  }
}

/** Returns memory for groups. */
export const groupsMemory = (sizes: GroupSizes): SharedArrayBuffer =>
  new SharedArrayBuffer(sizes.groups * bytesOf(sizes));

/** Returns the groups of a memory. Each thread has objects of its own. */
export const groupsIn = (memory: SharedArrayBuffer, sizes: GroupSizes): TextGroup[] =>
  Array.from({ length: sizes.groups }, (_, number) => new TextGroup(memory, number, sizes));
