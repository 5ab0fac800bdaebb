/** The published sources of labels: real files where the shared data has them, and files of the documented layouts. */
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { pack } from 'tar-stream';
import { describe, expect, it } from 'vitest';
import type { LabelTemplate } from '../../../src/labels/label.ts';
import { createMapper, loadRulebook } from '../../../src/labels/map.ts';
import { readerOf, SOURCES } from '../../../src/sources/index.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { withFolder } from '../collect.ts';

const rules = loadRulebook();

interface Read {
  readonly labels: readonly {
    readonly template: LabelTemplate;
    readonly address: string;
    readonly firstSeen: string | null;
  }[];
  readonly rejects: readonly string[];
  readonly layout: string;
}

/** Reads files as an import does: the reader, then the mapper. */
async function read(id: string, ...files: readonly string[]): Promise<Read> {
  const mapper = createMapper(rules);
  const labels: Read['labels'][number][] = [];
  const rejects: string[] = [];
  let layout = '';
  for await (const record of (await readerOf(id))(files)) {
    if (record.type === 'header') layout = record.layout;
    else if (record.type === 'reject') rejects.push(record.reason);
    else if (record.type === 'address') {
      const mapped = mapper.map(id, record);
      if (!mapped.ok) rejects.push(mapped.reason);
      else
        for (const { template } of mapped.labels)
          labels.push({ template, address: record.address, firstSeen: mapped.firstSeen });
    }
  }
  return { labels, rejects, layout };
}

const counts = ({ labels }: Read): Record<string, number> => {
  const found: Record<string, number> = {};
  for (const { template } of labels) {
    const key = `${template.category}/${template.scope}`;
    found[key] = (found[key] ?? 0) + 1;
  }
  return found;
};

/** A repository as GitHub sends it. */
async function tarball(files: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files))
    archive.entry(
      { name: `repository-main/${name}` },
      typeof content === 'string' ? content : JSON.stringify(content),
    );
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return gzipSync(Buffer.concat(chunks));
}

const UNI = '0x1f9840a85d5af5bf1d1762f925bdaddc4201f984';
const SATOSHI = '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2';

describeWithSharedData('real files', () => {
  it('of ton-labels give 3,525 labels, of which 775 are exchanges and 117 scams', async () => {
    const found = await read('ton-labels', sharedData('labels', 'ton-labels_2026-04-28.tar.gz'));
    expect(found.labels).toHaveLength(3_525);
    expect(counts(found)).toMatchObject({ 'EXCHANGE/TON': 775, 'SCAM/TON': 117, 'GAMBLING/TON': 228 });
    expect(found.rejects).toEqual(['The zero address has no owner.']);
  });

  it('of ethereum-lists give 2,104 tokens on ETH, and reject test networks', async () => {
    const found = await read(
      'ethereum-tokens',
      sharedData('labels', 'ethereum-lists-tokens_2026-04-07.tar.gz'),
    );
    expect(counts(found)).toMatchObject({ 'TOKEN/ETH': 2_104, 'TOKEN/BSC': 19, 'TOKEN/ETC': 7 });
    expect(found.rejects.filter((reason) => reason.includes('test network'))).toHaveLength(35);
  });

  it('of polkadot-js give 270 addresses of Polkadot, and reject those of other networks', async () => {
    const found = await read(
      'polkadot-phishing',
      sharedData('labels', 'polkadot-js-phishing_2026-02-03.json'),
    );
    expect(counts(found)).toEqual({ 'PHISHING/DOT': 270 });
    expect(found.rejects).toHaveLength(9);
  });

  it('of the Open Labels Initiative are read in both layouts', async () => {
    const folder = ['labels', 'oli'];
    const found = await read(
      'oli',
      sharedData(...folder, 'base_top_100_contracts_by_txcount_2024_07_24.json'),
      sharedData(...folder, 'op-mainnet_top_100_contracts_by_txcount_2024_07_24.json'),
      sharedData(...folder, 'example-labels.csv'),
      sharedData(...folder, 'trust_table_template.yml'),
    );
    expect(found.labels).toHaveLength(156);
    expect(found.labels[0]?.template).toMatchObject({ category: 'DEX', scope: 'BASE', confidence: 0.5 });
  });
});

