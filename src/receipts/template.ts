/**
 * The text of a receipt, from what many receipts of a second have in common. Most bytes of a receipt are equal to those of the one before:
 * the state of the lists, the policy, the versions, the times and the verdict. They are written, and encoded in base64url, once.
 */
import { isoTime } from '../base/clock.ts';
import { sha256 } from '../base/merkle.ts';
import { canonicalJson } from './canonical.ts';
import { commonFacts } from './groups.ts';
import { base64url } from './jws.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { Receipt } from './receipt-schema.ts';
import { OWN_FACTS, type OwnFacts } from './store.ts';

export type SharedFacts = Omit<Receipt, keyof OwnFacts>;

/** In the place of an own fact. A character for private use, which no other fact has. */
const MARK = '\ue000';
const ASCII = /^[\0-\x7f]*$/;
/** Bytes that base64url encodes together. */
const GROUP = 3;
/** Bytes before the second own fact: up to here, all receipts of a template have equal lengths. */
const ANSWER_BYTES = 66;

/** The canonical text of a receipt: its hash, and the payload of its JWS in three parts. The long one in the middle is shared. */
export interface ReceiptText {
  readonly hash: Buffer;
  readonly encoded: readonly [string, string, string];
}

/** Bytes of a receipt for the next hash alone. */
const scratch = Buffer.alloc(RECEIPT_LIMITS.receiptBytesMax);

/** Text between the own facts. */
interface Between {
  readonly answer: string;
  /** From the answer to the evidence: the first bytes, which are encoded with the answer, those that are encoded once, and the last ones. */
  readonly first: string;
  readonly middle: Buffer;
  readonly encodedMiddle: string;
  readonly evidence: string;
  readonly id: string;
  readonly request: string;
  readonly salt: string;
  readonly subject: string;
  readonly end: string;
}

/** The shared facts of receipts, and the texts that follow from them. */
export class ReceiptTemplate {
  readonly shared: SharedFacts;
  /** JSON text of the shared facts, as the store has them. */
  readonly facts: string;
  /** ISO time at which the receipts expire. */
  readonly expiresAt: string;
  /** Null if a fact is not ASCII: then each receipt is written alone. */
  readonly #between: Between | null;

  constructor(shared: SharedFacts) {
    this.shared = shared;
    const marked = {
      ...shared,
      ...Object.fromEntries(OWN_FACTS.map((name) => [name, MARK])),
    } as unknown as Receipt;
    this.facts = commonFacts(marked);
    this.expiresAt = isoTime(shared.expiresAt * 1000);
    this.#between = betweenOf(canonicalJson(marked).split(`"${MARK}"`));
  }

  /** Returns the receipt with some own facts. It lists the members: joining two objects takes twenty times as long. */
  receiptOf(own: OwnFacts): Receipt {
    const { shared } = this;
    return {
      v: shared.v,
      id: own.id,
      kind: shared.kind,
      subject: own.subject,
      requestSha256: own.requestSha256,
      answerSha256: own.answerSha256,
      evidenceSha256: own.evidenceSha256,
      verdict: shared.verdict,
      score: shared.score,
      riskLevel: shared.riskLevel,
      sanctioned: shared.sanctioned,
      reasonCodes: shared.reasonCodes,
      assessed: shared.assessed,
      asOf: shared.asOf,
      narrowed: shared.narrowed,
      coverage: shared.coverage,
      dataVersion: shared.dataVersion,
      graph: shared.graph,
      policySha256: shared.policySha256,
      policyVersion: shared.policyVersion,
      softwareVersion: shared.softwareVersion,
      issuedAt: shared.issuedAt,
      expiresAt: shared.expiresAt,
      issuer: shared.issuer,
      salt: own.salt,
      lines: shared.lines,
    } satisfies Receipt;
  }

  /** Returns the text of the receipt with some own facts. */
  textOf(own: OwnFacts): ReceiptText {
    const between = this.#between;
    const subject = canonicalJson(own.subject);
    if (between === null || !ASCII.test(subject)) return wholeText(this.receiptOf(own));
    const start = `${between.answer}"${own.answerSha256}"${between.first}`;
    const end =
      `${between.evidence}"${own.evidenceSha256}"${between.id}"${own.id}"${between.request}"${own.requestSha256}"` +
      `${between.salt}"${own.salt}"${between.subject}${subject}${between.end}`;
    const { middle, encodedMiddle } = between;
    const length = start.length + middle.length + end.length;
    if (length > scratch.length) return wholeText(this.receiptOf(own));
    scratch.write(start, 0, 'latin1');
    scratch.set(middle, start.length);
    scratch.write(end, start.length + middle.length, 'latin1');
    const encoded = (from: number, to: number): string => scratch.toString('base64url', from, to);
    return {
      hash: sha256(scratch.subarray(0, length)),
      encoded: [encoded(0, start.length), encodedMiddle, encoded(start.length + middle.length, length)],
    };
  }
}

/** Returns the text of a receipt that has no template. */
export function wholeText(receipt: Receipt): ReceiptText {
  const bytes = Buffer.from(canonicalJson(receipt), 'utf8');
  return { hash: sha256(bytes), encoded: [base64url(bytes), '', ''] };
}

function betweenOf(texts: readonly string[]): Between | null {
  const [answer, evidence, id, request, salt, subject, end, more] = texts;
  if (end === undefined || more !== undefined || !texts.every((text) => ASCII.test(text))) return null;
  const [toEvidence, toAnswer] = [evidence as string, answer as string];
  const first = (GROUP - ((toAnswer.length + ANSWER_BYTES) % GROUP)) % GROUP;
  const last = toEvidence.length - ((toEvidence.length - first) % GROUP);
  const middle = Buffer.from(toEvidence.slice(first, last), 'latin1');
  return {
    answer: toAnswer,
    first: toEvidence.slice(0, first),
    middle,
    encodedMiddle: base64url(middle),
    evidence: toEvidence.slice(last),
    id: id as string,
    request: request as string,
    salt: salt as string,
    subject: subject as string,
    end,
  };
}
