/** Extreme addresses: hubs, dust, cycles, self-transfers, exhausted budgets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Transfer } from '../../src/chains/transfer.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { createScreening, type ScreeningQuery } from '../../src/screening/screen.ts';
import { createTrace, type TraceQuery } from '../../src/screening/trace.ts';
import { createWorld, sent, template, WALLETS, type World } from './world.ts';

const account = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;

/** Has one counterparty more than a trace passes, and pays one address. */
const HUB = account(0xb0b);
const BEHIND_HUB = account(0xb0c);
const PAYERS = GRAPH_LIMITS.counterpartiesMax + 1;
/** Was sent a cent by a phisher, and by two thousand others. */
const DUSTED = account(0xd057);
/** Received nothing but dust. */
const ONLY_DUST = account(0xd058);
const [RING_A, RING_B, RING_C] = [account(0xc1), account(0xc2), account(0xc3)];
/** Paid by 50 addresses, each paid by 60 others: more than one screening reads. */
const WIDE = account(0x31de);
/** Was paid once by a sanctioned party, and then by more mixers than an answer lists, each of which paid more. */
const CROWDED = account(0xc0ded);
const MIXERS = Array.from({ length: SCREENING_LIMITS.screeningListMax + 1 }, (_, at) =>
  account(0x500000 + at),
);

function transfers(): Transfer[] {
  const made: Transfer[] = [];
  const add = (from: string, to: string, valueUsd: number | null): void => {
    made.push(sent(1_000 + made.length, from, to, { valueUsd }));
  };
  for (let at = 0; at < PAYERS; at++) add(account(0x100000 + at), HUB, 10);
  add(HUB, BEHIND_HUB, 5_000);
  add(WALLETS.mixer, HUB, 1_000_000);
  add(WALLETS.phishing, DUSTED, 0.01);
  for (let at = 0; at < 2_000; at++) add(account(0x200000 + at), DUSTED, 0.01);
  add(WALLETS.exchange, DUSTED, 900);
  add(WALLETS.phishing, ONLY_DUST, 0.5);
  // A cycle with money of a mixer, whose largest payments are to itself.
  add(WALLETS.mixer, RING_A, 100);
  add(RING_A, RING_B, 1_000);
  add(RING_B, RING_C, 1_000);
  add(RING_C, RING_A, 900);
  add(RING_A, RING_A, 1_000_000);
  for (let from = 0; from < 50; from++) {
    add(account(0x300000 + from), WIDE, 100);
    for (let at = 0; at < 60; at++) add(account(0x400000 + from * 60 + at), account(0x300000 + from), 10);
  }
  add(WALLETS.sanctioned, CROWDED, 100);
  for (const mixer of [...MIXERS, ...MIXERS]) add(mixer, CROWDED, 200);
  return made;
}

let world: World;
let screening: ScreeningQuery;
let trace: TraceQuery;
beforeAll(async () => {
  world = await createWorld(
    transfers(),
    MIXERS.map((mixer, at) => [mixer, template(`Mixer ${at}`, 'MIXER')]),
  );
  const assessor = createAssessor(world.deps);
  screening = createScreening(world.deps, assessor);
  trace = createTrace(world.deps, assessor);
});
afterAll(() => world.close());

const screen = (address: string, maxHops = 3) => screening({ chain: 'ETH', address, maxHops });
const sum = (shares: object): number =>
  Math.round(100 * Object.values(shares).reduce((total: number, one: number) => total + one, 0)) / 100;

