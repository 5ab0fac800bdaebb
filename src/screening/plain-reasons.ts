/**
 * Writes the reasons of plain entries as bytes. Such a reason contains a share, points and names, and depends otherwise on a few fields: the
 * text around them is rendered once, by the functions that make reasons of objects.
 */
import { copyInto, fragment, hundredthsInto } from '../base/byte-text.ts';
import { pointsText, SMALLEST_SHARE, type UnfollowedPart } from '../risk/reasons.ts';
import type { ScoreFactor } from '../risk/score.ts';
import { isGrave } from '../risk/severities.ts';
import type { Reason } from './answers.ts';
import { newPartReason, newRowReason } from './exposure-join.ts';
import { type ExposureReader, PLAIN_MAX, PLAIN_POINTS_MAX } from './exposure-port.ts';
import { reasonText } from './judgement-bytes.ts';

/** Placeholders for a share, in percent, and for names while a reason is rendered. No text of a row without names contains them. */
const SHARE = 987_654_321;
const NAMES = '\ue000names\ue000';

/** Maximum number of texts: some 10 MB. There are fewer kinds of rows than that in any real index. */
const TEXTS_MAX = 16_384;

/** The text of one kind of row. */
interface RowText {
  readonly isGrave: boolean;
  /** From the brace to the share. */
  readonly beforeShare: Buffer;
  /** From the share to the names, or to the points. */
  readonly behindShare: Buffer;
  /** From the names to the points; null if the reason has no names. */
  readonly behindNames: Buffer | null;
}

/** The text of one kind of part that was not followed. */
interface PartText {
  readonly beforeShare: Buffer;
  readonly behindShare: Buffer;
}

const SMALLEST = fragment(SMALLEST_SHARE);

/** Returns where the points begin in the text of a row. From there on, the texts of all rows with the same points are equal. */
const endAt = (text: string, points: number): number => text.lastIndexOf(pointsText(points));

const splitShare = (reason: Reason): [string, string] =>
  reasonText(reason).split(String(SHARE)) as [string, string];

/** Copies `source[from, to)`. Returns the same as `copyInto`. */
function rangeInto(source: Buffer, from: number, to: number, out: Buffer, offset: number): number {
  if (offset < 0 || offset + to - from > out.length) return -1;
  for (let index = from; index < to; index++) out[offset + index - from] = source[index] as number;
  return offset + to - from;
}

/** The reasons of the entry that a reader read last as a plain one. */
export class PlainReasons {
  readonly #exposures: ExposureReader;
  #rows = new Map<number, RowText>();
  readonly #parts = new Map<number, PartText>();
  /** The end of the text of a row, with a comma, by its points. */
  readonly #ends = new Array<Buffer | null>(2 * PLAIN_POINTS_MAX + 1).fill(null);
  /** The texts of the rows of the opened entry. */
  readonly #texts = new Array<RowText | null>(PLAIN_MAX).fill(null);
  /** Points of all rows. */
  points = 0;
  /** True if a row is grave or a part was not followed: the answer is not clean. */
  isUnclean = false;

  constructor(exposures: ExposureReader) {
    this.#exposures = exposures;
  }

  /** Reads the points and the severities of the entry. */
  open(): void {
    const { rows, rowKeys, rowPoints, parts } = this.#exposures.plain;
    this.points = 0;
    this.isUnclean = parts > 0;
    for (let row = 0; row < rows; row++) {
      const key = rowKeys[row] as number;
      const text = this.#rows.get(key) ?? this.#renderRow(key, row);
      this.#texts[row] = text;
      this.points += rowPoints[row] as number;
      if (text.isGrave) this.isUnclean = true;
    }
  }

  /**
   * Writes the reasons of the opened entry, each with a comma behind it.
   *
   * @returns the offset behind them; -1 if they do not fit
   */
  write(out: Buffer, offset: number): number {
    const { rows, rowPoints, rowHundredths, names, nameEnds, parts, partKeys, partHundredths } =
      this.#exposures.plain;
    let at = offset;
    let namesFrom = 0;
    for (let row = 0; row < rows; row++) {
      const text = this.#texts[row] as RowText;
      const points = rowPoints[row] as number;
      const namesEnd = nameEnds[row] as number;
      // The same rows as in `reasonRows`: without a second reading, it leaves out none of those that are worth a reason.
      if (points > 0 || text.isGrave) {
        const hundredths = rowHundredths[row] as number;
        at = copyInto(text.beforeShare, out, at);
        at = hundredths === 0 ? copyInto(SMALLEST, out, at) : hundredthsInto(hundredths, out, at);
        at = copyInto(text.behindShare, out, at);
        if (text.behindNames !== null) {
          at = rangeInto(names, namesFrom, namesEnd, out, at);
          at = copyInto(text.behindNames, out, at);
        }
        at = copyInto(this.#ends[points + PLAIN_POINTS_MAX] ?? this.#renderEnd(row), out, at);
      }
      namesFrom = namesEnd;
    }
    for (let part = 0; part < parts; part++) {
      const text = this.#parts.get(partKeys[part] as number) ?? this.#renderPart(part);
      at = copyInto(text.beforeShare, out, at);
      at = hundredthsInto(partHundredths[part] as number, out, at);
      at = copyInto(text.behindShare, out, at);
    }
    return at;
  }

  #renderRow(key: number, row: number): RowText {
    const factor = this.#factorOf(row);
    const evidence = factor.evidence.length === 0 ? [] : [NAMES];
    const [before, behind] = splitShare(newRowReason({ ...factor, evidence, percentage: SHARE }));
    const [toNames, behindNames] = behind.slice(0, endAt(behind, factor.points)).split(NAMES);
    const text: RowText = {
      isGrave: isGrave(factor.severity),
      beforeShare: fragment(before),
      behindShare: fragment(toNames as string),
      behindNames: behindNames === undefined ? null : fragment(behindNames),
    };
    if (this.#rows.size >= TEXTS_MAX) this.#rows = new Map();
    this.#rows.set(key, text);
    return text;
  }

  #renderEnd(row: number): Buffer {
    const factor = this.#factorOf(row);
    const text = reasonText(newRowReason(factor));
    const end = fragment(`${text.slice(endAt(text, factor.points))},`);
    this.#ends[factor.points + PLAIN_POINTS_MAX] = end;
    return end;
  }

  #renderPart(part: number): PartText {
    const { unfollowed } = this.#exposures.verdict();
    const first = unfollowed[part] as UnfollowedPart;
    const [before, behind] = splitShare(newPartReason({ ...first, share: SHARE / 100 }));
    const text = { beforeShare: fragment(before), behindShare: fragment(`${behind},`) };
    this.#parts.set(this.#exposures.plain.partKeys[part] as number, text);
    return text;
  }

  #factorOf(row: number): ScoreFactor {
    return this.#exposures.verdict().factors[row] as ScoreFactor;
  }
}
