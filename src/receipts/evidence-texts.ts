/**
 * Canonical texts of evidence. The evidence of an oracle verdict does not name its address: that of all addresses without a label is equal
 * until the next block, and so is that of all addresses of an entity. Equal evidence is hashed once.
 */
import { canonicalJson, canonicalParts, textSha256 } from './canonical.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { AnswerToAttest } from './service.ts';

export interface EvidenceText {
  /** Of its labels; null if it has none. */
  readonly labels: string | null;
  /** Of the evidence without its labels. */
  readonly rest: string;
  /** Of the whole, hexadecimal. */
  readonly sha256: string;
}

/** Returns the text of an object from texts of its members, of which some may be empty. */
const objectOf = (...members: readonly string[]): string =>
  `{${members.filter((text) => text !== '').join()}}`;

export class EvidenceTexts {
  /** The last evidence with some labels. */
  #byLabels = new Map<string, EvidenceText>();

  /**
   * Returns the texts of evidence.
   *
   * @throws INVALID_REQUEST if it has no canonical form
   */
  of(evidence: AnswerToAttest['evidence']): EvidenceText {
    if (!('labels' in evidence)) {
      const rest = canonicalJson(evidence);
      return { labels: null, rest, sha256: textSha256(rest) };
    }
    const labels = canonicalJson(evidence.labels);
    const { before, after } = canonicalParts(
      evidence as unknown as Readonly<Record<string, unknown>>,
      'labels',
    );
    const rest = objectOf(before, after);
    const known = this.#byLabels.get(labels);
    if (known?.rest === rest) return known;
    const made = { labels, rest, sha256: textSha256(objectOf(before, `"labels":${labels}`, after)) };
    if (labels.length + rest.length > RECEIPT_LIMITS.groupedBytesMax) return made;
    if (this.#byLabels.size >= RECEIPT_LIMITS.labelPartsMax) this.#byLabels = new Map();
    this.#byLabels.set(labels, made);
    return made;
  }
}
