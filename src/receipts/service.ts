/** The port of receipts: issues one for an answer, returns it later, and erases its content. receipts.ts implements it. */
import type { Evidence } from '../screening/evidence.ts';
import type { SigningKeys } from './keys.ts';
import type { ReceiptKind } from './receipt.ts';
import type { ReceiptContent, StoredReceipt } from './store.ts';

/** Evidence of a name screening: its matches and their reasons. A name is not matched again, because the lists are not part of it. */
export interface NamesEvidence {
  readonly kind: 'NAMES';
  readonly answer: Readonly<Record<string, unknown>>;
}

/** An answer that gets a receipt. */
export interface AnswerToAttest {
  readonly kind: Exclude<ReceiptKind, 'BULK'>;
  /** The fields of the request, without `receipt` and `save`. */
  readonly request: object;
  /** `data` of the response. */
  readonly answer: Readonly<Record<string, unknown>>;
  readonly evidence: Evidence | NamesEvidence;
}

/** The member `receipt` of a response. */
export interface IssuedReceipt {
  readonly id: string;
  readonly jws: string;
  /** ISO time. */
  readonly expiresAt: string;
}

/** A stored receipt with its content; the content is null if it was erased. */
export interface ReceiptView {
  readonly stored: StoredReceipt;
  readonly jws: string | null;
  readonly content: ReceiptContent | null;
}

export interface Receipts {
  readonly keys: SigningKeys;
  /**
   * Signs the facts of an answer, stores the receipt with the evidence, and appends its hash to the transparency log. Durable when it
   * resolves.
   *
   * @throws INTERNAL if the evidence does not give the answer: such a receipt could not be verified later; STORAGE_FULL, NOT_READY, OVERLOADED
   */
  issue(
    client: { readonly accountId: string; readonly issuedTo: string },
    answer: AnswerToAttest,
  ): Promise<IssuedReceipt>;
  /**
   * Returns a receipt of an account; without an account, of any.
   *
   * @throws NOT_FOUND
   */
  one(id: string, accountId?: string): ReceiptView;
  /**
   * Erases the content of a receipt; its hash stays.
   *
   * @throws NOT_FOUND
   */
  erase(id: string): Promise<StoredReceipt>;
}
