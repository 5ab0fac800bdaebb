/** The port of receipts: issues one for an answer, returns it later, and erases its content. receipts.ts implements it. */
import type { Evidence } from '../screening/evidence.ts';
import type { SignedVerdict, VerdictTarget } from './eip712.ts';
import type { SigningKeys } from './keys.ts';
import type { ReceiptKind } from './kinds.ts';
import type { ReceiptContent, StoredReceipt } from './store.ts';

/** Evidence of a name screening: its matches and their reasons. A name is not matched again, because the lists are not part of it. */
export interface NamesEvidence {
  readonly kind: 'NAMES';
  readonly answer: Readonly<Record<string, unknown>>;
}

/** Evidence of a receipt that binds lines. They are not scored again: each is bound as it was answered. */
export interface LinesEvidence {
  readonly kind: 'BULK' | 'BATCH';
  readonly answer: Readonly<Record<string, unknown>>;
  /** Of BULK: the secret from which the salts of the lines follow (salted-lines.ts), hexadecimal. */
  readonly lineSecret?: string;
}

/** Lines that a receipt binds, and the root of their tree, hexadecimal. */
export interface BoundLines {
  readonly count: number;
  readonly root: string;
}

/** An answer that gets a receipt. */
export interface AnswerToAttest {
  readonly kind: ReceiptKind;
  /** The fields of the request, without `receipt` and `save`. */
  readonly request: object;
  /** `data` of the response, without `own`. */
  readonly answer: Readonly<Record<string, unknown>>;
  /**
   * Members of `data` that are of this answer alone. With them, `answer` and `evidence` may be those of many answers: if they are the same
   * objects as before, what follows from them is not computed again.
   */
  readonly own?: Readonly<Record<string, unknown>>;
  readonly evidence: Evidence | NamesEvidence | LinesEvidence;
  /** Canonical addresses of the subjects, if the caller has parsed them. Default: they are parsed from the answer. */
  readonly addresses?: readonly string[];
  /** Of BULK and BATCH. */
  readonly lines?: BoundLines;
}

/** A batch of answers with a complete tree. */
export interface ClosedBatch {
  readonly id: string;
  readonly lines: BoundLines;
  /** 32 bytes for each line. */
  readonly leaves: Buffer;
}

/** The proof that a receipt of the kind BATCH binds a line. */
export interface BatchProof {
  readonly receipt: IssuedReceipt;
  readonly line: number;
  /** Lines of the batch. */
  readonly count: number;
  /** Hashes from the sibling of the leaf to the child of the root, hexadecimal. */
  readonly path: readonly string[];
}

/** The member `receipt` of a response. */
export interface IssuedReceipt {
  readonly id: string;
  readonly jws: string;
  /** ISO time. */
  readonly expiresAt: string;
  /** The verdict for a contract, if one was requested. */
  readonly eip712?: SignedVerdict;
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
   * @param target - the contract for which the verdict is signed as well; null for none
   * @throws INTERNAL if the evidence does not give the answer: such a receipt could not be verified later; STORAGE_FULL, NOT_READY, OVERLOADED;
   * INVALID_REQUEST if there is a target, and the answer is not about one EVM address as it is now
   */
  issue(
    client: { readonly accountId: string; readonly issuedTo: string },
    answer: AnswerToAttest,
    target?: VerdictTarget | null,
  ): Promise<IssuedReceipt>;
  /**
   * Like `issue`.
   *
   * @returns the JSON text of the answer, as it was hashed, with its receipt as one more member
   * @throws as `issue`
   */
  attest(...issued: Parameters<Receipts['issue']>): Promise<string>;
  /** Signs a batch of answers, stores it with its leaves, and appends it to the log. It belongs to no account. */
  issueBatch(batch: ClosedBatch): Promise<void>;
  /**
   * Returns the proof of a line of a batch, when the batch is in the log. It reveals nothing of the answers, so any client may have it.
   *
   * @throws NOT_FOUND, NOT_READY, OVERLOADED
   */
  batchProof(id: string, line: number): Promise<BatchProof>;
  /**
   * Returns a receipt of an account; without an account, of any.
   *
   * @param kinds - the kinds that the client may read. Default: all
   * @throws NOT_FOUND
   */
  one(id: string, accountId?: string, kinds?: readonly ReceiptKind[]): ReceiptView;
  /**
   * Erases the content of a receipt; its hash stays.
   *
   * @throws NOT_FOUND
   */
  erase(id: string): Promise<StoredReceipt>;
}
