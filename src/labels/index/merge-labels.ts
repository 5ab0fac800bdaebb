/** Merges the labels of each address among sorted records: equal ones become one, and several different ones are put in order. */
import type { Label } from '../label.ts';
import { CATEGORIES } from '../taxonomy.ts';
import {
  DAYS,
  FLAGS,
  FRAGMENT,
  MULTIPLE,
  RECORD_WORDS,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  SYNTHETIC,
  TEMPLATE,
  TEMPLATE_WORDS,
} from './format.ts';
import { SLOT_WORDS } from './slot.ts';
import { type CompareRecords, compareWords, PAUSE_EVERY, type Pause, sortBucket } from './sort-records.ts';
import type { BuiltTemplates } from './template-build.ts';
import { TemplateDecoder } from './template-decoder.ts';
import type { EncodedTemplates } from './template-table.ts';
import { SCOPES } from './template-text.ts';

export interface Merged {
  addresses: number;
  readonly overflow: Int32Array<ArrayBuffer>;
  /** Labels of each template; the same label of an address counts once. */
  readonly labelsOfTemplate: Uint32Array;
  realAddresses: number;
}

/**
 * Gives the templates their numbers in the snapshot, and merges equal labels of the sorted records. It moves the labels of addresses with
 * several labels to the overflow area in the order of `compareLabels`, and closes the gaps: `records` becomes that of the snapshot.
 */
export async function mergeLabels(
  records: Int32Array,
  labels: number,
  templates: BuiltTemplates,
  compareLabels: (a: Label, b: Label) => number,
  pause: Pause,
): Promise<Merged> {
  const merge = new Merge(records, labels, templates, compareLabels);
  for (let from = 0; from < labels; from = merge.upTo(from + PAUSE_EVERY)) await pause('sort', from);
  return merge.result();
}

class Merge {
  readonly #records: Int32Array;
  readonly #labels: number;
  readonly #numbers: Int32Array;
  readonly #table: Int32Array;
  readonly #ranked: (records: Int32Array, from: number, count: number) => number[];
  readonly #labelsOfTemplate: Uint32Array;
  #overflow = new Int32Array(1024);
  #overflowEnd = 0;
  #from = 0;
  #out = 0;
  #realAddresses = 0;

  constructor(
    records: Int32Array,
    labels: number,
    { encoded, count, numbers }: BuiltTemplates,
    compareLabels: (a: Label, b: Label) => number,
  ) {
    this.#records = records;
    this.#labels = labels;
    this.#numbers = numbers;
    this.#table = encoded.table;
    this.#ranked = rankBy(compareLabels, encoded);
    this.#labelsOfTemplate = new Uint32Array(count);
  }

  result(): Merged {
    return {
      addresses: this.#out,
      overflow: this.#overflow.slice(0, this.#overflowEnd),
      labelsOfTemplate: this.#labelsOfTemplate,
      realAddresses: this.#realAddresses,
    };
  }

  /** Merges the labels of all addresses that begin before a record. Returns the first record of the next address. */
  upTo(limit: number): number {
    const records = this.#records;
    const table = this.#table;
    const numbers = this.#numbers;
    const labelsOfTemplate = this.#labelsOfTemplate;
    const labels = this.#labels;
    const last = Math.min(limit, labels);
    let from = this.#from;
    let out = this.#out;
    while (from < last) {
      let same = from + 1;
      while (same < labels && sameSlot(records, from, same)) same++;
      const at = from * RECORD_WORDS;
      const to = out * RECORD_WORDS;
      for (let label = at + TEMPLATE; label < same * RECORD_WORDS; label += RECORD_WORDS)
        records[label] = numbers[records[label] as number] as number;
      const kept = same - from === 1 ? 1 : mergeEqualLabels(records, from, same);
      if (kept === 1) {
        const template = records[at + TEMPLATE] as number;
        const flags = table[template * TEMPLATE_WORDS + 3] as number;
        labelsOfTemplate[template] = (labelsOfTemplate[template] as number) + 1;
        if ((flags & SYNTHETIC) === 0) this.#realAddresses++;
        if (to !== at)
          for (let word = 0; word < FLAGS; word++) records[to + word] = records[at + word] as number;
        records[to + FLAGS] = flags;
        records[to + FRAGMENT] = table[template * TEMPLATE_WORDS] as number;
      } else this.#addSeveral(from, kept, to);
      out++;
      from = same;
    }
    this.#from = from;
    this.#out = out;
    return from;
  }

