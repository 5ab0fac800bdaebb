/**
 * Real files, from the command line to the answers over HTTP: the labels of publishers (the example that the README shows), and the graph from
 * two blocks of Ethereum and one of Bitcoin.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DatasetReport, ImportReport } from '../../src/labels/import-report.ts';
import { describeWithSharedData, hasSharedData, sharedData } from '../setup/shared-data.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

/** Lazarus Group, on the SDN list; the Tornado Cash router, removed from it on 2025-03-21. */
const SANCTIONED = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
/** The 0.1 ETH pool of Tornado Cash. */
const POOL = '0x12d66f87a04a9e220743712ce6d9bb1b5616b8fc';
const DELISTED = '0x722122df12d4e14e13ac3b6895a86e84145b6967';
const BINANCE_HOT_WALLET = '0x28c6c06298d514db089934071355e5743bf21d60';
const PHISHING = '0x000000000532b45f47779fce440748893b257865';
/** Paid 3,506.37 USDT to an exchange in block 17173049 or 17173050. */
const PAID_AN_EXCHANGE = '0x94221e6e1b44d21729ff8ffe1750194b0db41e1e';
const UNKNOWN = '0x00000000000000000000000000000000a55a0001';

interface LabelsAnswer {
  readonly sanctioned: boolean;
  readonly labels: readonly { readonly source: string; readonly category: string }[];
}

interface Counts {
  readonly meta: {
    readonly real: { readonly labels: number };
    readonly synthetic: { readonly labels: number };
  };
}

/** A swap router: it trades with many addresses, which got their priced money from pools two hops away. */
const ROUTER = '0xef1c6e67703c7bd7107eed8303fbe6ec2554bf6b';
/** Labelled as blacklisted by one publisher. */
const BLACKLISTED = '0x881d40237659c251811cec9c364ef91dc08d300c';
/** In block 300025 of Bitcoin: placed bets, and was paid by the same house. */
const GAMBLER = '18bW2s7nDP2VBper8WaJ25KdQXepZgF4df';
/** Paid LuckyB.it in many outputs of the same block. */
const PAYS_A_HOUSE = '1LuckyR1fFHEsXYyx5QK4UFzv3PEAepPMK';
const PAID_A_PONZI = '125g98Po2KgbaC28k8qb358uHv81nk8xMh';
const PONZI = '1FyedPPk923wRfmVphV1CLt3bVLGxHZXpK';

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly value: string;
}

const TAGPACKS = sharedData('graphsense', 'graphsense-tagpacks.tar.gz');

/** What the program reports about the files of each source. */
const reports = new Map<string, readonly Pick<DatasetReport, 'labels' | 'rejected'>[]>();

let world: World;
let server: RunningServer;
let key = '';
/** A key may make five traces a minute, so a second key shares them. */
let secondKey = '';

const done = async (...args: string[]): Promise<string> => {
  const { code, out, err } = await world.run(args);
  expect(code, `${args.join(' ')}: ${err}`).toBe(0);
  return out;
};

/** Imports files, and keeps the report. */
async function importFiles(source: string, ...files: readonly string[]): Promise<void> {
  const { code, out, err } = await world.run(['import', source, ...files, '--json']);
  expect([code, err]).toEqual([0, '']);
  const { datasets } = JSON.parse(out) as ImportReport;
  reports.set(source, [...(reports.get(source) ?? []), ...datasets]);
}