describe('documented layouts', () => {
  it('Open Labels: the trust table decides the confidence of an attester, and rejects unknown ones', () =>
    withFolder(async (write) => {
      const row = (tag: string, value: string, attester: string) =>
        `eip155:1,${UNI},${tag},${value},${attester},false`;
      const table = write(
        'trust.yml',
        'attesters:\n  - address: "0x00000000000000000000000000000000000000aa"\n    filters:\n      - tag_id: "usage_category"\n        confidence: 0.4\n      - tag_id: "*"\n        confidence: 0.9\n',
      );
      const labels = write(
        'labels.csv',
        [
          'chain_id,address,tag_id,tag_value,attester,revoked',
          row('owner_project', 'uniswap', '0x00000000000000000000000000000000000000AA'),
          row('usage_category', 'dex', '0x00000000000000000000000000000000000000aa'),
          row('owner_project', 'somebody', '0x00000000000000000000000000000000000000bb'),
          `eip155:1,${UNI},is_eoa,true,0x00000000000000000000000000000000000000aa,true`,
        ].join('\n'),
      );
      const found = await read('oli', labels, table);
      expect(found.labels.map(({ template }) => template)).toMatchObject([
        { entity: { id: 'uniswap' }, category: 'DEX', confidence: 0.4 },
      ]);
      expect(found.rejects).toEqual([
        'attester: 0x00000000000000000000000000000000000000bb is not in the trust table.',
        'The label is revoked.',
      ]);
      await expect(
        read('oli', labels, write('bad.yml', 'attesters:\n  - address: nobody\n')),
      ).rejects.toThrow(/bad\.yml: address: 'nobody' is no attester/);
    }));

  it('ethereum-lists/contracts: the folder names the chain and the file the address', () =>
    withFolder(async (write) => {
      const file = write(
        'contracts.tar.gz',
        await tarball({
          [`contracts/1/${UNI}.json`]: { project: 'uniswap', name: 'UNI', source: 'https://uniswap.org/' },
          [`contracts/99999/${UNI}.json`]: { project: 'elsewhere' },
          'contracts/1/broken.json': '{',
          'projects/uniswap.json': { name: 'Uniswap' },
        }),
      );
      const found = await read('ethereum-contracts', file);
      expect(found.labels.map(({ template }) => template)).toMatchObject([
        {
          entity: { id: 'uniswap' },
          scope: 'ETH',
          category: expect.any(String),
          tags: expect.arrayContaining(['UNI']),
        },
      ]);
      expect(found.rejects).toHaveLength(2);
    }));

  it('Trust Wallet and Uniswap: token lists name the chain by SLIP-44 or chain id', () =>
    withFolder(async (write) => {
      const trust = write(
        'trustwallet-ethereum-tokenlist.json',
        JSON.stringify({
          name: 'Trust Wallet: Ethereum',
          timestamp: '2026-03-01T00:00:00Z',
          tokens: [
            { asset: 'c60', type: 'coin', address: '', name: 'Ether', symbol: 'ETH' },
            {
              asset: `c60_t${UNI}`,
              type: 'ERC20',
              address: UNI,
              name: 'Uniswap',
              symbol: 'UNI',
              decimals: 18,
            },
          ],
        }),
      );
      const found = await read('trustwallet', trust);
      expect(found.rejects).toEqual([]);
      expect(found.labels[0]?.template).toMatchObject({
        category: 'TOKEN',
        scope: 'ETH',
        source: 'trustwallet',
      });
      const uniswap = write(
        'uniswap.tokenlist.json',
        JSON.stringify({ tokens: [{ chainId: 56, address: UNI, name: 'Uniswap', symbol: 'UNI' }] }),
      );
      expect((await read('uniswap-tokens', uniswap)).labels[0]?.template.scope).toBe('BSC');
    }));

  it('l2beat: contracts of a discovery, with the chain in front of the address', () =>
    withFolder(async (write) => {
      const file = write(
        'l2beat.tar.gz',
        await tarball({
          'packages/config/src/projects/ink/ink/discovered.json': {
            name: 'ink',
            entries: [
              { type: 'Contract', address: `eth:${UNI}`, name: 'L1StandardBridge' },
              { type: 'EOA', address: 'eth:0x00000000000000000000000000000000000000aa' },
              { type: 'Contract', address: 'nonsense' },
            ],
          },
          'packages/config/src/projects/old/ethereum/discovered.json': {
            name: 'old',
            chain: 'arbitrum',
            entries: [{ type: 'Contract', address: UNI, name: 'Multicall' }],
          },
        }),
      );
      const found = await read('l2beat', file);
      expect(
        found.labels.map(({ template }) => [template.entity.name, template.category, template.scope]),
      ).toEqual([
        ['ink', 'BRIDGE', 'ETH'],
        ['old', 'SMART_CONTRACT', 'ARBITRUM'],
      ]);
      expect(found.rejects).toEqual(['address: is not an EVM address.']);
    }));

  it('Cardano: a token labels the script address of its minting policy', () =>
    withFolder(async (write) => {
      const policy = '29d222ce763455e3d7a09a665ce554f00ac89d2e99a1a83d267170c6';
      const file = write(
        'registry.tar.gz',
        await tarball({
          [`mappings/${policy}4d494e.json`]: {
            subject: `${policy}4d494e`,
            name: { value: 'Minswap', signatures: [] },
            ticker: { value: 'MIN' },
            url: { value: 'https://minswap.org/' },
          },
          [`mappings/${policy}.json`]: { subject: 'short' },
        }),
      );
      const found = await read('cardano-tokens', file);
      expect(found.labels).toHaveLength(1);
      expect(found.labels[0]?.address).toMatch(/^addr1w/);
      expect(found.labels[0]?.template).toMatchObject({
        category: 'TOKEN',
        scope: 'ADA',
        entity: { name: 'Minswap' },
      });
      expect(found.rejects).toEqual(['subject: must be 28 to 60 bytes in hex.']);
    }));

  it('Ransomwhere and BitcoinHeist: families as entities, and nothing for rows without a known owner', () =>
    withFolder(async (write) => {
      const export_ = write(
        'ransomwhere.json',
        JSON.stringify({
          result: [
            {
              address: SATOSHI,
              blockchain: 'bitcoin',
              family: 'Netwalker (Mailto)',
              createdAt: '2021-07-09T00:00:00Z',
            },
            { blockchain: 'bitcoin' },
          ],
        }),
      );
      const ransomwhere = await read('ransomwhere', export_);
      expect(ransomwhere.labels[0]).toMatchObject({
        firstSeen: '2021-07-09',
        template: { category: 'RANSOMWARE', entity: { name: 'Netwalker (Mailto)' } },
      });
      expect(rules.sources.groupOf('ransomwhere', 'https://ransomwhe.re/')).toBe('crowd');
      expect(ransomwhere.rejects).toHaveLength(1);

      const heist = write(
        'BitcoinHeistData.csv',
        [
          '"address","year","day","length","weight","count","looped","neighbors","income","label"',
          `"${SATOSHI}",2016,60,0,1,1,0,1,1e8,"montrealCryptoLocker"`,
          `"34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo",2016,60,0,1,1,0,1,1e8,"white"`,
          `"34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo",2016,60,0,1,1,0,1,1e8,"atlantisX"`,
        ].join('\n'),
      );
      const found = await read('bitcoinheist', heist);
      expect(found.labels).toMatchObject([
        { firstSeen: '2016-02-29', template: { entity: { name: 'CryptoLocker' } } },
      ]);
      expect(found.rejects).toHaveLength(1);
      // The study is the one that Ransomwhere took over: the two are one voice.
      expect(rules.sources.groupOf('bitcoinheist', found.labels[0]?.template.sourceUrl ?? null)).toBe(
        'crowd',
      );
    }));

  it('OpenSanctions: wallets have the names and topics of their holders', () =>
    withFolder(async (write) => {
      const lines = [
        {
          id: 'w1',
          schema: 'CryptoWallet',
          caption: SATOSHI,
          properties: { publicKey: [SATOSHI], currency: ['XBT'], holder: ['p1'] },
        },
        { id: 'w2', schema: 'CryptoWallet', caption: 'none', properties: {} },
        { id: 'p1', schema: 'Person', caption: 'Ann Example', properties: { topics: ['sanction'] } },
      ];
      const file = write('entities.ftm.json', lines.map((line) => JSON.stringify(line)).join('\n'));
      const found = await read('opensanctions-wallets', file);
      expect(found.labels[0]?.template).toMatchObject({
        entity: { name: 'Ann Example' },
        scope: 'BTC',
        sanctions: [],
      });
      expect(found.rejects).toEqual(['publicKey: is missing.']);
    }));

  it('Sourcify: Parquet files with Zstandard, written by another program', () =>
    withFolder(async (write) => {
      const path = write('contract_deployments_0_3.parquet', '');
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      await connection.run(
        `COPY (SELECT * FROM (VALUES
          (1::BIGINT, unhex('${UNI.slice(2)}')), (8453::BIGINT, unhex('${UNI.slice(2)}')),
          (777777::BIGINT, unhex('${UNI.slice(2)}')), (1::BIGINT, unhex('00'))) t(chain_id, address))
         TO '${path}' (FORMAT parquet, COMPRESSION zstd)`,
      );
      connection.closeSync();
      const found = await read('sourcify', path);
      expect(found.labels.map(({ template }) => template.scope)).toEqual(['ETH', 'BASE']);
      expect(found.labels[0]?.template).toMatchObject({ category: 'SMART_CONTRACT', source: 'sourcify' });
      expect(found.rejects).toHaveLength(2);
      await expect(read('sourcify', write('bad.parquet', 'PAR1 no'))).rejects.toThrow(
        /not a readable Parquet file/,
      );
    }));
});

describe('every source', () => {
  it('of labels without lists has a class, an independence group and a rank in data/sources.json', () => {
    for (const { id, lists } of SOURCES)
      if (lists.length === 0) expect(rules.sources.of(id), id).toMatchObject({ class: expect.any(String) });
    expect(rules.sources.classOf('mbal')).toBe('inferred');
  });

  it('with a restricted or account-bound download is not downloaded by default', () => {
    for (const { id, restriction, account, byDefault } of SOURCES)
      if (restriction !== null) expect([id, byDefault, account]).toEqual([id, false, null]);
  });
});