  /** Moves the labels [from, from + kept) of one address to the overflow area, and writes its record at `to`. */
  #addSeveral(from: number, kept: number, to: number): void {
    const records = this.#records;
    const table = this.#table;
    if (this.#overflowEnd + 1 + 2 * kept > this.#overflow.length) {
      const larger = new Int32Array((this.#overflow.length + kept) * 2);
      larger.set(this.#overflow);
      this.#overflow = larger;
    }
    const overflow = this.#overflow;
    const position = this.#overflowEnd;
    let end = position;
    overflow[end++] = kept;
    let flags = MULTIPLE | SYNTHETIC;
    for (const index of this.#ranked(records, from, kept)) {
      const label = index * RECORD_WORDS;
      const template = records[label + TEMPLATE] as number;
      const templateFlags = table[template * TEMPLATE_WORDS + 3] as number;
      this.#labelsOfTemplate[template] = (this.#labelsOfTemplate[template] as number) + 1;
      flags |= templateFlags & (SANCTIONED | SANCTIONED_SOMEWHERE);
      if ((templateFlags & SYNTHETIC) === 0) flags &= ~SYNTHETIC;
      overflow[end++] = template;
      overflow[end++] = records[label + DAYS] as number;
    }
    this.#overflowEnd = end;
    if ((flags & SYNTHETIC) === 0) this.#realAddresses++;
    const at = from * RECORD_WORDS;
    for (let word = 0; word < SLOT_WORDS; word++) records[to + word] = records[at + word] as number;
    records[to + TEMPLATE] = position;
    records[to + DAYS] = 0;
    records[to + FLAGS] = flags;
    records[to + FRAGMENT] = 0;
  }
}

/** By template and days: the labels of one address. */
const compareLabelsOfSlot: CompareRecords = (a, first, b, second) =>
  compareWords(a, first * RECORD_WORDS, b, second * RECORD_WORDS, TEMPLATE, DAYS + 1);

function sameSlot(records: Int32Array, first: number, second: number): boolean {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  for (let word = 0; word < SLOT_WORDS; word++)
    if (records[left + word] !== records[right + word]) return false;
  return true;
}

/**
 * Sorts the labels [from, to) of one address by template, and merges each run of equal templates into one label: earliest first day, latest
 * last day. Returns the number of labels left.
 */
function mergeEqualLabels(records: Int32Array, from: number, to: number): number {
  sortBucket(records, from, to, compareLabelsOfSlot);
  let kept = 1;
  for (let index = from + 1; index < to; index++) {
    const at = index * RECORD_WORDS;
    const last = (from + kept - 1) * RECORD_WORDS;
    if (records[at + TEMPLATE] === records[last + TEMPLATE]) {
      records[last + DAYS] = mergeDays(records[last + DAYS] as number, records[at + DAYS] as number);
      continue;
    }
    const place = (from + kept) * RECORD_WORDS;
    records[place + TEMPLATE] = records[at + TEMPLATE] as number;
    records[place + DAYS] = records[at + DAYS] as number;
    kept++;
  }
  return kept;
}

function mergeDays(a: number, b: number): number {
  const firstA = a & 0xffff;
  const firstB = b & 0xffff;
  const first = firstA === 0 ? firstB : firstB === 0 ? firstA : Math.min(firstA, firstB);
  return first | (Math.max(a >>> 16, b >>> 16) << 16);
}

/** Returns a function that orders the records [from, from + count) of one address, best label first. */
function rankBy(
  compareLabels: (a: Label, b: Label) => number,
  { bytes, sharedAt, sourceIds }: EncodedTemplates,
): (records: Int32Array, from: number, count: number) => number[] {
  const layout = { sharedAt, sourceIds, scopes: SCOPES, categories: CATEGORIES };
  const decoder = new TemplateDecoder(bytes, layout);
  return (records, from, count) => {
    const labels = Array.from({ length: count }, (_, index) => {
      const at = (from + index) * RECORD_WORDS;
      const label = decoder.label(records[at + TEMPLATE] as number, records[at + DAYS] as number);
      return { index: from + index, label };
    });
    // They are in the order of their templates, which is that of their texts: content breaks a tie.
    const [first, second] = labels;
    if (count === 2 && first !== undefined && second !== undefined)
      return compareLabels(first.label, second.label) > 0 ? [from + 1, from] : [from, from + 1];
    labels.sort((a, b) => compareLabels(a.label, b.label));
    return labels.map((entry) => entry.index);
  };
}