/** One world for all tests: the largest files take seconds to import. */
beforeAll(async () => {
  world = newWorld();
  if (!hasSharedData) return;
  await importFiles('graphsense', TAGPACKS);
  await importFiles('exchanges', sharedData('exchanges', 'defillama_cex_owners_2025-06-30.csv'));
  for (const name of ['sdn_advanced_2025-03-04.xml.gz', 'sdn_advanced_2025-03-21.xml.gz'])
    await importFiles('ofac', sharedData('ofac', name));
  expect((await world.run(['import', 'ofac', sharedData('ofac', 'consolidated_2022-02-24.xml')])).err).toBe(
    '',
  );
  await importFiles('pools', sharedData('exchanges', 'mining_pools_2026-02.json'));
  await importFiles(
    'scams',
    sharedData('scams', 'phishing_scams.csv'),
    sharedData('scams', 'malicious_smart_contracts.csv'),
    sharedData('scams', 'etherscan_malicious_labels.csv'),
  );
  const blocks = ['blocks', 'transactions', 'token_transfers'].map((name) =>
    sharedData('transactions', 'ethereum', `expected_${name}.json`),
  );
  const ingested = await done('ingest', 'ethereum-etl', ...blocks, '--chain', 'ETH', '--json');
  expect(JSON.parse(ingested)).toMatchObject({ stored: 298 + 291, rejected: 0 });
  const block = sharedData('transactions', 'bitcoin', 'block300025_inputs_outputs.csv');
  // The payment to the Ponzi scheme was 45,981 satoshi, about 21 US cents: with a price it would be dust.
  await done('ingest', 'bitcoin-resolved', block, '--chain', 'BTC', '--no-prices');
  await done('cluster', 'BTC');
  expect((await world.run(['index', 'build'])).err).toBe('');
  // A server builds the index in the background, and answers GRAPH_NOT_READ until it exists.
  await done('exposure', 'build', '--json');
  server = await world.serve();
  key = server.firstKey;
  await done('credits', 'grant', 'local', '1000');
  secondKey = /assay_live_\w+/.exec(await done('keys', 'create', '--name', 'second'))?.[0] ?? '';
}, 300_000);
afterAll(() => world.end());

