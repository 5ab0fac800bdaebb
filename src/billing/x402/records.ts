/** Records of payments by a signed authorization (EIP-3009). Times are in milliseconds since 1970, amounts decimal texts in the smallest unit. */
import type { ChainId } from '../../chains/registry.ts';

/** An authorization to move tokens, and its signature. Addresses and hexadecimal digits are in lower case. */
export interface Authorization {
  readonly from: string;
  readonly to: string;
  readonly value: string;
  /** Seconds since 1970. */
  readonly validAfter: string;
  readonly validBefore: string;
  /** 32 bytes. */
  readonly nonce: string;
  readonly signature: string;
}

/**
 * QUEUED: stored, in no transaction yet. SENT: a transaction is stored, and may be known to the chain. SETTLED: the money has arrived.
 * FAILED: it has not. A FAILED payment with an authorization that was on the chain is watched until it can no longer be used.
 */
export const TRANSFER_STATES = ['QUEUED', 'SENT', 'SETTLED', 'FAILED'] as const;
export type TransferState = (typeof TRANSFER_STATES)[number];

/** A signed transaction. It is public once it is sent, and contains no secret. */
export interface Attempt {
  readonly hash: string;
  readonly raw: string;
}

/** The transaction of a payment: the same call with rising fees. */
export interface Sending {
  /** Nonce of the gas-paying account. */
  readonly accountNonce: number;
  readonly gas: number;
  /** Wei per gas, of the newest attempt. */
  readonly maxFee: string;
  readonly tip: string;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly sentAtMs: number;
}

/** Where the money arrived. */
export interface Arrival {
  readonly transaction: string;
  readonly height: number;
  readonly blockHash: string;
  readonly settledAtMs: number;
}

/** The part of a payment that the chain decides. */
export interface Transfer {
  readonly state: TransferState;
  /** Reason of a failure, in the words of x402; null in every other state. */
  readonly reason: string | null;
  /** Whether the gas-paying account sends the authorization again if it is presented again: it was never on the chain. */
  readonly mayRetry: boolean;
  /** Null before the first transaction. */
  readonly sending: Sending | null;
  /** Null unless it is SETTLED. */
  readonly arrival: Arrival | null;
  /** Whether no reorg can change it any more, and no later use of the authorization is possible. */
  readonly isFinal: boolean;
  /** Block of the chain when it was stored: an earlier use of the authorization was refused. */
  readonly sinceHeight: number;
}

/** The request that a payment pays for. */
export interface PaidRequest {
  /** Id of the operation. */
  readonly operation: string;
  /** SHA-256 of the method, the path, the query and the body, hex. */
  readonly hash: string;
}

/** The answer to a request that was paid. */
export interface Served {
  /** Ledger entry of the charge; null if it is not known, after a crash. */
  readonly entryId: string | null;
  readonly atMs: number;
}

interface AnyPayment {
  /** `<chain> <contract> <payer> <nonce>`: the contract accepts it once. */
  readonly key: string;
  readonly chain: ChainId;
  /** Contract of the token, lower case. */
  readonly asset: string;
  readonly authorization: Authorization;
  readonly createdAtMs: number;
  readonly transfer: Transfer;
}

/** A payment for one request. */
export interface CallPayment extends AnyPayment {
  readonly kind: 'call';
  /** Credits that it buys. */
  readonly credits: number;
  /** Payment identifier of the client; null if it sent none. */
  readonly identifier: string | null;
  /** Hash of the client's address: without an identifier, only this client may ask for the answer again. */
  readonly client: string;
  /** Null after its request was refused as invalid: the payment is then good for another one of the operation. */
  readonly request: PaidRequest | null;
  readonly operation: string;
  /** Ledger entry of the purchase; null before it is booked, and after it was taken back because a reorg removed the payment. */
  readonly purchase: string | null;
  /** Entries of the ledger that were booked: purchases, and their reversals. */
  readonly bookings: number;
  /** When a node began to work on the answer; null while none does. */
  readonly servingAtMs: number | null;
  readonly served: Served | null;
}

/** A payment of an invoice: the watcher of its address books it. */
export interface InvoicePaymentAuthorization extends AnyPayment {
  readonly kind: 'invoice';
  readonly accountId: string;
  readonly invoiceId: string;
  readonly part: number;
}

export type AuthorizedPayment = CallPayment | InvoicePaymentAuthorization;

/** Returns the key of a payment. */
export const paymentKey = (chain: ChainId, asset: string, { from, nonce }: Authorization): string =>
  `${chain} ${asset} ${from} ${nonce}`;

/** A payment that is not in a transaction yet. */
export const queued = (sinceHeight: number): Transfer => ({
  ...{ state: 'QUEUED', reason: null, mayRetry: false, sending: null, arrival: null, isFinal: false },
  sinceHeight,
});

/** Whether the gas-paying account, or a look at the chain, has work with a payment. */
export const isOpen = ({ transfer: { isFinal } }: AuthorizedPayment): boolean => !isFinal;

/**
 * Whether nothing can happen to a payment any more: the chain has decided, and a call is booked and answered. A paid call that waits for its
 * request is not finished, and neither is an answered one that a reorg has left unpaid: an operator should see it.
 */
export function isFinished(payment: AuthorizedPayment): boolean {
  if (!payment.transfer.isFinal) return false;
  if (payment.kind === 'invoice') return true;
  const { transfer, served, purchase } = payment;
  return transfer.state === 'SETTLED'
    ? served !== null && purchase !== null
    : served === null && purchase === null;
}

/** Data of the calls with deleted records, by which their entries in the ledger can be identified. */
export interface DeletedCalls {
  readonly purchases: number;
  /** Exclusive or of the SHA-256 of the ids of their purchases in the ledger, hex. */
  readonly digest: string;
}