describe('an address with more counterparties than are read', () => {
  it('is screened by the largest of them, and reports the omission', () => {
    const answer = screen(HUB);
    expect(answer.topCounterparties).toHaveLength(SCREENING_LIMITS.screeningListMax);
    expect(answer.topCounterparties[0]).toMatchObject({ address: WALLETS.mixer, category: 'MIXER' });
    expect(answer.exposureReceiving.MIXER).toBeGreaterThan(90);
    expect(sum(answer.exposureReceiving)).toBe(100);
    expect(answer.stoppedAt).toContainEqual(
      expect.objectContaining({ address: HUB, reason: 'MAX_DEGREE', direction: 'in' }),
    );
  });

  it('ends every walk that reaches it', () => {
    const answer = screen(BEHIND_HUB);
    expect(answer.exposureReceiving).toEqual({ UNKNOWN: 100 });
    expect(answer.stoppedAt).toEqual([
      { address: HUB, reason: 'MAX_DEGREE', direction: 'in', asset: null, percentage: 100 },
    ]);
    const { stoppedAt } = trace({ chain: 'ETH', address: BEHIND_HUB, hops: 3 }).answer;
    expect(stoppedAt).toContainEqual({ address: HUB, reason: 'MAX_DEGREE' });
  });

  it('is traced within the budget, and reports where the trace ended', () => {
    const { answer } = trace({ chain: 'ETH', address: HUB, direction: 'in', hops: 1 });
    expect(answer.stats.totalNodes).toBe(SCREENING_LIMITS.traceNodesMax);
    expect(answer.stoppedAt).toContainEqual({ address: HUB, reason: 'BUDGET' });
  });
});

describe('dust', () => {
  it('has its exact share, and adds no points to an address that also received value', () => {
    const answer = screen(DUSTED);
    expect(answer.exposureReceiving).toEqual({ EXCHANGE: 97.83, UNKNOWN: 2.17 });
    expect(answer.riskScore).toBe(0);
    // It is still seen.
    expect(answer.transactionFlow.inflow.txCount).toBe(2_002);
    expect(answer.flaggedTransactions).toMatchObject([{ category: 'PHISHING', valueUsd: 0.01 }]);
  });

  it('always lists the transfer of a sanctioned party, however many others are newer', () => {
    const { flaggedTransactions } = screening({ chain: 'ETH', address: CROWDED });
    expect(flaggedTransactions).toHaveLength(SCREENING_LIMITS.screeningListMax);
    // Newest first: it is the oldest.
    expect(flaggedTransactions.map(({ category }) => category)).toEqual([
      ...Array.from({ length: SCREENING_LIMITS.screeningListMax - 1 }, () => 'MIXER'),
      'SANCTIONED_ENTITY',
    ]);
  });

  it('is reported if there is nothing else, and adds no points', () => {
    const answer = screen(ONLY_DUST);
    expect(answer.exposureReceiving).toEqual({ PHISHING: 100 });
    expect(answer.riskScore).toBe(0);
  });
});

describe('cycles', () => {
  it('end, and their shares add up', () => {
    for (const address of [RING_A, RING_B, RING_C]) {
      const answer = screen(address, 5);
      expect(sum(answer.exposureReceiving)).toBe(100);
      expect(answer.exposureReceiving.MIXER).toBeGreaterThan(0);
      expect(answer.riskScore).toBeGreaterThan(0);
    }
  });

  it('of one address do not make it its own counterparty', () => {
    const answer = screen(RING_A);
    expect(answer.topCounterparties.map(({ address }) => address)).not.toContain(RING_A);
    expect(answer.transactionFlow.outflow.valueUsd).toBe(1_000);
    const { nodes, edges } = trace({ chain: 'ETH', address: RING_A, hops: 3 }).answer;
    expect(new Set(nodes.map(({ address }) => address)).size).toBe(nodes.length);
    expect(edges.every(({ from, to }) => from !== to)).toBe(true);
  });
});

describe('an exhausted budget', () => {
  it('leaves the rest unknown, and reports it', () => {
    const answer = screen(WIDE, 5);
    expect(answer.exposureReceiving).toEqual({ UNKNOWN: 100 });
    expect(answer.stoppedAt.some(({ reason }) => reason === 'BUDGET')).toBe(true);
    const again = screen(WIDE, 5);
    expect({ ...again, screenedAt: '' }).toEqual({ ...answer, screenedAt: '' });
  });
});
