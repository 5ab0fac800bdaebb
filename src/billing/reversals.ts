/**
 * The credits that refunds and disputes take back. After every event, an open or lost dispute has taken back all credits of the payment,
 * and otherwise refunds have taken back their share, whatever the order of the events. All functions are pure.
 */
import { invalid, type Row, textOf } from './stripe-rows.ts';

/** Effect of an event on a payment. */
type Effect =
  /** Refunded so far, and the amount of the payment, in minor units. */
  | { readonly kind: 'refund'; readonly refunded: number; readonly amount: number }
  | { readonly kind: 'dispute'; readonly isLost?: boolean }
  | { readonly kind: 'won'; readonly dispute: string };

/** Takes credits back, or returns them, in the same form for all events. */
export interface Reversal {
  /** The payment (`pi_…`). */
  readonly payment: string;
  /** Identifies the refund or dispute; the same in every event about it. */
  readonly subject: string;
  readonly effect: Effect;
}

/** As an earlier release stored a refund: with the refunded share, from 0 to 1. */
interface ShareReversal extends Omit<Reversal, 'effect'> {
  readonly effect: { readonly kind: 'refund'; readonly share: number };
}

/** A stored reversal of a payment that is not known yet. */
export type EarlyReversal = Reversal | ShareReversal;

/** The credits of a purchase, and those that were taken back since. */
export interface Taken {
  readonly credits: number;
  /** Credits that each event took back, by the event's subject; negative if it returned them. */
  readonly takenBack: Readonly<Record<string, number>>;
  /** Credits that refunds alone take back; absent before the first, and if an earlier release stored the purchase. */
  readonly refundCredits?: number;
  /** Disputes that were won. */
  readonly won?: readonly string[];
}

/** Returns the reversal of an event that takes back or returns credits; null for all other events. */
export function reversalOf(type: string, object: Row): Reversal | null {
  const payment = textOf(object.payment_intent);
  const id = textOf(object.id);
  if (payment === '' || id === '') return null;
  if (type === 'charge.refunded') {
    const amount = Number(object.amount);
    const refunded = Number(object.amount_refunded);
    const isValid = Number.isSafeInteger(amount) && Number.isSafeInteger(refunded) && amount > 0;
    if (!isValid || refunded < 0 || refunded > amount)
      throw invalid('data.object.amount_refunded', 'must be a number from 0 to amount');
    return { payment, subject: `${id}:${refunded}`, effect: { kind: 'refund', refunded, amount } };
  }
  if (type === 'charge.dispute.created' || type === 'charge.dispute.funds_withdrawn')
    return { payment, subject: id, effect: { kind: 'dispute' } };
  if (type === 'charge.dispute.closed' && object.status === 'lost')
    return { payment, subject: id, effect: { kind: 'dispute', isLost: true } };
  // An inquiry that did not become a dispute ends with `warning_closed`; no money was withdrawn.
  const isWon =
    type === 'charge.dispute.closed' && (object.status === 'won' || object.status === 'warning_closed');
  if (isWon || type === 'charge.dispute.funds_reinstated')
    return { payment, subject: `${id}:won`, effect: { kind: 'won', dispute: id } };
  return null;
}

/** Returns the credits of a refund. A refunded fraction of a credit takes back the whole credit. */
function refundOf({ effect }: EarlyReversal, credits: number): number {
  if (effect.kind !== 'refund') return 0;
  if ('share' in effect) return Math.ceil(credits * effect.share);
  const { refunded, amount } = effect;
  // Exact: a float would take back 8 of 100 credits for 7 %.
  return Number((BigInt(credits) * BigInt(refunded) + BigInt(amount) - 1n) / BigInt(amount));
}

const isRefund = (subject: string): boolean => subject.includes(':') && !subject.endsWith(':won');
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/**
 * Applies a reversal.
 *
 * @returns what is stored then (the same object if nothing changed), and the credits that the event takes back (negative: returns). A
 * repeated event gets the same number again.
 */
export function takeBack<T extends Taken>(
  reversal: EarlyReversal,
  purchase: T,
): { readonly taken: Taken | T; readonly credits: number } {
  const { subject, effect } = reversal;
  const { credits, takenBack } = purchase;
  const known = takenBack[subject];
  if (known !== undefined) return { taken: purchase, credits: known };
  const subjects = Object.keys(takenBack);
  const before =
    purchase.refundCredits ?? sum(subjects.filter(isRefund).map((refund) => takenBack[refund] ?? 0));
  const refundCredits = Math.max(before, refundOf(reversal, credits));
  const earlierWon =
    purchase.won ?? subjects.flatMap((one) => (one.endsWith(':won') ? [one.slice(0, -':won'.length)] : []));
  const won = effect.kind === 'won' ? [...new Set([...earlierWon, effect.dispute])] : earlierWon;
  const disputes = subjects.filter((one) => !one.includes(':'));
  const isDisputed = [...disputes, ...(effect.kind === 'dispute' ? [subject] : [])].some(
    (dispute) => !won.includes(dispute),
  );
  const target = isDisputed ? credits : refundCredits;
  const change = target - sum(Object.values(takenBack));
  return {
    taken: { credits, takenBack: { ...takenBack, [subject]: change }, refundCredits, won },
    credits: change,
  };
}
