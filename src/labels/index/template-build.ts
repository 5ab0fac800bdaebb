/** Builds the templates of a snapshot from those of its segments: deduplicated, sorted by text, packed. */
import { AssayError } from '../../base/errors.ts';
import { type Designations, ownerEntriesAdder } from '../designations.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { valueChecksum } from './format.ts';
import { readSegment } from './segment.ts';
import { type EncodedTemplates, encodeTemplates } from './template-table.ts';

export interface BuiltTemplates {
  readonly encoded: EncodedTemplates;
  /** SHA-256 of the bytes of `encoded`, hex. */
  readonly sha256: string;
  readonly count: number;
  /**
   * Maps the index of a template among the templates of all segments, one after the other, to its number in the snapshot; -1 if it has
   * no labels.
   */
  readonly numbers: Int32Array<ArrayBuffer>;
}

/** Inputs of the templates of a build: plain data that can be posted to a thread. */
export interface TemplateSources {
  /** Path of each segment, and the ISO date of its dataset. */
  readonly segments: readonly { readonly path: string; readonly date: string | null }[];
  readonly designations: Designations;
}

/**
 * Returns the texts of the templates of each segment.
 *
 * @throws NOT_FOUND, STORE_CORRUPT or STORE_VERSION for a segment that cannot be read
 */
export const readTexts = ({ segments, designations }: TemplateSources): string[][] =>
  segments.map(({ path, date }) => {
    const texts = readSegment(path).templateTexts;
    return designations.size === 0 ? [...texts] : texts.map(ownerEntriesAdder(designations, date));
  });

/**
 * Builds the templates. Empties `textsOf`: each text leaves memory when it is packed.
 *
 * @param used - for each segment one byte per template: whether it has labels
 * @throws INVALID_REQUEST if there are too many
 */
export function buildTemplates(textsOf: string[][], used: readonly Uint8Array[]): BuiltTemplates {
  const { texts, numbers } = numberTemplates(textsOf, used);
  textsOf.length = 0;
  const encoded = encodeTemplates(texts);
  return { encoded, sha256: valueChecksum(encoded.bytes), count: texts.length, numbers };
}

/** A function of its own: what its variables refer to stays in memory until it returns. */
function numberTemplates(
  textsOf: readonly (readonly string[])[],
  used: readonly Uint8Array[],
): { readonly texts: string[]; readonly numbers: BuiltTemplates['numbers'] } {
  const all = textsOf.flat();
  // Sorted by text, so that the result does not depend on the order of the segments.
  const order = Uint32Array.from(indicesUsed(used)).sort((a, b) => {
    const [left, right] = [all[a] as string, all[b] as string];
    return left < right ? -1 : left > right ? 1 : 0;
  });
  const numbers = new Int32Array(all.length).fill(-1);
  const texts: string[] = [];
  for (const at of order) {
    const text = all[at] as string;
    if (text !== texts.at(-1)) texts.push(text);
    numbers[at] = texts.length - 1;
  }
  if (texts.length > LABEL_LIMITS.labelTemplatesMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `An index can have at most ${LABEL_LIMITS.labelTemplatesMax} different labels, not counting addresses and dates (got ${texts.length}).`,
    );
  }
  return { texts, numbers };
}

/** Yields the indices of used templates among those of all segments. */
function* indicesUsed(used: readonly Uint8Array[]): Generator<number> {
  let first = 0;
  for (const usedHere of used) {
    for (let at = 0; at < usedHere.length; at++) if (usedHere[at] === 1) yield first + at;
    first += usedHere.length;
  }
}
