import { afterEach, describe, expect, it } from 'vitest';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKyt } from '../../src/screening/kyt.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  policy,
  randomLabels,
  randomTransfers,
  type WorldLabel,
} from '../exposure/world.ts';

/** Two of each size and more; `npm run test:long` takes twice as many. */
const GRAPHS = process.env.ASSAY_TEST_LONG === '1' ? 20 : 10;

let worlds: ExposureWorld[] = [];
afterEach(async () => {
  for (const world of worlds) await world.close();
  worlds = [];
});

async function open(
  transfers: readonly Transfer[],
  labels: readonly WorldLabel[],
): Promise<ExposureWorld['deps']> {
  const world = await createExposureWorld(transfers, labels);
  worlds.push(world);
  return world.deps;
}

const pay = (index: number, from: number, to: number, valueUsd: number): Transfer => ({
  ...(randomTransfers(1, 2, 1, index)[0] as Transfer),
  from: addressOf(from),
  to: addressOf(to),
  asset: 'ETH',
  amount: BigInt(valueUsd) * 10n ** 15n,
  valueUsd,
});

const label = (node: number, category: WorldLabel['category'], source: string): WorldLabel => ({
  ...{ node, category, source },
  confidence: 1,
  entity: `${category.toLowerCase()} ${node}`,
});

describe('a derived label of something risky', () => {
  // 2 paid 1, and a published darknet market paid 2. A cluster labels 2 as a gambling site.
  const transfers = [pay(0, 3, 2, 50_000), pay(1, 2, 1, 50_000)];
  const labels = [label(3, 'DARKNET_MARKET', 'graphsense'), label(2, 'HIGH_RISK_EXCHANGE', 'cluster')];

  it('does not hide the risk behind it', async () => {
    const deps = await open(transfers, labels);
    const answer = createScreening(deps, createAssessor(deps))({ chain: 'ETH', address: addressOf(1) });
    const plain = await open(transfers, [labels[0] as WorldLabel]);
    const without = createScreening(plain, createAssessor(plain))({ chain: 'ETH', address: addressOf(1) });
    expect(without.riskScore).toBeGreaterThan(0);
    expect(answer.riskScore).toBe(without.riskScore);
    expect(answer.exposureReceiving).toEqual({ DARKNET_MARKET: 100 });
    expect(answer.taint.methods).toEqual(without.taint.methods);
    expect(answer.reasons.map(({ message }) => message)).toEqual(
      without.reasons.map(({ message }) => message),
    );
  });

  it('decides if it is the more severe finding, and a check of the transfer flags both', async () => {
    // The money behind it is a part of the value of the derived label.
    const deps = await open(
      [...transfers, pay(2, 4, 2, 950_000)],
      [label(3, 'GAMBLING', 'graphsense'), label(2, 'DARKNET_MARKET', 'cluster')],
    );
    const assessor = createAssessor(deps);
    const answer = createScreening(deps, assessor)({ chain: 'ETH', address: addressOf(1) });
    expect(answer.exposureReceiving).toEqual({ DARKNET_MARKET: 100 });
    expect(answer.riskScore).toBeLessThanOrEqual(79);
    const { flags } = createKyt(deps, assessor)({ chain: 'ETH', address: addressOf(1) });
    expect(flags.map(({ code }) => code)).toEqual(['DARKNET_MARKET_EXPOSURE', 'GAMBLING_EXPOSURE']);
  });

  let raised = 0;
  for (let seed = 1; seed <= GRAPHS; seed++)
    it(`never lowers the score of an address of a random graph (${seed})`, async () => {
      const nodes = 15 + (seed % 4) * 10;
      const random = randomTransfers(seed, nodes, nodes * 3);
      // A published label of low confidence is read like a derived one: no reading reaches one behind another.
      const all = randomLabels(seed, nodes, 0.4).filter(
        ({ source, confidence }) => source === 'cluster' || confidence >= policy.absorbConfidenceMin,
      );
      const published = all.filter(({ source }) => source !== 'cluster');
      // A label index cannot be empty.
      const others = published.length > 0 ? published : [label(nodes, 'EXCHANGE', 'graphsense')];
      const [withAll, without] = [await open(random, all), await open(random, others)].map((deps) => {
        const { assess } = createAssessor(deps);
        return (address: string): number =>
          assess({ subject: parseSubject('ETH', address), asOf: null, maxHops: 3, directions: ['in', 'out'] })
            .judged.riskScore;
      }) as [(address: string) => number, (address: string) => number];
      for (let node = 0; node < nodes; node++) {
        const address = addressOf(node);
        expect(withAll(address), address).toBeGreaterThanOrEqual(without(address));
        if (withAll(address) > without(address)) raised++;
      }
    });

  it('raises many of them', () => {
    expect(raised).toBeGreaterThan(GRAPHS);
  });
});

describe('a derived label of a service', () => {
  const screened = async (transfers: readonly Transfer[], labels: readonly WorldLabel[], node: number) => {
    const deps = await open(transfers, labels);
    return createScreening(deps, createAssessor(deps))({ chain: 'ETH', address: addressOf(node) });
  };
  const crime = label(3, 'DARKNET_MARKET', 'graphsense');
  const derived: readonly (readonly [WorldLabel['category'], string, string])[] = [
    ['EXCHANGE', 'deposits', 'ten forwardings to an exchange'],
    ['DEX', 'factories', 'a pool that anyone can create'],
    ['SMART_CONTRACT', 'factories', 'a wallet that anyone can create'],
    ['SMART_CONTRACT', 'creators', 'a contract of an exchange'],
    ['SMART_CONTRACT', 'proxies', 'a proxy that anyone can deploy'],
  ];

  for (const [category, source, what] of derived) {
    it(`does not launder what an address received (${what})`, async () => {
      // 3 paid 2, and 2 paid an exchange ten times.
      const transfers = [
        pay(0, 3, 2, 50_000),
        ...Array.from({ length: 10 }, (_, at) => pay(at + 1, 2, 9, 5_000)),
      ];
      const exchange = label(9, 'EXCHANGE', 'graphsense');
      const without = await screened(transfers, [crime, exchange], 2);
      const answer = await screened(transfers, [crime, exchange, label(2, category, source)], 2);
      expect(without.riskScore).toBeGreaterThan(0);
      expect(answer.riskScore).toBeGreaterThanOrEqual(without.riskScore);
      expect(answer.exposureReceiving).toEqual(without.exposureReceiving);
      // It names the address, and carries its rule.
      expect(answer.entity?.category).toBe(category);
      expect(answer.entityLabels[0]?.derivation).toMatchObject({ version: 1 });
    });

    it(`does not stop a walk (${what})`, async () => {
      // 3 paid 2, which carries the label, and 2 paid 1.
      const transfers = [pay(0, 3, 2, 50_000), pay(1, 2, 1, 50_000)];
      const without = await screened(transfers, [crime], 1);
      const answer = await screened(transfers, [crime, label(2, category, source)], 1);
      expect(without.riskScore).toBeGreaterThan(0);
      expect(answer.riskScore).toBe(without.riskScore);
      expect(answer.exposureReceiving).toEqual({ DARKNET_MARKET: 100 });
    });
  }

  it.each(['freezes', 'creators'])('never makes a verdict CRITICAL (%s)', async (source) => {
    const frozen = { ...label(2, 'ILLICIT_ACTOR', source), confidence: 1 };
    const answer = await screened([pay(0, 5, 2, 1_000)], [frozen], 2);
    expect(answer.riskScore).toBeGreaterThan(0);
    expect(answer.riskScore).toBeLessThanOrEqual(79);
  });
});
