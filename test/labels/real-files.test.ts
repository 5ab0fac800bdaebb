import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { delistedAt, type ListState } from '../../src/labels/sanctions.ts';
import type { SanctionsList } from '../../src/sources/index.ts';
import { MARCH_4, MARCH_21, SOURCES_READ_ONCE } from '../setup/ofac-records.ts';
import { describeWithSharedData, hasSharedData, sharedData } from '../setup/shared-data.ts';
import { makeWorld, type World } from './world.ts';

const CONSOLIDATED = sharedData('ofac', 'consolidated_2022-02-24.xml');
const LEGACY = ['sdn', 'add', 'alt', 'sdn_comments'].map((name) => sharedData('ofac', `${name}_2021-07.csv`));
/** The 0.1 ETH pool of Tornado Cash. */
const POOL = '0x12D66f87A04A9E220743712cE6d9bB1B5616B8Fc';
/** A wallet of the Lazarus Group, in force on both dates. */
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';

interface Counts {
  inForce: number;
  history: number;
  tornado: (string | null)[];
}

function counts(state: ListState): Counts {
  const dates = state.entries.map((entry) => ({ entry, date: delistedAt(state, entry) }));
  return {
    inForce: dates.filter((one) => one.date === null).length,
    history: dates.filter((one) => one.date !== null).length,
    tornado: [...new Set(dates.filter((one) => one.entry.entityId === '39796').map((one) => one.date))],
  };
}

const inForce = (state: ListState): string[] =>
  state.entries.filter((entry) => delistedAt(state, entry) === null).map((entry) => entry.key);

/** Both lists of OFAC in the order of their dates, imported once and copied. */
let listed: World;
beforeAll(async () => {
  listed = makeWorld({ sources: SOURCES_READ_ONCE });
  if (!hasSharedData) return;
  for (const file of [MARCH_4, MARCH_21]) await listed.import({ source: 'ofac', files: [file] });
});
afterAll(() => listed.end());

describeWithSharedData('Tornado Cash, delisted on 21 March 2025', () => {
  const worlds: World[] = [];
  const states: ListState[] = [];

  beforeAll(async () => {
    const reversed = makeWorld({ sources: SOURCES_READ_ONCE });
    worlds.push(makeWorld({ from: listed }), reversed);
    for (const file of [MARCH_21, MARCH_4]) await reversed.import({ source: 'ofac', files: [file] });
    for (const world of worlds) states.push(world.deps.store.listState('OFAC_SDN'));
  });
  afterAll(() => {
    for (const world of worlds) world.end();
  });

  it('gives the same state in either order', () => {
    expect(states[1]).toEqual(states[0]);
    expect(counts(states[0]!).tornado).toEqual(['2025-03-21']);
    expect(states[0]!.parties.length).toBeGreaterThan(16_000);
  });

  it('leaves the wallets unsanctioned, with the date and the history', async () => {
    for (const world of worlds) {
      const snapshots = await world.build();
      const [label] = world.lookup(snapshots, 'ETH', POOL);
      expect(label).toMatchObject({
        category: 'MIXER',
        entity: { id: 'tornado-cash' },
        tags: ['delisted', 'OFAC_SDN', 'ETH'],
      });
      expect(label!.sanctions).toHaveLength(1);
      expect(label!.sanctions[0]).toMatchObject({
        list: 'OFAC_SDN',
        entityName: 'TORNADO CASH',
        listedAt: '2022-11-08',
        delistedAt: '2025-03-21',
      });
      expect(world.lookup(snapshots, 'POLYGON', LAZARUS)[0]).toMatchObject({
        category: 'SANCTIONED_ENTITY',
        sanctions: [{ delistedAt: null }],
      });
    }
  });

  it('is not changed by a later import of a consolidated list or an older legacy CSV', async () => {
    const world = worlds[0]!;
    const before = world.deps.store.listState('OFAC_SDN');
    await world.import({ source: 'ofac', files: [CONSOLIDATED] });
    expect(world.deps.store.listState('OFAC_SDN')).toEqual(before);
    expect(world.deps.store.listState('OFAC_CONS').newestAt).toBe('2022-02-24');
    const { datasets } = await world.import({ source: 'ofac', files: LEGACY });
    expect(datasets).toHaveLength(1);
    expect(datasets[0]).toMatchObject({ status: 'history', layout: 'LEGACY_CSV', publishedAt: '2021-07-01' });
    const after = world.deps.store.listState('OFAC_SDN');
    expect(inForce(after)).toEqual(inForce(before));
    expect(after.newestAt).toBe('2025-03-21');
    expect(counts(after).tornado).toEqual(['2025-03-21']);
    expect(after.entries.length).toBeGreaterThanOrEqual(before.entries.length);
    expect(after.entries.some((entry) => entry.firstAt === '2021-07-01')).toBe(true);
  });
});

describeWithSharedData('other lists', () => {
  let world: World;
  beforeEach(() => {
    world = makeWorld();
  });
  afterEach(() => world.end());

  it.each([
    ['un', 'un/un_consolidated_2026-02-27.xml', 'UN', 1_000],
    ['uk', 'uk/uk_sanctions_list_2026-08-22.jsonl.gz', 'UK', 6_000],
    ['eu', 'eu/eu_fsf_1_1_excerpt.xml', 'EU', 1],
    ['ch', 'ch/seco_whole_list_excerpt.xml', 'CH', 1],
  ] as const)('%s: %s', async (source, path, list: SanctionsList, least) => {
    const { datasets } = await world.import({ source, files: [sharedData(path)] });
    expect(datasets[0]!.lists[0]!.list).toBe(list);
    expect(world.deps.store.listState(list).parties.length).toBeGreaterThanOrEqual(least);
  });
});

describeWithSharedData('the wallets of OFAC', () => {
  let state: ListState;
  beforeAll(() => {
    state = listed.deps.store.listState('OFAC_SDN');
  });

  const listedAs = (currency: string): Record<string, number> => {
    const chains: Record<string, number> = {};
    for (const entry of state.entries) {
      if (delistedAt(state, entry) !== null) continue;
      if (!entry.details.currencies.includes(currency)) continue;
      const family = entry.key.startsWith('01') ? 'EVM' : entry.chain;
      chains[family] = (chains[family] ?? 0) + 1;
    }
    return chains;
  };

  it('assigns wallets that are listed as USDT to the chains of their addresses', () => {
    // 32 in the file: 17 on TRON, 8 on EVM chains, and 7 Bitcoin addresses that held USDT by the Omni protocol.
    expect(listedAs('USDT')).toEqual({ TRON: 17, EVM: 8, BTC: 7 });
  });

  it('reads XBT as Bitcoin, unless the address is of another chain', () => {
    // 485 in the file, one of them twice for the same party.
    expect(listedAs('XBT')).toEqual({ BTC: 483, TRON: 1 });
    const odd = state.entries.find((one) => one.address === 'TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq');
    expect(odd).toMatchObject({ chain: 'TRON', details: { currencies: ['XBT'] } });
  });

  it('has 63 Ethereum wallets after the delisting', () => {
    expect(listedAs('ETH').EVM).toBe(63);
  });

  it('counts an address under two currencies once for its party', () => {
    const twice = state.entries.filter((entry) => entry.details.currencies.length > 1);
    expect(twice).toHaveLength(10);
  });
});
