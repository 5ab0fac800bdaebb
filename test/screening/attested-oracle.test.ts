/** Answers of the oracle in two parts: what many share, and what is of one address. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import { EXPOSURE, type ExposureReader, NO_EXPOSURE } from '../../src/screening/exposure-port.ts';
import { createAttestedOracle, createOracle } from '../../src/screening/oracle.ts';
import { allFresh, createWorld, someStale, WALLETS, type World } from './world.ts';

const quota = { limit: 9, remaining: 5, resetAt: '2026-12-01T00:00:00.000Z' };
const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;

describe('an attested answer of the oracle', () => {
  let world: World;
  let height = 7;
  let state: number = EXPOSURE.CLEAN;
  const status = { state: 'READY', asOf: '2026-11-20T00:00:00.000Z', graphAsOf: null, isOld: false } as const;
  const exposures = {
    find: () => state,
    status: () => status,
    verdict: () => NO_EXPOSURE,
    waitsSinceMs: () => 0,
  } as unknown as ExposureReader;
  /** Labels of every address; null: those of the snapshot. */
  let labels: readonly Label[] | null = null;
  const deps = () => {
    const reader: LabelReader = Object.create(world.deps.labels.current, {
      lookup: {
        value: (...asked: Parameters<LabelReader['lookup']>) =>
          labels ?? world.deps.labels.current.lookup(...asked),
      },
    });
    const labelSet: World['deps']['labels'] = Object.create(world.deps.labels, {
      current: { value: reader },
    });
    return { ...world.deps, labels: labelSet, exposures, heightOf: () => height };
  };

  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());
  beforeEach(() => {
    world.setLists(allFresh);
    [height, state, labels] = [7, EXPOSURE.CLEAN, null];
  });

  /** Asks, and compares with a query that has answered nothing before. */
  function asked(oracle: ReturnType<typeof createAttestedOracle>, address: string, chain = 'ETH') {
    const answer = oracle(chain, address, quota);
    expect(answer).toEqual(createAttestedOracle(deps())(chain, address, quota));
    return answer;
  }

  it('is that of a new query, whatever was asked before', () => {
    const oracle = createAttestedOracle(deps());
    for (const lists of [allFresh, someStale, allFresh]) {
      world.setLists(lists);
      for (state of [EXPOSURE.CLEAN, EXPOSURE.UNSEEN, EXPOSURE.NOT_READ, EXPOSURE.NO_GRAPH])
        for (height of [7, 8])
          for (const chain of ['ETH', 'BSC'])
            for (const address of [...Object.values(WALLETS), ...Object.values(WALLETS)]) {
              const { shared, own } = asked(oracle, address, chain);
              const whole = createOracle(deps())(chain, address, quota);
              expect({ ...shared.answer, ...own }).toEqual(whole);
              expect(shared.evidence.graph.height).toBe(height);
            }
    }
  });

  it('shares its facts with the answers about other addresses without a label', () => {
    const oracle = createAttestedOracle(deps());
    const first = asked(oracle, addressOf(1_001));
    const second = asked(oracle, addressOf(1_002));
    expect(second.shared).toBe(first.shared);
    expect(second.own.address).not.toBe(first.own.address);
    height = 8;
    expect(asked(oracle, addressOf(1_001)).shared).not.toBe(first.shared);
  });

  it('shares its facts with answers about an entity from the second one on, if the labels are equal', () => {
    const [label] = world.deps.labels.current.lookup(parseAddress('ETH', WALLETS.exchange).key, 'ETH');
    if (label === undefined) throw new Error('The exchange has no label.');
    labels = [label];
    const oracle = createAttestedOracle(deps());
    asked(oracle, addressOf(1));
    const second = asked(oracle, addressOf(2));
    // A label of the same entity, as another object.
    labels = [{ ...label }];
    expect(asked(oracle, addressOf(3)).shared).toBe(second.shared);
    for (const change of [
      { lastSeen: '2020-01-01' },
      { firstSeen: '2020-01-01' },
      { sourceUrl: 'https://example.org/other' },
      { confidence: 0.5 },
      { synthetic: !label.synthetic },
      { tags: ['other'] },
      { scope: 'ETH' as const },
    ]) {
      labels = [{ ...label, ...change }];
      expect(asked(oracle, addressOf(4)).shared.evidence.labels).toEqual([labels]);
      labels = [label];
      expect(asked(oracle, addressOf(5)).shared.evidence.labels).toEqual([[label]]);
    }
    labels = [label, { ...label, source: 'other' }];
    expect(asked(oracle, addressOf(6)).shared.evidence.labels).toEqual([labels]);
  });

  it('keeps answers about a limited number of entities', () => {
    const [label] = world.deps.labels.current.lookup(parseAddress('ETH', WALLETS.exchange).key, 'ETH');
    if (label === undefined) throw new Error('The exchange has no label.');
    const of = (number: number): Label => ({ ...label, entity: { ...label.entity, id: `entity-${number}` } });
    const oracle = createAttestedOracle(deps());
    const ask = (one: Label) => {
      labels = [one];
      return oracle('ETH', addressOf(1), quota).shared;
    };
    const first = of(0);
    ask(first);
    const kept = ask(first);
    for (let number = 1; number < 3_000; number++) {
      const other = of(number);
      ask(other);
      expect(ask(other).evidence.labels).toEqual([[other]]);
    }
    expect(ask(first)).not.toBe(kept);
    expect(ask(first)).toEqual(kept);
  });
});
