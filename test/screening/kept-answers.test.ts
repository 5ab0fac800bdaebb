import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collectObjectsNow } from '../../src/base/old-objects.ts';
import { endReading } from '../../src/base/reading.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKeptAnswers, type KeptAnswers } from '../../src/screening/kept-answers.ts';
import { createScreening, type ScreeningRequest } from '../../src/screening/screen.ts';
import { allFresh, BTC_WALLET, createWorld, sent, someStale, WALLETS, type World } from './world.ts';

let world: World;
let prices = 'first';
let computed = 0;
let kept: KeptAnswers;
let screen: (request: ScreeningRequest) => Uint8Array;

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const ask = (address: string, more: Partial<ScreeningRequest> = {}, facts = {}): string => {
  endReading();
  const request = { chain: 'ETH', address, ...more };
  const json = kept.answer(request, facts, () => {
    computed++;
    return screen(request);
  });
  return Buffer.from(json).toString();
};
/** Asks twice, and returns how often an answer was computed for the second. */
function again(change: () => unknown, more: Partial<ScreeningRequest> = {}): number {
  ask(WALLETS.payer, more);
  const before = computed;
  change();
  ask(WALLETS.payer, more);
  return computed - before;
}

beforeAll(async () => {
  world = await createWorld();
  await world.transfers.ingest([
    sent(901, WALLETS.mixer, WALLETS.payer),
    sent(902, WALLETS.payer, WALLETS.unknown),
  ]);
});
afterAll(() => world.close());
beforeEach(() => {
  world.setLists(allFresh);
  const assets = { ...world.deps.assets, pricesVersion: () => prices };
  const deps = { ...world.deps, assets };
  const assessor = createAssessor(deps);
  const screening = createScreening(deps, assessor);
  screen = (request) => bytesOf(screening(request));
  kept = createKeptAnswers(deps, assessor);
  computed = 0;
});

describe('a repeated screening', () => {
  it('has the answer of the first, with the time of its own', () => {
    const first = ask(WALLETS.payer);
    world.clock.at += 5_000;
    const second = ask(WALLETS.payer);
    expect(computed).toBe(1);
    expect(JSON.parse(first).exposureReceiving).toEqual({ MIXER: 100 });
    expect(second).toBe(Buffer.from(screen({ chain: 'ETH', address: WALLETS.payer })).toString());
    expect(JSON.parse(second).screenedAt).not.toBe(JSON.parse(first).screenedAt);
    // The kept bytes are not those that were returned.
    expect(ask(WALLETS.payer)).toBe(second);
  });

  it('is computed again for other options, another spelling and other facts', () => {
    ask(WALLETS.payer);
    ask(WALLETS.payer, { maxHops: 2 });
    ask(WALLETS.payer, { jurisdiction: 'US' });
    ask(WALLETS.payer.toUpperCase().replace('0X', '0x'));
    ask(WALLETS.payer, {}, { history: { status: 'COMPLETE', asOf: null } });
    expect(computed).toBe(5);
  });

  it('is computed again after a change of transfers, lists, day or prices', async () => {
    expect(again(() => {})).toBe(0);
    expect(again(() => world.setLists(someStale))).toBe(1);
    expect(JSON.parse(ask(WALLETS.payer)).reasons).toContainEqual(
      expect.objectContaining({ code: 'STALE_OR_MISSING_DATA' }),
    );
    world.setLists(allFresh);
    expect(
      again(() => {
        world.clock.at += 86_400_000;
      }),
    ).toBe(1);
    expect(
      again(() => {
        prices = 'second';
      }),
    ).toBe(1);
    ask(WALLETS.payer);
    await world.transfers.ingest([sent(903, WALLETS.exchange, WALLETS.payer)]);
    const before = computed;
    expect(JSON.parse(ask(WALLETS.payer)).exposureReceiving).toHaveProperty('EXCHANGE');
    expect(computed - before).toBe(1);
  });

  it('does not hold labels and lists that are not in force any more, which keep a snapshot open', async () => {
    let context = createAssessor(world.deps).context();
    const answers = createKeptAnswers(world.deps, { context: () => context });
    const compute = () => screen({ chain: 'ETH', address: WALLETS.payer });
    const former = new WeakRef(context);
    answers.answer({ chain: 'ETH', address: WALLETS.payer }, {}, compute);
    context = createAssessor(world.deps).context();
    expect(context).not.toBe(former.deref());
    answers.answer({ chain: 'ETH', address: WALLETS.mixer }, {}, compute);
    // A reference that was read lives until the end of the task.
    await new Promise((resolve) => setImmediate(resolve));
    collectObjectsNow();
    expect(former.deref()).toBeUndefined();
  });

  it('is computed each time with evidence, on a chain with outputs, and if it failed', () => {
    expect(again(() => {}, { withEvidence: true })).toBe(1);
    computed = 0;
    ask(BTC_WALLET, { chain: 'BTC' });
    ask(BTC_WALLET, { chain: 'BTC' });
    expect(computed).toBe(2);
    const failing = { chain: 'ETH', address: WALLETS.payer, maxHops: 99 };
    for (let turn = 0; turn < 2; turn++)
      expect(() => kept.answer(failing, {}, () => screen(failing))).toThrow(/maxHops/);
    expect(() => ask('0x12')).toThrow();
  });
});

describe('the memory of answers', () => {
  it('keeps at most its bytes, and the most recently used answers', () => {
    const of = (padding: string) => () => {
      computed++;
      return bytesOf({ padding, screenedAt: '2026-01-01T00:00:00.000Z' });
    };
    const small = createKeptAnswers(world.deps, createAssessor(world.deps), 2_000);
    const asked = (address: string, padding = 'x'.repeat(50)) =>
      small.answer({ chain: 'ETH', address }, {}, of(padding));
    const address = (number: number): string => `0x${String(number).padStart(40, '0')}`;
    const length = asked(address(0)).length;
    const fitting = Math.floor(2_000 / length);
    for (let number = 1; number < fitting; number++) asked(address(number));
    asked(address(0));
    expect(computed).toBe(fitting);
    // The least recently used one gives way.
    asked(address(fitting));
    asked(address(0));
    expect(computed).toBe(fitting + 1);
    asked(address(1));
    expect(computed).toBe(fitting + 2);
    // An answer that would displace many is not kept.
    asked(address(99), 'x'.repeat(200));
    asked(address(99), 'x'.repeat(200));
    expect(computed).toBe(fitting + 4);
  });

  it('does not keep an answer without a time at its end', () => {
    const untimed = () => {
      computed++;
      return bytesOf({ address: WALLETS.payer });
    };
    for (let turn = 0; turn < 2; turn++) kept.answer({ chain: 'ETH', address: WALLETS.payer }, {}, untimed);
    expect(computed).toBe(2);
  });
});
