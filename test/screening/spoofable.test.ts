/** Transfers that anyone can add to the history of an address are shown and named, but are not evidence. */
import { afterEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { evmLookAlike, evmLookAlikeOfText, lookAlikeKey } from '../../src/chains/look-alike.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { ScreeningAnswer } from '../../src/screening/answers.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKyt } from '../../src/screening/kyt.ts';
import { realCounterparties } from '../../src/screening/poisoning.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { createWorld, sent, WALLETS, type World } from './world.ts';

const HOLDER = '0x1111111111111111111111111111111111111111';
const FRIEND = '0xabcdef0000000000000000000000000000005678';
const LOOK_ALIKE = '0xabcffffffffffffffffffffffffffffffffff678'.replace(/f678$/, '5678');
const ATTACKER = '0x2222222222222222222222222222222222222222';
const WORTHLESS = '0x3333333333333333333333333333333333333333';
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const canonical = (text: string): string => parseAddress('ETH', text).canonical;

const token = (asset: string, change: Partial<Transfer> = {}): Partial<Transfer> => ({
  asset: canonical(asset),
  position: 'log:0',
  decimals: 6,
  amount: 1_000_000n,
  valueUsd: null,
  ...change,
});
const from = (address: string) => ({ sender: address, callsAsset: true, decodes: false });

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});
async function screen(...transfers: Transfer[]): Promise<ScreeningAnswer> {
  world = await createWorld(transfers);
  return createScreening(world.deps, createAssessor(world.deps))({ chain: 'ETH', address: HOLDER });
}
const reasonsOf = (answer: ScreeningAnswer, code: string) =>
  answer.reasons.filter((reason) => reason.code === code);

describe('a transfer of an unknown token', () => {
  const forged = sent(20, HOLDER, WALLETS.sanctioned, token(WORTHLESS, { initiation: from(ATTACKER) }));

  it('to a sanctioned address is shown without a flag', async () => {
    const answer = await screen(forged);
    expect(answer.flaggedTransactions).toEqual([]);
    expect(answer.spoofableTransfers).toEqual([
      {
        hash: forged.txHash,
        timestamp: '2026-01-21T00:00:00.000Z',
        direction: 'out',
        counterparty: WALLETS.sanctioned,
        entity: expect.objectContaining({ name: 'LAZARUS GROUP' }),
        category: 'SANCTIONED_ENTITY',
        asset: WORTHLESS,
        amount: '1',
        decimals: 6,
        kind: 'UNKNOWN_TOKEN',
        imitates: null,
        holderSent: false,
        callsAsset: true,
        decodes: false,
      },
    ]);
    expect(reasonsOf(answer, 'SPOOFABLE_TRANSFER')).toEqual([
      expect.objectContaining({
        severity: 'LOW',
        category: 'SANCTIONED_ENTITY',
        message: expect.stringMatching(/^1 transfer with LAZARUS GROUP \(SANCTIONED_ENTITY\): .*0 points\.$/),
      }),
    ]);
  });

  it('adds no point, and KYT allows it', async () => {
    const spam = Array.from({ length: 5 }, (_, index) =>
      sent(40 + index, WALLETS.mixer, HOLDER, token(WORTHLESS)),
    );
    const answer = await screen(forged, ...spam);
    expect([answer.riskScore, answer.riskLevel, answer.scoreBreakdown]).toEqual([0, 'LOW', []]);
    expect(answer.reasons.map(({ code }) => code)).toEqual(['SPOOFABLE_TRANSFER']);
    const { deps } = world as World;
    const kyt = createKyt(deps, createAssessor(deps))({ chain: 'ETH', address: HOLDER });
    expect([kyt.riskScore, kyt.decision]).toEqual([0, 'ALLOW']);
  });

  it('reports an unknown initiation if its source does not show the transaction', async () => {
    const answer = await screen({ ...forged, initiation: null });
    expect(answer.spoofableTransfers).toMatchObject([{ holderSent: null, callsAsset: null, decodes: null }]);
  });

  it('says whether the transaction calls the token, and whether its data is that transfer', async () => {
    for (const [callsAsset, decodes] of [
      [false, false],
      [true, false],
      [null, null],
    ] as const) {
      const answer = await screen({ ...forged, initiation: { sender: ATTACKER, callsAsset, decodes } });
      expect(answer.spoofableTransfers).toMatchObject([{ holderSent: false, callsAsset, decodes }]);
    }
  });

  it('is no evidence either if the holder signed the call', async () => {
    const initiation = { sender: HOLDER, callsAsset: true, decodes: true };
    const answer = await screen({ ...forged, initiation });
    expect(answer.flaggedTransactions).toEqual([]);
    expect(answer.spoofableTransfers).toMatchObject([{ holderSent: true, callsAsset: true, decodes: true }]);
  });

  it('is evidence if the token is listed or is the native coin', async () => {
    const answer = await screen(
      sent(21, HOLDER, WALLETS.sanctioned, token(USDT, { valueUsd: 1 })),
      sent(22, WALLETS.mixer, HOLDER),
    );
    expect(answer.spoofableTransfers).toEqual([]);
    expect(answer.flaggedTransactions.map(({ category }) => category)).toEqual([
      'MIXER',
      'SANCTIONED_ENTITY',
    ]);
    expect(reasonsOf(answer, 'SPOOFABLE_TRANSFER')).toEqual([]);
  });

  it('with an unlabelled address is spam, and is not listed', async () => {
    const answer = await screen(sent(23, ATTACKER, HOLDER, token(WORTHLESS)));
    expect(answer.spoofableTransfers).toEqual([]);
  });

  it('stays visible behind any number of newer ones, in lists of limited length', async () => {
    const spam = Array.from({ length: 300 }, (_, index) =>
      sent(100 + index, WALLETS.exchange, HOLDER, token(WORTHLESS)),
    );
    const answer = await screen(forged, ...spam);
    expect(answer.spoofableTransfers).toHaveLength(50);
    expect(answer.spoofableTransfers.at(-1)).toMatchObject({ hash: forged.txHash });
    expect(reasonsOf(answer, 'SPOOFABLE_TRANSFER')).toHaveLength(1);
  });
});

