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
import { createOracle, createOracleWriter } from '../../src/screening/oracle.ts';
import { spoofingOf } from '../../src/screening/spoofable.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
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

/** Returns what says of an address what its walk says, and what the oracle reads from the index. */
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

describe('an exposure index', () => {
  let total = 0;
  const codes = new Map<string, number>();
  let leftOut = 0;
  let unpriced = 0;
  for (let seed = 1; seed <= 40; seed++)
    it(`says of every address of a random graph what a walk says (${seed})`, async () => {
      const nodes = 10 + (seed % 5) * 15;
      const built = await open(
        randomTransfers(seed, nodes, nodes * (2 + (seed % 4))),
        randomLabels(seed, nodes, seed % 2 === 0 ? 0.1 : 0.4),
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

  for (let seed = 1; seed <= 6; seed++)
    it(`says what a walk says if coins are wrapped and unwrapped (${seed})`, async () => {
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

  it('is read alike by both forms of the oracle, also if an entry waits or the index is missing', async () => {
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

  it('does not call an address clean whose first transfers the index has not read', async () => {
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

  it('says that money was not followed past a hub, and warns', async () => {
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

  it('is not used if it is of another format, and is built again', async () => {
    const built = await open(randomTransfers(2, 10, 30), randomLabels(2, 10, 0.3));
    await built.build();
    const current = currentSnapshot(exposureFolderOf(built.indexes, 'ETH')) as string;
    expect(openMappedIndex(current).index.meta.addresses).toBe(10);
    truncateSync(join(current, 'index.mdb'), 4_096);
    expect(() => openMappedIndex(current)).toThrow('cut short');
    const ask = createOracle({ ...built.deps, exposures: built.exposures });
    expect(ask('ETH', addressOf(1), quota).reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
    await built.build();
    built.clock.at += 1_000;
    expect(ask('ETH', addressOf(1), quota).exposureAsOf).not.toBeNull();
  });

  it('is not used if it is damaged: a wrong entry could read as clean', async () => {
    const built = await open(randomTransfers(2, 3_000, 3_000), randomLabels(2, 3_000, 0.3));
    await built.build();
    const current = currentSnapshot(exposureFolderOf(built.indexes, 'ETH')) as string;
    expect(openMappedIndex(current).index.isIntact()).toBe(true);
    const path = join(current, 'index.mdb');
    const bytes = readFileSync(path);
    // The values of thousands of addresses fill the middle of the file.
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] as number) ^ 1;
    writeFileSync(path, bytes);
    const ask = createOracle({ ...built.deps, exposures: built.exposures });
    const { verdict, reasons } = ask('ETH', addressOf(1), quota);
    expect(reasons.map(({ code }) => code)).toContain('GRAPH_NOT_READ');
    expect(verdict).not.toBe('safe');
  });

  it('is not used for another store of transfers, however alike', async () => {
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

  it('finds exposure, and dealings before a designation, in most of the random graphs', () => {
    expect(total).toBeGreaterThan(300);
    expect(codes.get('BEFORE_DESIGNATION')).toBeGreaterThan(50);
    expect(codes.get('SPOOFABLE_TRANSFER')).toBeGreaterThan(100);
    expect(codes.get('ADDRESS_POISONING')).toBeGreaterThan(50);
    expect(leftOut).toBeGreaterThan(20);
    // Assets without a price that came through others.
    expect(unpriced).toBeGreaterThan(100);
  });
});
