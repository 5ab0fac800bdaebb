/** The publishers' real files, from the command line to the answers over HTTP: the example that the README shows. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

/** Lazarus Group, on the SDN list; the Tornado Cash router, removed from it on 2025-03-21. */
const SANCTIONED = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const DELISTED = '0x722122df12d4e14e13ac3b6895a86e84145b6967';
const BINANCE_HOT_WALLET = '0x28c6c06298d514db089934071355e5743bf21d60';
const PHISHING = '0x000000000532b45f47779fce440748893b257865';
/** Paid 3,506.37 USDT to an exchange in block 17173049 or 17173050. */
const PAID_AN_EXCHANGE = '0x94221e6e1b44d21729ff8ffe1750194b0db41e1e';
const UNKNOWN = '0x00000000000000000000000000000000a55a0001';

interface Counts {
  readonly meta: {
    readonly real: { readonly labels: number };
    readonly synthetic: { readonly labels: number };
  };
}

describeWithSharedData('the real files of OFAC, GraphSense, exchanges, scams and two blocks', () => {
  let world: World;
  let server: RunningServer;
  let key = '';

  const imported = async (...args: string[]): Promise<void> => {
    const outcome = await world.run(['import', ...args]);
    expect(outcome.err).toBe('');
  };

  beforeAll(async () => {
    world = newWorld();
    await imported('ofac', sharedData('ofac', 'sdn_advanced_2025-03-04.xml.gz'));
    await imported('ofac', sharedData('ofac', 'sdn_advanced_2025-03-21.xml.gz'));
    await imported('ofac', sharedData('ofac', 'consolidated_2022-02-24.xml'));
    await imported('graphsense', sharedData('graphsense', 'graphsense-tagpacks.tar.gz'));
    await imported('exchanges', sharedData('exchanges', 'defillama_cex_owners_2025-06-30.csv'));
    await imported('pools', sharedData('exchanges', 'mining_pools_2026-02.json'));
    await imported(
      'scams',
      sharedData('scams', 'phishing_scams.csv'),
      sharedData('scams', 'malicious_smart_contracts.csv'),
      sharedData('scams', 'etherscan_malicious_labels.csv'),
    );
    expect((await world.run(['index', 'build'])).err).toBe('');
    const blocks = ['blocks', 'transactions', 'token_transfers'].map((name) =>
      sharedData('transactions', 'ethereum', `expected_${name}.json`),
    );
    const ingested = await world.run(['ingest', 'ethereum-etl', ...blocks, '--chain', 'ETH', '--json']);
    expect(JSON.parse(ingested.out)).toMatchObject({ stored: 298 + 291, rejected: 0 });
    // A server builds the index in the background, and answers GRAPH_NOT_READ until it exists.
    const indexed = await world.run(['exposure', 'build', '--json']);
    expect(indexed.code, indexed.err).toBe(0);
    server = await world.serve();
    key = server.firstKey;
  }, 300_000);
  afterAll(() => world.end());

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