describe('address poisoning', () => {
  const paid = sent(30, HOLDER, FRIEND);

  it('by a zero-value transferFrom in the name of the holder is reported with both addresses', async () => {
    const answer = await screen(
      paid,
      sent(31, HOLDER, LOOK_ALIKE, token(USDT, { amount: 0n, valueUsd: 0, initiation: from(ATTACKER) })),
    );
    expect(answer.spoofableTransfers).toMatchObject([
      { counterparty: LOOK_ALIKE, imitates: FRIEND, kind: 'ZERO_VALUE_TOKEN', holderSent: false },
    ]);
    const [reason] = reasonsOf(answer, 'ADDRESS_POISONING');
    expect(reason?.severity).toBe('LOW');
    expect(reason?.message).toContain(LOOK_ALIKE);
    expect(reason?.message).toContain(FRIEND);
  });

  it.each([
    ['UNKNOWN_TOKEN', token(WORTHLESS)],
    ['DUST', { valueUsd: 0.01, amount: 4n }],
    ['DUST', token(USDT, { valueUsd: 0.01, amount: 10_000n })],
  ] as const)('by %s from a look-alike is reported', async (kind, fields) => {
    const answer = await screen(paid, sent(32, LOOK_ALIKE, HOLDER, fields));
    expect(answer.spoofableTransfers).toMatchObject([{ kind, direction: 'in', imitates: FRIEND }]);
    expect(reasonsOf(answer, 'ADDRESS_POISONING')).toHaveLength(1);
  });

  it('is not reported for an address that exchanged value, or one that resembles none', async () => {
    const answer = await screen(
      paid,
      sent(33, LOOK_ALIKE, HOLDER),
      sent(34, LOOK_ALIKE, HOLDER, { amount: 0n, valueUsd: 0 }),
      sent(35, ATTACKER, HOLDER, { amount: 1n, valueUsd: 0.001 }),
    );
    expect(reasonsOf(answer, 'ADDRESS_POISONING')).toEqual([]);
  });

  it('is not reported if the only similar address is another one of the poisoner', async () => {
    const other = LOOK_ALIKE.replace('ffff', 'eeee');
    const answer = await screen(
      sent(36, LOOK_ALIKE, HOLDER, token(WORTHLESS)),
      sent(37, other, HOLDER, { amount: 1n, valueUsd: 0.01 }),
    );
    expect(reasonsOf(answer, 'ADDRESS_POISONING')).toEqual([]);
  });
});

