/** Writes judgements of the oracle as bytes. */
import { copyInto, fragment, textInto } from '../base/byte-text.ts';
import type { OracleAnswer, Reason } from './answers.ts';
import { isSharedReason } from './exposure-join.ts';

/** The fields of an answer that follow from the labels and the transfers of an address. */
export type Judgement = Pick<OracleAnswer, 'verdict' | 'score' | 'riskLevel' | 'sanctioned' | 'reasons'>;

/** Rendered reasons, for reason objects that many answers share. */
const sharedReasons = new WeakMap<Reason, Buffer>();
/** Codes of reasons that do not contain the address. Such a reason is created once while nothing changes. */
const OF_ALL: ReadonlySet<Reason['code']> = new Set([
  'STALE_OR_MISSING_DATA',
  'GRAPH_NOT_READ',
  'NOT_ASSESSED',
]);

/** Returns a reason as JSON.stringify writes it, in a third of the time, because its shape is known. */
export const reasonText = ({ code, severity, category, message, source, verified }: Reason): string =>
  `{"code":"${code}","severity":"${severity}","category":"${category}","message":${JSON.stringify(message)},` +
  `"source":${source === null ? 'null' : JSON.stringify(source)},"verified":${verified}}`;

function reasonInto(reason: Reason, out: Buffer, offset: number): number {
  // The reason for a label is made for its answer, so it is never among the rendered ones.
  const known = reason.code === 'LABEL' ? undefined : sharedReasons.get(reason);
  if (known !== undefined) return copyInto(known, out, offset);
  const text = reasonText(reason);
  if (!OF_ALL.has(reason.code) && !isSharedReason(reason)) return textInto(text, out, offset);
  const bytes = fragment(text);
  sharedReasons.set(reason, bytes);
  return copyInto(bytes, out, offset);
}

const COMMA = fragment(',');
const REASONS_END = fragment(']');

/** Returns the fields of a judgement before its reasons, as bytes. */
export type JudgementHeads = (judgement: Omit<Judgement, 'reasons'>) => Buffer;

/** Returns a function that renders heads, each once. */
export function createJudgementHeads(): JudgementHeads {
  /**
   * By verdict and score, from which the level follows. Sanctioned addresses, which are always `danger`, have their own key.
   */
  const heads = new Map<string, Buffer[]>();
  return ({ verdict, score, riskLevel, sanctioned }) => {
    const name = sanctioned ? 'sanctioned' : verdict;
    let ofScore = heads.get(name);
    if (ofScore === undefined) {
      ofScore = [];
      heads.set(name, ofScore);
    }
    let head = ofScore[score];
    if (head === undefined) {
      head = fragment(
        `"verdict":"${verdict}","score":${score},"riskLevel":"${riskLevel}","sanctioned":${sanctioned},"reasons":[`,
      );
      ofScore[score] = head;
    }
    return head;
  };
}

/** Returns a function that writes the fields of a judgement as `fieldsJson` does. */
export const createJudgementWriter =
  (headOf: JudgementHeads) =>
  (judgement: Judgement, out: Buffer, offset: number): number => {
    let at = copyInto(headOf(judgement), out, offset);
    let isFirst = true;
    for (const reason of judgement.reasons) {
      if (!isFirst) at = copyInto(COMMA, out, at);
      at = reasonInto(reason, out, at);
      isFirst = false;
    }
    return copyInto(REASONS_END, out, at);
  };
