/** MBAL: the constructed file of the shared data, and a generated file with the shares and faults of the original. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { restoreLowered } from '../../src/labels/lowered.ts';
import { writeMbalLayout } from '../../src/labels/mbal-layout.ts';
import { labelPoints } from '../../src/risk/ownership.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { MBAL_COLUMNS, mbalReader } from '../../src/sources/mbal/read.ts';
import { runCommand } from '../cli/run-command.ts';
import { sharedData } from '../setup/shared-data.ts';
import { spawnSync } from '../support/child-process.ts';
import { makeWorld, type World } from './world.ts';

const HEADER = MBAL_COLUMNS.join();
const SHARED = sharedData('labels', 'mbal_layout_constructed.csv');

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world.end());

const rows = (...lines: readonly string[]): string => `${[HEADER, ...lines].join('\n')}\n`;

describe('the reader of MBAL', () => {
  it('labels an address as inferred and unverified, with the confidence of its method', async () => {
    const file = world.file(
      'mbal.csv',
      rows(
        'ethereum_mainnet,0x28c6c06298d514db089934071355e5743bf21d60,"cex, exchange",binance,ground_truth',
        'bnb_chain_mainnet,0x10ed43c718714eb63d5aa57b78b54704e256024e,"dex, smart_contract",pancakeswap,external',
        'bitcoin_mainnet,bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h,exchange,binance,heuristic',
      ),
    );
    await world.import({ source: 'mbal', files: [file] });
    const snapshots = await world.build();
    const [binance] = world.lookup(snapshots, 'ETH', '0x28c6c06298d514db089934071355e5743bf21d60');
    expect(binance).toMatchObject({
      class: 'inferred',
      category: 'EXCHANGE',
      confidence: 0.5,
      verified: false,
      source: 'mbal',
      synthetic: false,
    });
    expect(binance?.tags).toContain('method:ground_truth');
    const [router] = world.lookup(snapshots, 'BSC', '0x10ed43c718714eb63d5aa57b78b54704e256024e');
    expect(router).toMatchObject({ category: 'DEX', confidence: 0.4, scope: 'BSC' });
    const [btc] = world.lookup(snapshots, 'BTC', 'bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h');
    expect(btc).toMatchObject({ confidence: 0.3, entity: { id: 'binance' } });
  });

  it('ranks a label of MBAL below every named source', async () => {
    const address = '0x28c6c06298d514db089934071355e5743bf21d60';
    const own = world.file(
      'own.csv',
      `address,chain,entity,category,confidence\n${address},ETH,Acme,GAMBLING,0.2\n`,
    );
    const file = world.file('mbal.csv', rows(`ethereum_mainnet,${address},exchange,binance,ground_truth`));
    await world.import({ source: 'own', files: [own] });
    await world.import({ source: 'mbal', files: [file] });
    const sources = world.lookup(await world.build(), 'ETH', address).map(({ source }) => source);
    expect(sources).toEqual(['own', 'mbal']);
  });

  it('rejects each fault with its reason, its count and its line', async () => {
    const good = '0x28c6c06298d514db089934071355e5743bf21d60';
    const file = world.file(
      'mbal.csv',
      rows(
        `ethereum_mainnet,${good},exchange,binance,ground_truth`,
        `ethereum_mainnet,\u200b0x3f5ce5fbfe3e9af3971dd833d26ba9b5c936f0be,exchange,binance,external`,
        `ethereum_mainnet,0xabc' OR '1'='1,phishing,,external`,
        `ethereum_mainnet,${'0x'.padEnd(126, 'ab')},wallet,,external`,
        `ethereum_mainnet,"0x3f5ce5fbfe3e9af3971dd833d26ba9b5c936f0bf\n",exchange,,external`,
        'ethereum_mainnet,0x3f5ce5fbfe3e9af3971dd833d26ba9b5c936f0be,exchange,,guess',
        'dogecoin_mainnet,0x3f5ce5fbfe3e9af3971dd833d26ba9b5c936f0be,exchange,,external',
        'ethereum_mainnet,0x3f5ce5fbfe3e9af3971dd833d26ba9b5c936f0be,exchange',
        'bitcoin_mainnet,34xp4vrocgjym3xr7ycvpfhocnxv4twseo,exchange,binance,external',
      ),
    );
    const { datasets } = await world.import({ source: 'mbal', files: [file] });
    const [dataset] = datasets;
    expect(dataset).toMatchObject({ labels: 1, rejected: 7, keptApart: 1, records: 2 });
    const byLine = Object.fromEntries(
      (dataset?.reasons ?? []).map(({ reason, first }) => [first[0]?.line, reason]),
    );
    expect(byLine[3]).toContain('invisible character');
    expect(byLine[4]).toContain('characters that no address has');
    expect(byLine[5]).toContain('126 characters');
    expect(byLine[6]).toContain('line break');
    expect(byLine[8]).toContain('source: must be one of');
    expect(byLine[9]).toContain('chain: must be one of');
    expect(byLine[10]).toContain('3 cells; expected 5');
    // The reader of single records, which checks files, sees the same faults.
    const reasons: string[] = [];
    for await (const record of mbalReader([file])) if (record.type === 'reject') reasons.push(record.reason);
    expect(reasons).toHaveLength(8);
  });

  it('never matches a lower-cased base58 address, and restores it only among addresses seen on chain', async () => {
    const original = '34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo';
    const file = world.file(
      'mbal.csv',
      rows(
        `bitcoin_mainnet,${original.toLowerCase()},"exchange, wallet",binance,external`,
        'bitcoin_mainnet,1bvbmseystwetqtfn5au4m4gfg7xjanvn2,phishing,,heuristic',
      ),
    );
    await world.import({ source: 'mbal', files: [file], force: true });
    const key = parseAddress('BTC', original).key;
    const [row] = world.deps.store.catalogue().datasets;
    if (row === undefined) throw new Error('no dataset');
    const nothing = await restoreLowered(
      row,
      { chain: 'BTC', seen: [parseAddress('BTC', 'bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h').key] },
      world.deps,
    );
    expect(nothing).toMatchObject({ kept: 2, restored: 0, dataset: null });
    const report = await restoreLowered(row, { chain: 'BTC', seen: [key, key] }, world.deps);
    expect(report).toMatchObject({ kept: 2, seen: 2, restored: 1, ambiguous: 0 });
    const snapshots = await world.build();
    const [label, more] = world.lookup(snapshots, 'BTC', original);
    expect(label).toMatchObject({ source: 'mbal', class: 'inferred', category: 'EXCHANGE', confidence: 0.4 });
    expect(label?.tags).toContain('restored-capitals');
    expect(more).toBeUndefined();
    expect(world.lookup(snapshots, 'BTC', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2')).toEqual([]);
  });

  it('gives no points for a harmless category, and points below CRITICAL for a threat', () => {
    const policy = loadPolicy(loadTaxonomy().rows);
    const points = (category: 'INDIVIDUAL' | 'DEX' | 'BRIDGE' | 'PHISHING', kind: 'inferred' | 'published') =>
      labelPoints(
        { category, threatLevel: category === 'PHISHING' ? 'CRITICAL' : 'LOW', confidence: 0.5, class: kind },
        policy,
      );
    expect([
      points('INDIVIDUAL', 'inferred'),
      points('DEX', 'inferred'),
      points('BRIDGE', 'inferred'),
    ]).toEqual([0, 0, 0]);
    expect(points('BRIDGE', 'published')).toBeGreaterThan(0);
    expect(points('PHISHING', 'inferred')).toBe(40);
  });

  it('refuses a file with another header, and an archive without the table', async () => {
    const file = world.file('other.csv', 'chain,address\nETH,0x0\n');
    await expect(world.import({ source: 'mbal', files: [file] })).rejects.toThrow(
      /line 1 must be 'chain,address,categories,entity,source'/,
    );
  });
});

it.skipIf(!existsSync(SHARED))('reads the constructed file of the shared data', async () => {
  const { datasets } = await world.import({ source: 'mbal', files: [SHARED] });
  // 14 rows: 9 usable, one base58 in lower case, four faults.
  expect(datasets[0]).toMatchObject({ labels: 9, keptApart: 1, rejected: 4 });
});

describe('a generated file', () => {
  it('has the faults of the original, is imported with synthetic labels only, and reads the same from a zip archive', async () => {
    const path = join(world.folder, 'layout.csv');
    const originals: string[] = [];
    const made = await writeMbalLayout(path, {
      rows: 20_000,
      seed: 7,
      onLowered: (text) => originals.push(text),
    });
    expect(made.lowered / made.rows).toBeCloseTo(0.1758, 1);
    expect(made.quotedBreaks).toBeGreaterThan(0);
    const { datasets } = await world.import({ source: 'mbal', files: [path] });
    // A few texts have no capital: they are addresses in their own right. The marker row is one of the rejects.
    expect(datasets[0]?.labels).toBeGreaterThanOrEqual(made.usable);
    expect((datasets[0]?.keptApart ?? 0) + (datasets[0]?.labels ?? 0)).toBe(made.usable + made.lowered);
    expect(datasets[0]?.rejected).toBe(made.malformed + made.quotedBreaks + 1);
    const { real, synthetic } = (await world.build()).current.meta;
    expect(real.labels).toBe(0);
    expect(synthetic.labels).toBe(made.usable);

    const row = world.deps.store.catalogue().datasets[0];
    if (row === undefined) throw new Error('no dataset');
    const seen = originals.slice(0, 200).map((text) => parseAddress('BTC', text).key);
    const report = await restoreLowered(row, { chain: 'BTC', seen }, world.deps);
    expect(report).toMatchObject({ restored: 200, ambiguous: 0 });

    const zip = join(world.folder, 'layout.zip');
    const zipped = spawnSync('python3', ['-m', 'zipfile', '-c', zip, path]);
    if (zipped.status !== 0) return;
    const other = makeWorld();
    try {
      const fromZip = await other.import({ source: 'mbal', files: [zip] });
      expect(fromZip.datasets[0]).toMatchObject({
        labels: datasets[0]?.labels,
        rejected: datasets[0]?.rejected,
        keptApart: datasets[0]?.keptApart,
      });
    } finally {
      other.end();
    }
  });

  it('writes the same bytes for the same seed', async () => {
    const one = await writeMbalLayout(join(world.folder, 'a.csv'), { rows: 2_000, seed: 3 });
    const two = await writeMbalLayout(join(world.folder, 'b.csv'), { rows: 2_000, seed: 3 });
    expect(two.sha256).toBe(one.sha256);
    expect(readFileSync(join(world.folder, 'a.csv'), 'utf8')).toContain(
      'synthetic,every label of this file is synthetic',
    );
  });
});

it('restores the capitals of an address of a stored transfer, by the command', async () => {
  const original = '34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo';
  const listed = '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2';
  const dataDir = join(world.folder, 'installation');
  const assay = (...args: readonly string[]) => runCommand(dataDir, args);
  expect((await assay('labels', 'restore')).err).toContain('Import the file of MBAL first');
  const file = world.file(
    'mbal.csv',
    rows(
      `bitcoin_mainnet,${original.toLowerCase()},exchange,binance,external`,
      `bitcoin_mainnet,${listed.toLowerCase()},scam,,heuristic`,
      'bitcoin_mainnet,bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h,exchange,binance,heuristic',
    ),
  );
  expect((await assay('import', 'mbal', file)).out).toContain('2 lower-cased base58 addresses');
  const transfer = {
    txHash: 'ab'.repeat(32),
    position: 'out:0',
    blockNumber: 800_000,
    timestamp: '2023-07-24T00:00:00Z',
    from: 'bc1qm34lsc65zpw79lxes69zkqmk6ee3ewf0j77s3h',
    to: original,
    asset: 'BTC',
    amount: '100000',
  };
  const transfers = world.file('transfers.ndjson', `${JSON.stringify(transfer)}\n`);
  expect((await assay('ingest', 'ndjson', transfers, '--chain', 'BTC')).code).toBe(0);
  const restored = await assay('labels', 'restore', '--json');
  expect(JSON.parse(restored.out)).toMatchObject({ kept: 2, seen: 2, restored: 1, ambiguous: 0 });
  // A file of addresses adds to them; a text with a wrong checksum restores nothing.
  const addresses = world.file('addresses.txt', `${listed}\n${listed.toLowerCase()}\n`);
  const more = await assay('labels', 'restore', '--addresses', addresses, '--json');
  expect(JSON.parse(more.out)).toMatchObject({ seen: 3, restored: 2 });
  await assay('index', 'build');
  expect((await assay('lookup', 'BTC', original, '--json')).out).toContain('restored-capitals');
});
