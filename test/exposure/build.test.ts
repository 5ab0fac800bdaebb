import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openMappedIndex } from '../../src/exposure/mapped-index.ts';
import { createExposureReader, exposureFolderOf, isStoredIn } from '../../src/exposure/reader.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import type { OracleQuota } from '../../src/screening/answers.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createBulk } from '../../src/screening/bulk.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { createOracleWriter } from '../../src/screening/oracle-writer.ts';
import { spoofingOf } from '../../src/screening/spoofable.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { removeSums } from '../../src/state/page-sums.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  MANY_UNPRICED,
  randomLabels,
  randomTransfers,
  type WorldLabel,
} from './world.ts';

const quota: OracleQuota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };

let world: ExposureWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

async function open(transfers: readonly Transfer[], labels: readonly WorldLabel[]): Promise<ExposureWorld> {
  world = await createExposureWorld(transfers, labels);
  return world;
}

/** Returns a function that assesses an address by a walk, and by the index entry that the oracle reads. */
function comparing({ deps, exposures }: ExposureWorld) {
  const { assess } = createAssessor(deps);
  const ask = createOracle({ ...deps, exposures });
  return (address: string) => {
    const subject = parseSubject('ETH', address);
    const walked = assess({ subject, asOf: null, maxHops: 3, directions: ['in', 'out'] });
    const read = ask('ETH', address, quota);
    const { reasons: notes } = spoofingOf(walked, deps);
    return {
      walked: {
        score: walked.judged.riskScore,
        riskLevel: walked.judged.riskLevel,
        assessed: walked.assessed,
        reasons: [...walked.reasons, ...notes],
      },
      read: {
        score: read.score,
        riskLevel: read.riskLevel,
        assessed: read.assessed,
        reasons: read.reasons.filter(({ code }) => code !== 'NOT_ASSESSED'),
      },
      verdict: read.verdict,
      decisive: walked.derived,
    };
  };
}

const suspectedOwners = (labels: readonly WorldLabel[]): WorldLabel[] =>
  labels.map((label) => ({ ...label, ownerConfidence: 0.7 }));

/** `npm test` takes a part of the random graphs, because each takes seconds. */
const LONG = process.env.ASSAY_TEST_LONG === '1';
const GRAPHS = LONG ? 40 : 5;
/** These five are of every kind, and have every code that is looked for. */
const FIRST_GRAPH = LONG ? 1 : 7;
/** Graphs with wrapped coins, and graphs with many tokens. */
const OTHER_GRAPHS = LONG ? 6 : 3;