describeWithSharedData('the real files of OFAC, GraphSense, exchanges, scams and two blocks', () => {
  const screening = async (address: string): Promise<Record<string, unknown>> => {
    const { status, body } = await ask(server, key, '/api/v1/screening', { address, chain: 'ETH' });
    expect(status).toBe(200);
    return body.data as unknown as Record<string, unknown>;
  };

  it('contains more than 500,000 real labels and no synthetic one', async () => {
    const { meta } = JSON.parse((await world.run(['index', 'stats', '--json'])).out) as Counts;
    expect(meta.real.labels).toBeGreaterThan(500_000);
    expect(meta.synthetic.labels).toBe(0);
  });

  it('has most rows of all files, and rejects what is invalid', () => {
    const rejected = [...reports].map(([source, rows]) => [
      source,
      rows.reduce((sum, row) => sum + row.rejected, 0),
    ]);
    expect(Object.fromEntries(rejected)).toEqual({
      ...{ exchanges: 182, graphsense: 114, ofac: 6, pools: 7, scams: 4 },
    });
    expect(reports.get('graphsense')?.[0]?.labels).toBeGreaterThan(520_000);
  });

  it('is not changed by files that are imported again', async () => {
    const version = async (): Promise<string> =>
      JSON.parse((await world.run(['index', 'stats', '--json'])).out).meta.dataVersion;
    const before = await version();
    const { code, out, err } = await world.run(['import', 'graphsense', TAGPACKS, '--json']);
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ changed: false, datasets: [{ status: 'unchanged' }] });
    expect((await world.run(['index', 'build'])).err).toBe('');
    expect(await version()).toBe(before);
  });

  it('has the labels of all publishers of one address, the primary first', async () => {
    const lookup = async (address: string): Promise<LabelsAnswer> => {
      const { code, out, err } = await world.run(['lookup', 'ETH', address, '--json']);
      expect([code, err]).toEqual([0, '']);
      return JSON.parse(out) as LabelsAnswer;
    };
    const sourcesOf = ({ labels }: LabelsAnswer) => new Set(labels.map(({ source }) => source));
    const lazarus = await lookup(SANCTIONED);
    expect(sourcesOf(lazarus).size).toBeGreaterThan(2);
    expect(lazarus.labels[0]).toMatchObject({ source: 'ofac', category: 'SANCTIONED_ENTITY' });
    const pool = await lookup(POOL);
    expect(sourcesOf(pool).size).toBeGreaterThan(1);
    expect(pool.labels[0]).toMatchObject({ category: 'MIXER', entityId: 'tornado-cash' });
    expect(pool.labels.map(({ category }) => category)).not.toContain('SANCTIONED_ENTITY');
    expect(pool.sanctioned).toBe(false);
    expect((await lookup(PHISHING)).labels[0]).toMatchObject({
      category: 'PHISHING',
      threatLevel: 'CRITICAL',
    });
  });

  it('scores a sanctioned wallet at 100 and names its list', async () => {
    expect(await screening(SANCTIONED)).toMatchObject({
      riskScore: 100,
      riskLevel: 'CRITICAL',
      sanctioned: true,
      sanctionsCheck: {
        isSanctioned: true,
        agreementCount: 1,
        lists: [{ list: 'OFAC_SDN', entityName: 'Lazarus Group', program: 'DPRK3', delistedAt: null }],
      },
    });
    const check = await ask(server, key, `/api/v1/sanctions/check?chain=ETH&address=${SANCTIONED}`);
    expect(check.body.data).toMatchObject({ sanctioned: true });
    const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${SANCTIONED}`);
    expect(oracle.body.data).toMatchObject({ verdict: 'danger', score: 100 });
  });

  it('keeps the history of a delisted wallet, which is not sanctioned', async () => {
    expect(await screening(DELISTED)).toMatchObject({
      sanctioned: false,
      entity: { name: 'Tornado Cash', category: 'MIXER' },
      sanctionsCheck: {
        isSanctioned: false,
        lists: [{ list: 'OFAC_SDN', listedAt: '2022-11-08', delistedAt: '2025-03-21' }],
      },
    });
  });

  it('names a Binance hot wallet by several sources, and shows its two deposits and two payments', async () => {
    const answer = await screening(BINANCE_HOT_WALLET);
    expect(answer).toMatchObject({ entity: { name: 'Binance', category: 'EXCHANGE' }, riskLevel: 'LOW' });
    const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${BINANCE_HOT_WALLET}`);
    expect(oracle.body.data).toMatchObject({ entity: { name: 'Binance', category: 'EXCHANGE' } });
    const sources = (answer.entityLabels as { source: string }[]).map((label) => label.source);
    expect(new Set(sources)).toEqual(new Set(['seed', 'graphsense']));
    // Both deposits are of one listed token without a price, so each has its share by amount.
    const dealings = answer.topCounterparties as {
      direction: string;
      percentage: number;
      valueUsd: number;
    }[];
    expect(dealings.filter(({ direction }) => direction === 'in')).toMatchObject([
      { valueUsd: null, percentage: 50 },
      { valueUsd: null, percentage: 50 },
    ]);
    expect(dealings.filter(({ direction }) => direction === 'out')).toHaveLength(2);
  });

  it('names the publishers that call an address phishing', async () => {
    const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${PHISHING}`);
    expect(oracle.body.data).toMatchObject({ verdict: 'warning', sanctioned: false });
    expect(oracle.body.data).toMatchObject({ reasons: [{ category: 'PHISHING', source: 'scams' }, {}, {}] });
  });

  it('shows the destination of value for a wallet of the two blocks that paid an exchange', async () => {
    expect(await screening(PAID_AN_EXCHANGE)).toMatchObject({
      exposureSending: { EXCHANGE: 100 },
      topCounterparties: expect.arrayContaining([
        expect.objectContaining({
          direction: 'out',
          category: 'EXCHANGE',
          entity: expect.objectContaining({ name: 'Fixed Float' }),
        }),
      ]),
      transactionFlow: {
        outflow: {
          byAsset: expect.arrayContaining([expect.objectContaining({ amount: '3506.3696', decimals: 6 })]),
        },
      },
      coverage: { balances: { status: 'NONE' } },
    });
  });

  it('does not assess an unknown address, and reports none as safe on stale lists', async () => {
    expect(await screening(UNKNOWN)).toMatchObject({ assessed: false, entity: null, riskScore: 0 });
    const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${UNKNOWN}`);
    expect(oracle.body.data).toMatchObject({
      verdict: 'warning',
      reasons: [{ code: 'STALE_OR_MISSING_DATA', message: expect.stringContaining('UK') }],
    });
  });

  it('answers a bulk request in order, the invalid item in its place', async () => {
    const addresses = [
      SANCTIONED,
      'nonsense',
      { chain: 'BTC', address: '34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo' },
    ];
    const { body } = await ask(server, key, '/api/v1/screen/bulk', { addresses, chain: 'ETH' });
    expect(body.data).toMatchObject({
      results: [
        { address: SANCTIONED, sanctioned: true },
        { address: 'nonsense', error: expect.any(String) },
        {
          chain: 'BTC',
          labels: expect.arrayContaining([expect.objectContaining({ name: 'Binance', source: 'seed' })]),
        },
      ],
    });
  });
});

