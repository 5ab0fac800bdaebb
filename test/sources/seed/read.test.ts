import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { shippedData } from '../../../src/base/paths.ts';
import { LISTS } from '../../../src/sources/lists.ts';
import { seedFiles, seedReader } from '../../../src/sources/seed/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';

const file = temporaryFiles();

const FACT = {
  chain: 'ETH',
  address: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
  entity: 'ethereum-deposit-contract',
  name: 'Ethereum 2.0 deposit contract',
  category: 'STAKING',
  url: 'https://ethereum.org',
  tags: ['beacon-chain'],
  confidence: 0.9,
  sourceUrl: 'https://example.org/specs',
  date: '2026-11-21',
  verified: false,
  isContract: true,
};

const SANCTIONS = { list: 'OFAC_SDN', entityId: '12345', program: 'DPRK3', listedAt: '2022-04-14' };

const lines = (...rows: readonly unknown[]): string =>
  rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n');

describe('a seed file', () => {
  it('shows every field of a fact', async () => {
    const path = file('facts.ndjson', lines('# a comment', '', FACT, { ...FACT, sanctions: SANCTIONS }));
    const { addresses, rejects, headers } = await readSource(seedReader(LISTS.ids), path);
    expect(rejects).toEqual([]);
    expect(headers).toEqual([{ type: 'header', lists: [], publishedAt: '2026-11-21', layout: 'SEED' }]);
    expect(addresses[0]).toEqual({
      type: 'address',
      address: '0x00000000219ab540356cBB839Cbe05303d7705Fa',
      currency: 'ETH',
      actorId: 'ethereum-deposit-contract',
      actorName: 'Ethereum 2.0 deposit contract',
      concepts: [],
      category: 'STAKING',
      threatLevel: null,
      tags: ['beacon-chain'],
      confidence: '0.9',
      jurisdiction: null,
      url: 'https://ethereum.org',
      sourceUrl: 'https://example.org/specs',
      firstSeen: null,
      lastSeen: '2026-11-21',
      isContract: true,
      verified: false,
      sanctions: null,
      provenance: { file: 'facts.ndjson', line: 3 },
    });
    expect(addresses[1]?.sanctions).toEqual({ ...SANCTIONS, delistedAt: null });
  });

  it.each([
    ['address', { address: '' }, /^address: is required/],
    ['entity', { entity: 'Two Words' }, /^entity: .* is not a slug/],
    ['category', { category: undefined }, /^category: is required/],
    ['date', { date: '2026-02-30' }, /^date: .* is not an ISO date/],
    ['source', { sourceUrl: 'somewhere' }, /^sourceUrl: .* is not an http/],
    ['confidence', { confidence: 2 }, /^confidence: .* from 0 to 1/],
    ['verified', { verified: 'yes' }, /^verified: must be true or false/],
    ['tags', { tags: 'a;b' }, /^tags: must be an array/],
    ['jurisdiction', { jurisdiction: 'USA' }, /^jurisdiction: .* two-letter/],
    [
      'list',
      { sanctions: { ...SANCTIONS, list: 'SDN' } },
      /^sanctions\.list: must be one of OFAC_SDN, .*, OTHER \(got 'SDN'\)/,
    ],
    ['list id', { sanctions: { list: 'UN' } }, /^sanctions\.entityId: is required/],
    ['misspelt field', { sourceURL: 'https://example.org' }, /^sourceURL: is not a field/],
  ])('with a wrong %s is a reject that names it', async (_, change, reason) => {
    const path = file('facts.ndjson', lines({ ...FACT, ...change }, FACT));
    const { addresses, rejects } = await readSource(seedReader(LISTS.ids), path);
    expect(rejects).toHaveLength(1);
    expect(rejects[0]?.reason).toMatch(reason);
    expect(rejects[0]?.provenance.line).toBe(1);
    expect(addresses).toHaveLength(1);
  });

  it.each(['{', '[]', 'null', '7'])('with the line %s rejects it', async (line) => {
    const { rejects } = await readSource(seedReader(LISTS.ids), file('facts.ndjson', line));
    expect(rejects[0]?.reason).toMatch(/^line: /);
  });
});

describe('the shipped seed', () => {
  it('follows the rules of its README on every line', async () => {
    const { addresses, rejects } = await readSource(seedReader(LISTS.ids), ...(await seedFiles()));
    expect(rejects).toEqual([]);
    expect(addresses.length).toBeGreaterThan(200);
  });

  it('is what the README shows', async () => {
    const readme = readFileSync(shippedData('seed', 'README.md'), 'utf8');
    const example = /```json\n([\s\S]*?)\n```/.exec(readme)?.[1] as string;
    const { addresses, rejects } = await readSource(seedReader(LISTS.ids), file('example.ndjson', example));
    expect(rejects).toEqual([]);
    expect(addresses).toHaveLength(1);
  });
});