describe('addresses that look alike', () => {
  it('share three characters after their common prefix, and the last four', () => {
    expect(lookAlikeKey('ETH', canonical(FRIEND))).toBe(lookAlikeKey('ETH', LOOK_ALIKE));
    expect(lookAlikeKey('ETH', FRIEND)).not.toBe(lookAlikeKey('ETH', FRIEND.replace('5678', '5679')));
    expect(lookAlikeKey('ETH', FRIEND)).not.toBe(lookAlikeKey('ETH', FRIEND.replace('abc', 'abd')));
    expect(lookAlikeKey('TRON', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).toBe('R7N…Lj6t');
    expect(lookAlikeKey('BTC', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')).toBeNull();
  });

  it('share a number on EVM chains, from the key as from the text', () => {
    const numberOf = (address: string): number => evmLookAlike(parseAddress('ETH', address).key);
    expect(numberOf(FRIEND)).toBe(0xabc5678);
    expect(numberOf(LOOK_ALIKE)).toBe(0xabc5678);
    expect(evmLookAlikeOfText(LOOK_ALIKE)).toBe(0xabc5678);
    expect(evmLookAlikeOfText(canonical(FRIEND))).toBe(0xabc5678);
    expect(numberOf(ATTACKER)).toBe(0x2222222);
    expect(numberOf(FRIEND.replace('abc', 'fff'))).toBe(0xfff5678);
  });
});

describe('the counterparties that addresses may imitate', () => {
  it.each(['ETH', 'TRON'] as const)('are found on %s as if all were read', async (chain) => {
    const real = chain === 'ETH' ? canonical(FRIEND) : 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
    const holder = chain === 'ETH' ? canonical(HOLDER) : 'TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL';
    const others = chain === 'ETH' ? [canonical(ATTACKER)] : ['TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7'];
    const asset = chain === 'ETH' ? 'ETH' : 'TRX';
    const paidTo = [real, ...others].map((to, at) => sent(60 + at, holder, to, { chain, asset }));
    world = await createWorld(paidTo);
    const { key } = parseAddress(chain, holder);
    const reads: string[] = [];
    const { transfers } = world;
    const deps = {
      ...world.deps,
      dustUsd: 10,
      transfers: {
        recent: transfers.recent,
        counterparties: (...[of, subject, choice]: Parameters<typeof transfers.counterparties>) => {
          const found = transfers.counterparties(of, subject, choice);
          reads.push(...found.map(({ address }) => address));
          return found;
        },
      },
    };
    const asked = chain === 'ETH' ? [LOOK_ALIKE, FRIEND] : [`TR7N${'x'.repeat(26)}Lj6t`, real];
    const all = realCounterparties({ chain, key }, deps);
    expect(new Set(reads)).toEqual(new Set([real, ...others]));
    reads.length = 0;
    const some = realCounterparties({ chain, key }, deps, asked);
    expect(reads).toEqual([real]);
    expect(asked.map((address) => some.imitatedBy(address))).toEqual(
      asked.map((address) => all.imitatedBy(address)),
    );
    expect(some.imitatedBy(asked[0]!)).toBe(real);
    expect(some.imitatedBy(asked[1]!)).toBeNull();
  });
});
