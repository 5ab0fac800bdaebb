/** The port of the store of receipts. store-lmdb.ts implements it over live state: on one machine in LMDB, on many nodes in Redis. */
import type { SigningKeys } from './keys.ts';
import type { ReceiptKind } from './kinds.ts';
import type { Receipt } from './receipt-schema.ts';

/** A part of evidence that many receipts share: the policy, the state of the lists, the labels of an address. */
export type PartName = 'coverage' | 'policy' | 'labels';

/** Shared parts of a receipt and its evidence, by their SHA-256. */
export type PartHashes = Readonly<Partial<Record<PartName, string>>>;

/** A receipt as it is stored. The text of the receipt and its evidence are stored beside it. */
export interface StoredReceipt {
  readonly id: string;
  readonly accountId: string;
  readonly kind: ReceiptKind;
  /** Id of the key, or of the person of a session, that requested it. */
  readonly issuedTo: string;
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** SHA-256 of the receipt, hexadecimal: its leaf. Kept if the content is erased. */
  readonly sha256: string;
  readonly kid: string;
  /** base64url. */
  readonly signature: string;
  /** Null if the content exists. */
  readonly erasedAtMs: number | null;
  /** Compressed bytes beside the record; 0 if the content was erased. */
  readonly storedBytes: number;
  readonly parts: PartHashes;
}

/** The content of a receipt: what erasing it removes. */
export interface ReceiptContent {
  readonly receipt: Receipt;
  /** The evidence of the answer with its shared parts; evidence.ts has its types. */
  readonly evidence: Readonly<Record<string, unknown>>;
  /** The scoring policy as JSON. */
  readonly policy: object;
}

/** Facts that differ in each receipt, in their canonical order. */
export const OWN_FACTS = [
  'answerSha256',
  'evidenceSha256',
  'id',
  'requestSha256',
  'salt',
  'subject',
] as const;
export type OwnFact = (typeof OWN_FACTS)[number];
export type OwnFacts = Pick<Receipt, OwnFact>;

/** The content of a new receipt, as the texts that its hashes needed: a store need not write them again. */
export interface ContentTexts {
  readonly own: OwnFacts;
  /** JSON text of the other facts, without `coverage` (`commonFacts`). */
  readonly facts: string;
  /** The same object for all receipts as long as nothing changes, and so is the policy: each object is hashed and compressed once. */
  readonly coverage: Receipt['coverage'];
  readonly policy: object;
  /** Canonical text of the labels of the evidence; null if it has none. */
  readonly labels: string | null;
  /** Canonical text of the evidence without its labels. */
  readonly evidence: string;
}

export type NewStoredReceipt = Omit<StoredReceipt, 'signature' | 'erasedAtMs' | 'storedBytes' | 'parts'>;

/**
 * Stores a prepared receipt with its signature, 64 bytes. Durable when it resolves.
 */
export type StoreSigned = (signature: Uint8Array) => Promise<void>;

export interface ReceiptStore {
  readonly keys: SigningKeys;
  /** Resolves when all receipts can be read. */
  ready(): Promise<void>;
  /**
   * Prepares a receipt and its evidence for the store. Hundreds of receipts wait for their signatures at a time: nothing of their answers need
   * be kept meanwhile.
   *
   * @param leaves - of a batch, 32 bytes for each line
   * @throws INVALID_REQUEST if the evidence is too large
   */
  prepare(row: NewStoredReceipt, content: ContentTexts, leaves?: Buffer): StoreSigned;
  /** Null also for a receipt of another account. Without an account, of any: for the operator. */
  get(id: string, accountId?: string): StoredReceipt | null;
  /**
   * Returns the content of a receipt; null if it was erased.
   *
   * @throws STORE_CORRUPT if the stored bytes do not have the hash of the receipt
   */
  content(row: StoredReceipt): ReceiptContent | null;
  /**
   * Returns 256 leaves of a batch, fewer at its end.
   *
   * @throws STORE_CORRUPT if there are none
   */
  leaves(id: string, tile: number): Buffer;
  /** Erases the content of a receipt and keeps its hash. Erasing it again changes nothing. Null if there is no such receipt. */
  erase(id: string): Promise<StoredReceipt | null>;
  /**
   * Deletes receipts that were issued before a time. When none is left, deletes the shared parts that only such receipts used. Durable when
   * it resolves.
   *
   * @returns the deleted receipts: `limit` or a few more, because those of one record are deleted together; fewer if no other is due
   */
  deleteIssuedBefore(beforeMs: number, limit: number): Promise<readonly StoredReceipt[]>;
  /** Returns the compressed bytes of the receipts and of the shared parts. Reads the whole store: for benchmarks and tests. */
  bytes(): { readonly receipts: number; readonly own: number; readonly parts: number };
  close(): Promise<void>;
}
