/** What receipts are of, and their forms. */

/**
 * The operation of the answer. BULK: a job; its receipt binds all lines of its result by a Merkle root. BATCH: answers of the oracle of about
 * a second, bound in the same way.
 */
export const RECEIPT_KINDS = ['SCREENING', 'KYT', 'ORACLE', 'SANCTIONS', 'NAMES', 'BULK', 'BATCH'] as const;
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];

/** Form of a receipt in a response. */
export const RECEIPT_FORMS = ['none', 'jws', 'eip712'] as const;
/** Form of a receipt in a response of the oracle. batch: one signature a second for all answers; the proof is fetched later. */
export const ORACLE_RECEIPT_FORMS = [...RECEIPT_FORMS, 'batch'] as const;
export type ReceiptForm = (typeof ORACLE_RECEIPT_FORMS)[number];

/** Version of the format. A change of any field or of its meaning needs a new one. */
export const RECEIPT_VERSION = 1;
