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
import { isSameSlot } from './lookup.ts';
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
  for (let from = 0; from < labels; ) {
    await pause('merge', from);
    for (const end = Math.min(from + PAUSE_EVERY, labels); from < end; )
      from = merge.upTo(Math.min(from + NUMBERED_AT_ONCE, end));
  }
  return merge.result();
}

/**
 * Records that get their templates' numbers in one loop. The waits of such a small loop for the memory of templates overlap, and the records
 * are still in the cache of the core when their labels are merged.
 */
const NUMBERED_AT_ONCE = 4_096;

/** The merge reads these words of a template, which are together in memory; the last counts its labels. */
const FACT_WORDS = 4;
const NUMBER = 0;
const FACT_FLAGS = 1;
const FACT_FRAGMENT = 2;
const FACT_LABELS = 3;

/** Returns the facts of the templates by their provisional numbers. */
function factsOf({ encoded: { table }, numbers }: BuiltTemplates): Int32Array {
  const facts = new Int32Array(numbers.length * FACT_WORDS);
  for (const [provisional, number] of numbers.entries()) {
    // A template without labels has no number, and no record refers to it.
    if (number < 0) continue;
    const at = provisional * FACT_WORDS;
    facts[at + NUMBER] = number;
    facts[at + FACT_FLAGS] = table[number * TEMPLATE_WORDS + 3] as number;
    facts[at + FACT_FRAGMENT] = table[number * TEMPLATE_WORDS] as number;
  }
  return facts;
}

class Merge {
  readonly #records: Int32Array;
  readonly #labels: number;
  readonly #numbers: Int32Array;
  readonly #facts: Int32Array;
  readonly #ranked: (records: Int32Array, from: number, count: number) => number[];
  /** Labels of each template that were merged into an equal one. */
  readonly #mergedAway: Uint32Array;
  #overflow = new Int32Array(1024);
  #overflowEnd = 0;
  /** Records before this one have the numbers of their templates. */
  #numbered = 0;
  #from = 0;
  #out = 0;
  #realAddresses = 0;

  constructor(
    records: Int32Array,
    labels: number,
    templates: BuiltTemplates,
    compareLabels: (a: Label, b: Label) => number,
  ) {
    this.#records = records;
    this.#labels = labels;
    this.#numbers = templates.numbers;
    this.#facts = factsOf(templates);
    this.#ranked = rankBy(compareLabels, templates.encoded);
    this.#mergedAway = new Uint32Array(templates.count);
  }

  result(): Merged {
    const labelsOfTemplate = new Uint32Array(this.#mergedAway.length);
    for (const [provisional, number] of this.#numbers.entries())
      if (number >= 0)
        labelsOfTemplate[number] =
          (labelsOfTemplate[number] as number) +
          (this.#facts[provisional * FACT_WORDS + FACT_LABELS] as number);
    for (const [number, labels] of this.#mergedAway.entries())
      labelsOfTemplate[number] = (labelsOfTemplate[number] as number) - labels;
    return {
      addresses: this.#out,
      overflow: this.#overflow.slice(0, this.#overflowEnd),
      labelsOfTemplate,
      realAddresses: this.#realAddresses,
    };
  }

  /** Gives the records before `end` the number, flags and fragment of their templates, as if each had the only label of its address. */
  #number(end: number): void {
    const records = this.#records;
    const facts = this.#facts;
    for (let at = this.#numbered * RECORD_WORDS; at < end * RECORD_WORDS; at += RECORD_WORDS) {
      const fact = (records[at + TEMPLATE] as number) * FACT_WORDS;
      records[at + TEMPLATE] = facts[fact + NUMBER] as number;
      records[at + FLAGS] = facts[fact + FACT_FLAGS] as number;
      records[at + FRAGMENT] = facts[fact + FACT_FRAGMENT] as number;
      facts[fact + FACT_LABELS] = (facts[fact + FACT_LABELS] as number) + 1;
    }
    this.#numbered = end;
  }

  /** Merges the labels of all addresses that begin before a record. Returns the first record of the next address. */
  upTo(limit: number): number {
    const records = this.#records;
    const labels = this.#labels;
    if (limit > this.#numbered) this.#number(limit);
    let from = this.#from;
    let out = this.#out;
    while (from < limit) {
      let same = from + 1;
      while (same < labels && isSameSlot(records, from, same)) same++;
      if (same > this.#numbered) this.#number(same);
      const at = from * RECORD_WORDS;
      const to = out * RECORD_WORDS;
      const kept = same - from === 1 ? 1 : this.#mergeEqualLabels(from, same);
      if (kept === 1) {
        if (((records[at + FLAGS] as number) & SYNTHETIC) === 0) this.#realAddresses++;
        if (to !== at)
          for (let word = 0; word < RECORD_WORDS; word++) records[to + word] = records[at + word] as number;
      } else this.#addSeveral(from, kept, to);
      out++;
      from = same;
    }
    this.#from = from;
    this.#out = out;
    return from;
  }

  /**
   * Sorts the labels [from, to) of one address by template, and merges each run of equal templates into one label: earliest first day, latest
   * last day. Returns the number of labels left.
   */
  #mergeEqualLabels(from: number, to: number): number {
    const records = this.#records;
    sortBucket(records, from, to, compareLabelsOfSlot);
    let kept = 1;
    for (let index = from + 1; index < to; index++) {
      const at = index * RECORD_WORDS;
      const last = (from + kept - 1) * RECORD_WORDS;
      const template = records[at + TEMPLATE] as number;
      if (template === records[last + TEMPLATE]) {
        records[last + DAYS] = mergeDays(records[last + DAYS] as number, records[at + DAYS] as number);
        this.#mergedAway[template] = (this.#mergedAway[template] as number) + 1;
        continue;
      }
      const place = (from + kept) * RECORD_WORDS;
      for (let word = TEMPLATE; word < RECORD_WORDS; word++)
        records[place + word] = records[at + word] as number;
      kept++;
    }
    return kept;
  }

  /** Moves the labels [from, from + kept) of one address to the overflow area, and writes its record at `to`. */
  #addSeveral(from: number, kept: number, to: number): void {
    const records = this.#records;
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
      const ownFlags = records[label + FLAGS] as number;
      flags |= ownFlags & (SANCTIONED | SANCTIONED_SOMEWHERE);
      if ((ownFlags & SYNTHETIC) === 0) flags &= ~SYNTHETIC;
      overflow[end++] = records[label + TEMPLATE] as number;
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
