/** What refunds and disputes of a payment by card take back. */
import { describe, expect, it } from 'vitest';
import {
  type EarlyReversal,
  type Reversal,
  reversalOf,
  type Taken,
  takeBack,
} from '../../src/billing/reversals.ts';

describe('the reversal of an event', () => {
  const charge = (refunded: unknown, amount: unknown = 1_000) =>
    reversalOf('charge.refunded', { id: 'ch_1', payment_intent: 'pi_1', amount, amount_refunded: refunded });

  it('of a refund has what was refunded of which amount, up to all of it', () => {
    for (const refunded of [0, 1, 1_000])
      expect(charge(refunded)).toEqual({
        ...{ payment: 'pi_1', subject: `ch_1:${refunded}` },
        effect: { kind: 'refund', refunded, amount: 1_000 },
      });
  });

  it.each([
    [-1, 1_000],
    [1_001, 1_000],
    [0, 0],
    [0, -1],
    [1.5, 1_000],
    [1, 1_000.5],
    ['x', 1_000],
    [1, undefined],
    [2 ** 53, 2 ** 54],
  ])('of a refund of %s of %s is refused', (refunded, amount) => {
    expect(() =>
      reversalOf('charge.refunded', {
        ...{ id: 'ch_1', payment_intent: 'pi_1', amount, amount_refunded: refunded },
      }),
    ).toThrow(/amount_refunded: must be a number from 0 to amount/);
  });

  it('is none without a payment or an id, and of other events', () => {
    const row = { id: 'dp_1', payment_intent: 'pi_1', status: 'won' };
    expect(reversalOf('charge.dispute.created', { ...row, id: '' })).toBeNull();
    expect(reversalOf('charge.dispute.created', { id: 'dp_1' })).toBeNull();
    expect(reversalOf('charge.dispute.updated', row)).toBeNull();
    expect(reversalOf('charge.succeeded', row)).toBeNull();
    // A dispute that is closed in another state changes nothing.
    expect(reversalOf('charge.dispute.closed', { ...row, status: 'needs_response' })).toBeNull();
  });

  it.each([
    ['charge.dispute.created', 'won', { kind: 'dispute' }],
    ['charge.dispute.funds_withdrawn', 'needs_response', { kind: 'dispute' }],
    ['charge.dispute.closed', 'lost', { kind: 'dispute', isLost: true }],
    ['charge.dispute.closed', 'won', { kind: 'won', dispute: 'dp_1' }],
    ['charge.dispute.closed', 'warning_closed', { kind: 'won', dispute: 'dp_1' }],
    ['charge.dispute.funds_reinstated', 'under_review', { kind: 'won', dispute: 'dp_1' }],
  ] as const)('of %s (%s)', (type, status, effect) => {
    const won = effect.kind === 'won';
    expect(reversalOf(type, { id: 'dp_1', payment_intent: 'pi_1', status })).toEqual({
      ...{ payment: 'pi_1', subject: won ? 'dp_1:won' : 'dp_1', effect },
    });
  });
});

describe('the credits that reversals take back', () => {
  const refund = (refunded: number, amount = 10_000): Reversal => ({
    ...{ payment: 'pi_1', subject: `ch_1:${refunded}`, effect: { kind: 'refund', refunded, amount } },
  });
  const dispute = (id = 'dp_1'): Reversal => ({ payment: 'pi_1', subject: id, effect: { kind: 'dispute' } });
  const won = (id = 'dp_1'): Reversal => ({
    ...{ payment: 'pi_1', subject: `${id}:won`, effect: { kind: 'won', dispute: id } },
  });
  const all = (credits: number, reversals: readonly EarlyReversal[], start?: Taken): readonly number[] => {
    let taken: Taken = start ?? { credits, takenBack: {} };
    return reversals.map((reversal) => {
      const next = takeBack(reversal, taken);
      taken = next.taken;
      return next.credits;
    });
  };

  it('are the exact share of a refund, and the whole of a credit that is refunded in part', () => {
    expect(all(100, [refund(700)])).toEqual([7]);
    expect(all(100, [refund(701)])).toEqual([8]);
    expect(all(100, [refund(1)])).toEqual([1]);
    expect(all(100, [refund(0)])).toEqual([0]);
    expect(all(100, [refund(10_000)])).toEqual([100]);
  });

  it('are those beyond what earlier refunds took, in any order', () => {
    expect(all(100, [refund(2_500), refund(10_000), refund(5_000)])).toEqual([25, 75, 0]);
    expect(all(100, [refund(5_000), refund(2_500)])).toEqual([50, 0]);
  });

  it('are the same again for a repeated event, and nothing is stored', () => {
    const first = takeBack(refund(2_500), { credits: 100, takenBack: {} });
    const again = takeBack(refund(2_500), first.taken);
    expect(again.credits).toBe(25);
    expect(again.taken).toBe(first.taken);
  });

  it('are all while a dispute is open or lost, and what refunds took once all are won', () => {
    expect(all(100, [refund(2_500), dispute(), refund(5_000), won()])).toEqual([25, 75, 0, -50]);
    expect(all(100, [dispute('dp_1'), dispute('dp_2'), won('dp_1'), won('dp_2')])).toEqual([100, 0, 0, -100]);
    expect(all(100, [won(), dispute()])).toEqual([0, 0]);
    expect(all(100, [won('dp_1'), dispute('dp_2')])).toEqual([0, 100]);
  });

  it('are read from purchases of earlier releases, without the sums', () => {
    const earlier: Taken = { credits: 100, takenBack: { 'ch_1:2500': 25, dp_1: 75, 'dp_1:won': -75 } };
    expect(all(100, [refund(5_000)], earlier)).toEqual([25]);
    expect(all(100, [dispute('dp_2'), won('dp_2')], earlier)).toEqual([75, -75]);
    // A won dispute stays won.
    const { taken } = takeBack(refund(2_600), earlier);
    expect(taken).toMatchObject({ refundCredits: 26, won: ['dp_1'] });
    const share: EarlyReversal = {
      payment: 'pi_1',
      subject: 'ch_1:x',
      effect: { kind: 'refund', share: 0.301 },
    };
    expect(all(100, [share])).toEqual([31]);
  });
});