describe('an exposure index', () => {
  let total = 0;
  const codes = new Map<string, number>();
  let leftOut = 0;
  let unpriced = 0;
  for (let seed = FIRST_GRAPH; seed < FIRST_GRAPH + GRAPHS; seed++)
    it(`matches a walk for every address of a random graph (${seed})`, async () => {
      const nodes = 10 + (seed % 5) * 15;
      const built = await open(
        randomTransfers(seed, nodes, nodes * (2 + (seed % 4))),
        // Some addresses have two labels, which may disagree, and some owners are only suspected.
        [
          ...randomLabels(seed, nodes, seed % 2 === 0 ? 0.1 : 0.4),
          ...suspectedOwners(randomLabels(seed + 100, nodes, 0.15)),
        ],
      );
      await built.build();
      const bothOf = comparing(built);
      let exposed = 0;
      for (let node = 0; node < nodes; node++) {
        const { walked, read, decisive } = bothOf(addressOf(node));
        expect(read, `address ${node}`).toEqual(walked);
        if (read.reasons.some(({ code }) => code === 'EXPOSURE')) exposed++;
        for (const { code } of read.reasons) codes.set(code, (codes.get(code) ?? 0) + 1);
        if (read.reasons.some(({ message }) => /\(no price\) .* over \d hops/.test(message))) unpriced++;
        if (decisive === 'LEFT_OUT') leftOut++;
      }
      total += exposed;
    });

  for (let seed = 1; seed <= OTHER_GRAPHS; seed++)
    it(`matches a walk if coins are wrapped and unwrapped (${seed})`, async () => {
      const nodes = 12 + seed * 3;
      const weth = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
      const inPlace = (address: string | null): string | null => (address === addressOf(1) ? weth : address);
      const moved = randomTransfers(seed, nodes, nodes * 3);
      const [first] = moved as [Transfer];
      const wraps = Array.from({ length: nodes }, (_, node): Transfer => {
        const parties = node % 2 === 0 ? [addressOf(node), weth] : [weth, addressOf(node)];
        const hash = `0x${(node + 1).toString(16).padStart(64, 'd')}`;
        return { ...first, txHash: hash, asset: 'ETH', from: parties[0] as string, to: parties[1] as string };
      });
      const built = await open(
        [...moved.map((one) => ({ ...one, from: inPlace(one.from), to: inPlace(one.to) })), ...wraps],
        randomLabels(seed, nodes, 0.3),
      );
      await built.build();
      const bothOf = comparing(built);
      for (let node = 0; node < nodes; node++) {
        const { walked, read } = bothOf(node === 1 ? weth : addressOf(node));
        expect(read, `address ${node}`).toEqual(walked);
      }
    });

  it('is read the same way by both forms of the oracle, also if an entry is pending or the index is missing', async () => {
    const nodes = 30;
    const built = await open(randomTransfers(3, nodes, 80), randomLabels(3, nodes, 0.3));
    const { deps, exposures, clock } = built;
    const ask = createOracle({ ...deps, exposures });
    const write = createOracleWriter({ ...deps, exposures });
    const out = Buffer.alloc(64 * 1024);
    const expectAlike = (): void => {
      for (let node = 0; node <= nodes; node++) {
        const end = write('ETH', addressOf(node), quota, out, 0);
        expect(JSON.parse(out.toString('utf8', 0, end))).toEqual(ask('ETH', addressOf(node), quota));
      }
    };
    expectAlike();
    expect(ask('ETH', addressOf(1), quota).reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
    expect(ask('ETH', addressOf(1), quota).verdict).not.toBe('safe');
    await built.build();
    clock.at += 1_000;
    expectAlike();
    expect(ask('ETH', addressOf(nodes), quota)).toMatchObject({
      verdict: 'safe',
      assessed: false,
      reasons: [{ code: 'NOT_ASSESSED' }],
      coverage: { graph: { status: 'PARTIAL' } },
    });
    // Transfers that the index has not read get older with each look, and are too old after ten minutes.
    await deps.transfers.ingest(randomTransfers(4, nodes, 10, 1_000));
    clock.at += 60_000;
    const asOf = new Date(clock.at - 60_000).toISOString();
    expectAlike();
    expect(ask('ETH', addressOf(1), quota).exposureAsOf).toBe(asOf);
    clock.at += 10 * 60_000;
    expectAlike();
    expect(ask('ETH', addressOf(1), quota).reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
  });

  it('does not report an address as clean if the index has not read its first transfers', async () => {
    const nodes = 10;
    const built = await open(randomTransfers(3, nodes, 30), [
      { node: 0, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' },
    ]);
    await built.build();
    const { deps, exposures, clock } = built;
    const ask = createOracle({ ...deps, exposures });
    const [first] = randomTransfers(1, 2, 1, 1_000);
    const paid = {
      ...(first as Transfer),
      from: addressOf(0),
      to: addressOf(nodes + 1),
      asset: 'ETH',
      amount: 1n,
      valueUsd: 5_000,
    };
    await deps.transfers.ingest([paid]);
    clock.at += 1_000;
    const codes = (node: number): readonly string[] =>
      ask('ETH', addressOf(node), quota).reasons.map(({ code }) => code);
    expect(codes(nodes + 1)).toEqual(['GRAPH_NOT_READ']);
    expect(ask('ETH', addressOf(nodes + 1), quota).verdict).toBe('warning');
    expect(codes(nodes + 2)).toEqual(['NOT_ASSESSED']);
  });

  it('reports and warns about value that was not followed past a hub', async () => {
    const payers = 10_001;
    const pay = (index: number, from: number, to: number): Transfer => ({
      ...(randomTransfers(1, 2, 1, index)[0] as Transfer),
      from: addressOf(from),
      to: addressOf(to),
      asset: 'ETH',
      amount: 10n ** 18n,
      valueUsd: 2_000,
    });
    const hub = 20_000;
    const transfers = Array.from({ length: payers }, (_, at) => pay(at, at, hub));
    const built = await open(
      [...transfers, pay(payers, hub, 20_001), pay(payers + 1, 20_001, 20_002)],
      [{ node: 0, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' }],
    );
    await built.build();
    const bothOf = comparing(built);
    for (const node of [1, hub, 20_001, 20_002]) {
      const { walked, read, verdict } = bothOf(addressOf(node));
      expect(read, `address ${node}`).toEqual(walked);
      if (node === hub) continue;
      expect(read.reasons.map(({ code }) => code)).toContain('HUB_NOT_FOLLOWED');
      expect(verdict).toBe('warning');
    }
  }, 60_000);

  it('names a token without a price that passed a hub beside any other value, and no dust of it', async () => {
    const payers = 10_001;
    const [token] = MANY_UNPRICED as [string];
    let count = 0;
    const move = (from: number, to: number, asset: string, amount: bigint, valueUsd: number | null) => ({
      ...(randomTransfers(1, 2, 1, count++)[0] as Transfer),
      ...{ from: addressOf(from), to: addressOf(to), asset, amount, valueUsd },
    });
    const ether = (from: number, to: number, valueUsd: number): Transfer =>
      move(from, to, 'ETH', BigInt(valueUsd) * 10n ** 15n, valueUsd);
    const [bad, hub, other, exchange] = [0, 20_000, 20_001, 20_002];
    const fortune = 10n ** 24n;
    const [beside, sender, dusty, alone, little] = [20_003, 20_004, 20_005, 20_006, 20_007];
    const transfers = [
      ...Array.from({ length: payers }, (_, at) => ether(at, hub, 2)),
      move(bad, hub, token, fortune, null),
      move(hub, alone, token, fortune, null),
      ...[move(hub, beside, token, fortune, null), ether(other, beside, 5)],
      ...[move(sender, hub, token, fortune, null), ether(sender, exchange, 5)],
      ...[move(hub, dusty, token, 1n, null), ether(exchange, dusty, 2_000)],
      // Less than a tenth of the received amount of the token.
      ...[move(hub, little, token, 9n * 10n ** 18n, null), move(exchange, little, token, 10n ** 20n, null)],
      ether(exchange, little, 50),
    ];
    const built = await open(transfers, [
      { node: bad, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' },
      { node: exchange, category: 'EXCHANGE', confidence: 0.9, source: 'graphsense', entity: 'exchange' },
    ]);
    await built.build();
    const bothOf = comparing(built);
    const messages = (node: number): string[] => {
      const { walked, read, verdict } = bothOf(addressOf(node));
      expect(read, `address ${node}`).toEqual(walked);
      const found = read.reasons.filter(({ code }) => code === 'HUB_NOT_FOLLOWED');
      expect(verdict, `address ${node}`).toBe(found.length > 0 ? 'warning' : 'safe');
      return found.map(({ message }) => message);
    };
    const why =
      'could not be followed: it passed addresses without a label that have more than 10000 counterparties.';
    for (const node of [alone, beside])
      expect(messages(node)).toEqual([`100 % of the ${token} (no price) received ${why}`]);
    expect(messages(sender)).toEqual([`100 % of the ${token} (no price) sent ${why}`]);
    for (const node of [dusty, little]) expect(messages(node)).toEqual([]);
  }, 60_000);

  it('reports that more tokens without a price moved than are followed, without counting dust', async () => {
    const [bad, mid, other, exchange] = [0, 1, 2, 3];
    const [dusted, crowded, clean, few, trader, sender] = [10, 11, 12, 13, 14, 15];
    const followed = 16;
    const token = MANY_UNPRICED[23] as string;
    const whole = 10n ** 18n;
    let count = 0;
    const move = (
      from: number,
      to: number,
      asset: string,
      amount: bigint,
      valueUsd: number | null = null,
    ) => ({
      ...(randomTransfers(1, 2, 1, count++)[0] as Transfer),
      ...{ from: addressOf(from), to: addressOf(to), asset, amount, valueUsd },
    });
    const others = (to: number, amount: bigint, tokens = 23): Transfer[] =>
      MANY_UNPRICED.slice(0, tokens).flatMap((asset) => [1, 2].map(() => move(other, to, asset, amount)));
    const transfers = [
      ...others(dusted, 1n),
      ...others(crowded, whole),
      ...others(trader, whole),
      // The last token that the graph meets.
      ...[dusted, crowded, trader].flatMap((to) => [
        move(bad, mid, token, 10n ** 6n * whole),
        move(mid, to, token, 10n ** 6n * whole),
        move(exchange, to, 'ETH', whole, 50),
      ]),
      // Assets that the address sent come before assets that it only received. Dust that it sent does not.
      ...[move(trader, other, token, whole), move(crowded, other, token, 1n)],
      ...others(clean, whole, followed + 1),
      ...others(few, whole, followed),
      ...MANY_UNPRICED.map((asset) => move(sender, other, asset, whole)),
      move(sender, exchange, 'ETH', whole, 50),
      // A service trades with everybody.
      ...others(exchange, whole),
    ];
    const built = await open(transfers, [
      { node: bad, category: 'MIXER', confidence: 0.9, source: 'graphsense', entity: 'mixer' },
      { node: exchange, category: 'EXCHANGE', confidence: 0.9, source: 'graphsense', entity: 'exchange' },
    ]);
    await built.build();
    const bothOf = comparing(built);
    const codesOf = (node: number): readonly string[] => {
      const { walked, read, verdict } = bothOf(addressOf(node));
      expect(read, `address ${node}`).toEqual(walked);
      const codes = read.reasons.map(({ code }) => code);
      if (codes.includes('WALK_CUT')) expect(verdict, `address ${node}`).toBe('warning');
      return codes;
    };
    expect(codesOf(dusted)).toEqual(['EXPOSURE']);
    expect(codesOf(crowded)).toEqual(['WALK_CUT']);
    expect(codesOf(clean)).toEqual(['WALK_CUT']);
    expect(codesOf(few)).toEqual([]);
    expect(codesOf(exchange)).not.toContain('WALK_CUT');
    expect(codesOf(trader)).toEqual(['EXPOSURE', 'WALK_CUT']);
    expect(codesOf(sender)).toEqual(['WALK_CUT']);
    expect(bothOf(addressOf(sender)).read.reasons[0]?.message).toBe(
      'More than 16 assets without a price were sent: of the others, only direct counterparties were examined. The answer is partial.',
    );
  });

  let cut = 0;
  for (let seed = 1; seed <= OTHER_GRAPHS; seed++)
    it(`matches a walk if addresses move many tokens without a price (${seed})`, async () => {
      const nodes = 12;
      const transfers = randomTransfers(seed, nodes, 2_000, 0, MANY_UNPRICED).map((transfer, at) =>
        // Some tokens of an address are dust by their amount.
        MANY_UNPRICED.includes(transfer.asset) && at % 2 > 0 ? { ...transfer, amount: 1n } : transfer,
      );
      const built = await open(transfers, randomLabels(seed, nodes, 0.3));
      await built.build();
      const bothOf = comparing(built);
      for (let node = 0; node < nodes; node++) {
        const { walked, read } = bothOf(addressOf(node));
        expect(read, `address ${node}`).toEqual(walked);
        if (read.reasons.some(({ message }) => message.startsWith('More than 16 assets'))) cut++;
      }
    });

  it('covers addresses with more tokens than are followed', () => {
    expect(cut).toBeGreaterThan(OTHER_GRAPHS);
    expect(cut).toBeLessThan(OTHER_GRAPHS * 12);
  });

  it('is not used if its format differs, and is rebuilt', async () => {
    const built = await open(randomTransfers(2, 10, 30), randomLabels(2, 10, 0.3));
    await built.build();
    const current = currentSnapshot(exposureFolderOf(built.indexes, 'ETH')) as string;
    expect(openMappedIndex(current).index.meta.addresses).toBe(10);
    truncateSync(join(current, 'index.mdb'), 4_096);
    expect(() => openMappedIndex(current)).toThrow('truncated');
    const ask = createOracle({ ...built.deps, exposures: built.exposures });
    expect(ask('ETH', addressOf(1), quota).reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
    await built.build();
    built.clock.at += 1_000;
    expect(ask('ETH', addressOf(1), quota).exposureAsOf).not.toBeNull();
  });

  describe('a damaged index', () => {
    const currentIndex = ({ indexes }: ExposureWorld): string =>
      currentSnapshot(exposureFolderOf(indexes, 'ETH')) as string;
    /** Damages a value of the published index, so that only the checksums of the values show it: the pages have none. */
    const damage = (built: ExposureWorld): void => {
      const path = join(currentIndex(built), 'index.mdb');
      const bytes = readFileSync(path);
      // The values of thousands of addresses fill the middle of the file.
      const middle = bytes.length >> 1;
      bytes[middle] = (bytes[middle] as number) ^ 1;
      writeFileSync(path, bytes);
      removeSums(path);
    };
    const codesOf = (built: ExposureWorld): string[] =>
      createOracle({ ...built.deps, exposures: built.exposures })('ETH', addressOf(1), quota).reasons.map(
        ({ code }) => code,
      );

    it('is not used, because a wrong entry could read as clean', async () => {
      const built = await open(randomTransfers(2, 3_000, 3_000), randomLabels(2, 3_000, 0.3));
      await built.build();
      expect(openMappedIndex(currentIndex(built)).index.isIntact()).toBe(true);
      damage(built);
      built.exposures.openAll();
      expect(codesOf(built)).toContain('GRAPH_NOT_READ');
      const { verdict } = createOracle({ ...built.deps, exposures: built.exposures })(
        'ETH',
        addressOf(1),
        quota,
      );
      expect(verdict).not.toBe('safe');
    });

    it('is read whole by the first look only: one built later is not, which would delay requests', async () => {
      const built = await open(randomTransfers(2, 3_000, 3_000), randomLabels(2, 3_000, 0.3));
      built.exposures.openAll();
      await built.build();
      damage(built);
      expect(openMappedIndex(currentIndex(built)).index.isIntact()).toBe(false);
      built.clock.at += 1_000;
      expect(codesOf(built)).not.toContain('GRAPH_NOT_READ');
    });
  });

  it('is not used for another transfer store, even a similar one', async () => {
    const transfers = randomTransfers(2, 10, 30);
    const built = await open(transfers, randomLabels(2, 10, 0.3));
    await built.build();
    const { deps, clock, indexes, inputs } = built;
    const other = openTransferStore({ path: join(built.folder, 'restored'), readOnly: false });
    await other.ingest(transfers);
    expect(other.logPosition('ETH')).toMatchObject({ ordinal: 30, transfers: 30 });
    const exposures = createExposureReader(indexes, {
      clock: deps.clock,
      log: silentLogger,
      position: (chain) => other.logPosition(chain),
      coverage: (chain) => other.coverage(chain),
      isStored: isStoredIn(other),
      inputs: () => inputs,
    });
    for (const _look of [1, 2]) {
      clock.at += 1_000;
      const { reasons } = createOracle({ ...deps, exposures })('ETH', addressOf(1), quota);
      expect(reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
    }
    await other.close();
  });

  it('adds the verdict of the oracle to the items of a bulk request that asks for it', async () => {
    const nodes = 20;
    const built = await open(randomTransfers(7, nodes, 60), randomLabels(7, nodes, 0.3));
    await built.build();
    const deps = { ...built.deps, exposures: built.exposures };
    const addresses = [...Array.from({ length: nodes }, (_, node) => addressOf(node)), 'no address'];
    const bulk = createBulk(deps);
    const ask = (verdict: boolean) => {
      const { json } = bulk(Buffer.from(JSON.stringify({ addresses, chain: 'ETH', verdict })));
      return (JSON.parse(Buffer.from(json).toString('utf8')) as { results: Record<string, unknown>[] })
        .results;
    };
    const plain = ask(false);
    const oracle = createOracle(deps);
    for (const [at, item] of ask(true).entries()) {
      if (at === nodes) {
        expect(item).toEqual(plain[at]);
        continue;
      }
      const { verdict, score, riskLevel, reasons, assessed, exposureAsOf } = oracle(
        'ETH',
        addressOf(at),
        quota,
      );
      const reasonCodes = [...new Set(reasons.map(({ code }) => code))];
      expect(item).toEqual({
        ...plain[at],
        ...{ verdict, score, riskLevel, reasonCodes, assessed, exposureAsOf },
      });
    }
    expect(() => bulk(Buffer.from('{"addresses":["0x0"],"chain":"ETH","verdict":"yes"}'))).toThrow('verdict');
  });

  it('finds exposure, and transfers before a designation, in most of the random graphs', () => {
    expect(total).toBeGreaterThan(15 * GRAPHS);
    expect(codes.get('BEFORE_DESIGNATION')).toBeGreaterThan(2.5 * GRAPHS);
    expect(codes.get('SUSPECTED_OWNER')).toBeGreaterThan(0.5 * GRAPHS);
    expect(codes.get('SPOOFABLE_TRANSFER')).toBeGreaterThan(5 * GRAPHS);
    expect(codes.get('ADDRESS_POISONING')).toBeGreaterThan(2.5 * GRAPHS);
    expect(leftOut).toBeGreaterThan(GRAPHS);
    // Assets without a price that came through others.
    expect(unpriced).toBeGreaterThan(5 * GRAPHS);
  });
});