describeWithSharedData('screening, KYT and trace over real blocks', () => {
  let requests = 0;
  const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await ask(server, requests++ % 2 === 0 ? key : secondKey, `/api/v1${path}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.data as unknown as Record<string, unknown>;
  };
  const sum = (shares: unknown): number =>
    Math.round(100 * Object.values(shares as object).reduce((total: number, one: number) => total + one, 0)) /
    100;

  it('accepts the same options on the command line', async () => {
    const screened = async (...options: string[]): Promise<Record<string, unknown>> => {
      const { out, err } = await world.run(['screen', 'BTC', GAMBLER, ...options, '--json']);
      expect(err).toBe('');
      return JSON.parse(out) as Record<string, unknown>;
    };
    const overHttp = await post('/screening', { address: GAMBLER, chain: 'BTC', taint: 'all', maxHops: 1 });
    const typed = await screened('--taint', 'all', '--max-hops', '1');
    expect(typed.taint).toEqual(overHttp.taint);
    expect(typed.exposures).toEqual(overHttp.exposures);
    expect((await screened()).taint).not.toEqual(overHttp.taint);
  });

  it('follows the priced value of a router to pools two hops away', async () => {
    const answer = await post('/screening', { address: ROUTER, chain: 'ETH' });
    const exposures = answer.exposures as { type: string; category: string; hops: number }[];
    const indirect = exposures.filter(({ type }) => type === 'INDIRECT');
    expect(new Set(indirect.map(({ category }) => category))).toEqual(new Set(['DEX', 'LENDING']));
    expect(new Set(indirect.map(({ hops }) => hops))).toEqual(new Set([2]));
    expect(sum(answer.exposureSending)).toBe(100);
    expect(sum(answer.exposureReceiving)).toBe(100);
    const near = await post('/screening', { address: ROUTER, chain: 'ETH', maxHops: 1 });
    expect((near.exposures as { type: string }[]).some(({ type }) => type === 'INDIRECT')).toBe(false);
  });

  it('traces a payment to the receiving exchange, and stops there', async () => {
    const trace = await post('/trace', {
      address: PAID_AN_EXCHANGE,
      chain: 'ETH',
      direction: 'out',
      hops: 3,
    });
    expect(trace.nodes).toContainEqual(
      expect.objectContaining({ label: 'Fixed Float', category: 'EXCHANGE', depth: 1 }),
    );
    expect(trace.edges).toContainEqual(
      expect.objectContaining({ from: PAID_AN_EXCHANGE, value: '3506.3696', decimals: 6, txCount: 1 }),
    );
    expect(trace.stoppedAt).toContainEqual(expect.objectContaining({ reason: 'SERVICE' }));
    // Other payers of the exchange are not part of the trace.
    for (const { from } of trace.edges as Edge[]) expect(from).toBe(PAID_AN_EXCHANGE);
  });

  it('finds the path from one side of a swap to the other', async () => {
    const out = await post('/trace', { address: ROUTER, chain: 'ETH', direction: 'out', hops: 2 });
    const far = (out.nodes as { address: string; depth: number }[]).find(({ depth }) => depth === 2);
    expect(far).toBeDefined();
    const path = await post('/trace', {
      address: ROUTER,
      chain: 'ETH',
      direction: 'out',
      targetAddress: far?.address,
      maxDepth: 7,
    });
    expect(path).toMatchObject({ found: true, target: far?.address });
    const [shortest] = path.paths as { hops: number; addresses: string[] }[];
    expect(shortest).toMatchObject({ hops: 2 });
    expect(shortest?.addresses.at(-1)).toBe(far?.address);
  });

  it('checks a transfer to an exchange, and one to a blacklisted address', async () => {
    const trace = await post('/trace', { address: PAID_AN_EXCHANGE, chain: 'ETH', direction: 'out' });
    const to = (trace.nodes as { address: string; label: string | null }[]).find(
      ({ label }) => label === 'Fixed Float',
    )?.address;
    const good = await post('/kyt', { chain: 'ETH', from: PAID_AN_EXCHANGE, to });
    // The lists of other authorities are missing or stale in this world, so the decision is never ALLOW.
    expect(good).toMatchObject({
      decision: 'REVIEW',
      riskLevel: 'LOW',
      flags: [],
      link: { sent: { txCount: 1 }, returned: null },
      reasons: [{ code: 'STALE_OR_MISSING_DATA' }],
    });
    const bad = await post('/kyt', { chain: 'ETH', address: BLACKLISTED });
    // A published list accuses the router of a wallet, which a label with more confidence names: the accusation stays a flag.
    expect(bad).toMatchObject({ address: { entity: { name: 'MetaMask', category: 'DEX' } } });
    expect(bad.flags).toContainEqual(
      expect.objectContaining({ code: 'ILLICIT_ACTOR_OWNER', party: 'address' }),
    );
    expect(['REVIEW', 'BLOCK']).toContain(bad.decision);
  });

  it('screens a Bitcoin address by outputs, under all five rules, and names its cluster', async () => {
    const answer = await post('/screening', { address: GAMBLER, chain: 'BTC', taint: 'all' });
    expect(answer).toMatchObject({
      taint: {
        basis: 'OUTPUTS',
        methods: ['poison', 'haircut', 'fifo', 'lifo', 'tiho'].map((method) => ({ method })),
      },
      clusterAnalysis: { size: 2, heuristics: expect.arrayContaining([expect.any(String)]) },
    });
    const { clusterAnalysis } = answer as { clusterAnalysis: { members: string[]; confidence: number } };
    expect(clusterAnalysis.members).toContain(GAMBLER);
    expect(clusterAnalysis.confidence).toBeLessThan(1);
    for (const { received } of (answer.taint as { methods: { received: Record<string, number> }[] }).methods)
      expect(received.GAMBLING).toBeGreaterThan(0);
    expect(sum(answer.exposureReceiving)).toBe(100);
  });

  it('computes the shares of a block without prices by amount, not by the number of transfers', async () => {
    const answer = await post('/screening', { address: PAYS_A_HOUSE, chain: 'BTC' });
    // Recomputed from the satoshi values of the block: 57.83. By number of transfers it would be 40.
    expect(answer.exposures).toContainEqual(
      expect.objectContaining({
        entity: expect.objectContaining({ name: 'LuckyB.it' }),
        category: 'GAMBLING',
        direction: 'out',
        type: 'DIRECT',
        percentage: 57.83,
        asset: 'BTC',
        priceStatus: 'NONE',
        valueUsd: null,
      }),
    );
  });

  it('shows a payment to a Ponzi scheme on Bitcoin, and its path', async () => {
    const answer = await post('/screening', { address: PAID_A_PONZI, chain: 'BTC' });
    expect(answer).toMatchObject({ exposureSending: { PONZI: 100 }, riskLevel: 'MEDIUM' });
    expect(answer.flaggedTransactions).toContainEqual(
      expect.objectContaining({ counterparty: PONZI, category: 'PONZI', direction: 'out' }),
    );
    const path = await post('/trace', {
      address: PAID_A_PONZI,
      chain: 'BTC',
      targetAddress: PONZI,
      direction: 'out',
    });
    expect(path).toMatchObject({ found: true, paths: [{ hops: 1 }] });
  });

  it('prints the same trace on the command line', async () => {
    const printed = JSON.parse(
      await done('trace', 'ETH', PAID_AN_EXCHANGE, '--direction', 'out', '--json'),
    ) as Record<string, unknown>;
    const answered = await post('/trace', { address: PAID_AN_EXCHANGE, chain: 'ETH', direction: 'out' });
    expect({ ...printed, tracedAt: '' }).toEqual({ ...answered, tracedAt: '' });
    expect(await done('kyt', 'ETH', BLACKLISTED)).toMatch(/^(REVIEW|BLOCK): /);
    expect(await done('trace', 'ETH', PAID_AN_EXCHANGE, '--direction', 'out')).toContain(
      'Fixed Float (EXCHANGE)',
    );
  });
});
