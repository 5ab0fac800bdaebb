/** The dollar token of each chain counts as dollars and as evidence if a file names it in the form of the adapters. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatAddressKey, parseAddress } from '../../src/chains/address/parse.ts';
import { createPriceBook } from '../../src/chains/prices/book.ts';
import { priced } from '../../src/chains/prices/priced.ts';
import { loadPegs, loadShippedPrices, type Peg } from '../../src/chains/prices/table.ts';
import { type ChainId, chainOf } from '../../src/chains/registry.ts';
import { ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createScreening, type ScreeningQuery } from '../../src/screening/screen.ts';
import { createWorld, type World } from './world.ts';

const AT = '2026-10-01T00:00:00Z';
const pegs = loadPegs();
const dollars = pegs.all.filter(
  (peg) =>
    peg.of === 'USD' && peg.asset !== chainOf(peg.chain).symbol && pegs.at(peg, Date.parse(AT)) !== null,
);
const chains = [...new Set(dollars.map(({ chain }) => chain))];

/** A wallet of each chain that is not an EVM chain. */
const THIEVES: Readonly<Partial<Record<ChainId, string>>> = {
  TRON: 'TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7',
  SOL: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  TON: '0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8',
  XRP: 'r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59',
  XLM: 'GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7',
  ALGO: '737777777777777777777777777777777777777777777777777UFEJ2CI',
  DOT: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
  XTZ: 'tz1KqTpEZ7Yob7QbPE4Hy4Wo8fHG8LhKxZSx',
};
const thiefOf = (chain: ChainId): string => THIEVES[chain] ?? '0x00000000000000000000000000000000000741e5';

/** Another wallet of the same kind for each token. */
function victimOf(peg: Peg): string {
  const key = Uint8Array.from(parseAddress(peg.chain, thiefOf(peg.chain)).key);
  key[key.length - 1] = (key.at(-1) ?? 0) ^ (1 + dollars.indexOf(peg));
  return formatAddressKey(key, peg.chain);
}

let world: World;
let screening: ScreeningQuery;
beforeAll(async () => {
  const stolen = (chain: ChainId) => ({
    entity: { id: 'theft', name: 'Theft', category: 'STOLEN_FUNDS', jurisdiction: null, url: null } as const,
    scope: chain,
    category: 'STOLEN_FUNDS' as const,
    threatLevel: 'CRITICAL' as const,
    source: 'graphsense',
    sourceUrl: null,
    tags: [],
    confidence: 0.9,
    sanctions: [],
    verified: true,
    synthetic: false,
  });
  world = await createWorld(
    [],
    chains.map((chain) => [thiefOf(chain), stolen(chain), chain] as const),
  );
  const book = createPriceBook({ tables: [loadShippedPrices()], pegs });
  const store = {
    ingest: (transfers: Parameters<typeof priced>[0]) => world.transfers.ingest(priced(transfers, book)),
    bulkLoad: world.transfers.bulkLoad.bind(world.transfers),
  };
  for (const chain of chains) {
    const rows = dollars
      .filter((peg) => peg.chain === chain)
      .map((peg) => ({
        txHash: `0x${dollars.indexOf(peg).toString(16).padStart(64, '0')}`,
        position: 'log:1',
        blockNumber: 10,
        timestamp: AT,
        from: thiefOf(chain),
        to: victimOf(peg),
        asset: peg.asset,
        amount: `25000${'0'.repeat(peg.decimals)}`,
      }));
    const path = join(world.folder, `${chain}.ndjson`);
    writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    const report = await ingestFiles({ format: 'ndjson', files: [path], chain }, { store });
    expect(report).toMatchObject({ stored: rows.length, rejected: 0 });
  }
  screening = createScreening(world.deps, createAssessor(world.deps));
}, 120_000);
afterAll(() => world.close());

describe('dollar tokens', () => {
  it('are known on every chain that issuers support', () => {
    expect(chains).toEqual(
      expect.arrayContaining([
        'ETH',
        'BSC',
        'BASE',
        'CELO',
        'TRON',
        'SOL',
        'TON',
        'XRP',
        'XLM',
        'ALGO',
        'DOT',
        'XTZ',
      ]),
    );
  });

  it.each(dollars.map((peg) => [peg.chain, peg.symbol, peg] as const))(
    'of %s count as dollars and as evidence: %s',
    (chain, _, peg) => {
      const answer = screening({ chain, address: victimOf(peg) });
      expect(answer.exposureReceiving).toEqual({ STOLEN_FUNDS: 100 });
      expect(answer.exposures).toMatchObject([
        { category: 'STOLEN_FUNDS', valueUsd: 25_000, priceStatus: 'PEG', asset: null, type: 'DIRECT' },
      ]);
      expect(answer.transactionFlow.inflow.byAsset).toMatchObject([
        { isEvidence: true, valueUsd: 25_000, priceStatus: 'PEG', decimals: peg.decimals },
      ]);
      expect(answer.riskScore).toBeGreaterThanOrEqual(40);
      expect(answer.reasons.map(({ code }) => code)).not.toContain('SPOOFABLE_TRANSFER');
    },
  );
});
