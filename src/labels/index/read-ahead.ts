/**
 * Reads the memory of many labels ahead of their use, in stages like `find-many.ts`: records, then template table, then texts. The labels of
 * random addresses are at random places of the map, so each is a wait for memory, and one after the other costs more than the rest of their
 * work. Inside a stage no read depends on another, so the processor waits for several at once.
 */
import { DAYS, FLAGS, FRAGMENT, MULTIPLE, RECORD_WORDS, TEMPLATE, TEMPLATE_WORDS } from './format.ts';
import type { TemplateDecoder } from './template-decoder.ts';

/** What a read-ahead uses of one partition. */
export interface ReadPart {
  readonly records: Int32Array;
  readonly overflow: Int32Array;
  readonly table: Int32Array;
  readonly textWords: Int32Array;
}

/** Labels of one block: their texts fit in the second-level cache until they are used. */
const BLOCK_LABELS = 512;
/** Words between two reads: two cache lines, which the processor fetches as a pair. */
const READ_EVERY = 32;
/** Words that are read of a fragment: most have no more. */
const FRAGMENT_WORDS = 128;

// The values between the stages. Calls are synchronous, so all readers of a thread share them.
const templates = new Int32Array(BLOCK_LABELS);
/** Receives a value that depends on every read, so that the compiler keeps the reads. */
const kept = new Int32Array(1);

/** Collects the templates of the labels of `handles[0, count)`. Returns their number; the labels that do not fit are left out. */
function collectTemplates(parts: readonly ReadPart[], handles: Float64Array, count: number): number {
  const mask = parts.length - 1;
  let labels = 0;
  let read = 0;
  for (let index = 0; index < count && labels < BLOCK_LABELS; index++) {
    const handle = handles[index] as number;
    if (handle < 0) continue;
    const { records, overflow } = parts[handle & mask] as ReadPart;
    const at = Math.floor(handle / parts.length) * RECORD_WORDS;
    read ^= records[at + DAYS] as number;
    let position = records[at + TEMPLATE] as number;
    if (((records[at + FLAGS] as number) & MULTIPLE) === 0) templates[labels++] = position;
    else
      for (
        let left = overflow[position++] as number;
        left > 0 && labels < BLOCK_LABELS;
        left--, position += 2
      )
        templates[labels++] = overflow[position] as number;
  }
  kept[0] = read;
  return labels;
}

/** Does the work of `LabelReader.readLabelsAhead`. */
export function readLabelsAhead(
  parts: readonly ReadPart[],
  decoder: TemplateDecoder,
  handles: Float64Array,
  count: number,
): void {
  const labels = collectTemplates(parts, handles, count);
  decoder.readAhead(templates, labels);
}

/** Does the work of `LabelReader.readJsonAhead`. */
export function readJsonAhead(parts: readonly ReadPart[], handles: Float64Array, count: number): void {
  const mask = parts.length - 1;
  // All partitions have the same texts.
  const { textWords, table } = parts[0] as ReadPart;
  let labels = 0;
  for (let index = 0; index < count && labels < BLOCK_LABELS; index++) {
    const handle = handles[index] as number;
    if (handle < 0) continue;
    const { records, overflow } = parts[handle & mask] as ReadPart;
    const at = Math.floor(handle / parts.length) * RECORD_WORDS;
    if (((records[at + FLAGS] as number) & MULTIPLE) === 0) {
      templates[labels++] = records[at + FRAGMENT] as number;
      continue;
    }
    let position = records[at + TEMPLATE] as number;
    for (let left = overflow[position++] as number; left > 0 && labels < BLOCK_LABELS; left--, position += 2)
      templates[labels++] = table[(overflow[position] as number) * TEMPLATE_WORDS] as number;
  }
  let read = 0;
  for (let label = 0; label < labels; label++) {
    const word = (templates[label] as number) * 2;
    for (let ahead = 0; ahead < FRAGMENT_WORDS; ahead += READ_EVERY)
      read ^= textWords[word + ahead] as number;
  }
  kept[0] = read;
}
