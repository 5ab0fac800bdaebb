/** The real UK list and DefiLlama's wallets: the wallets of HTX and EXMO are sanctioned through their owner, in every answer over HTTP. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

const UK = sharedData('uk', 'uk_sanctions_list_2026-08-22.jsonl.gz');
const WALLETS = sharedData('exchanges', 'defillama_cex_owners_2025-06-30.csv');
/** A wallet of HTX on Ethereum, and one of Bitfinex. */
const HTX_WALLET = '0xe93381fb4c4f14bda253907b18fad305d799241a';
const BITFINEX_WALLET = '0x77134cbc06cb00b66f4c7e623d5fdbf6777635ec';

interface Wallet {
  readonly owner: string;
  readonly chain: string;
  readonly address: string;
}

const CHAIN_IDS: Readonly<Record<string, string>> = {
  ethereum: 'ETH',
  tron: 'TRON',
  ripple: 'XRP',
  polygon: 'POLYGON',
  litecoin: 'LTC',
  solana: 'SOL',
  avax: 'AVALANCHE',
  arbitrum: 'ARBITRUM',
  optimism: 'OPTIMISM',
  ton: 'TON',
  bsc: 'BSC',
  doge: 'DOGE',
  cardano: 'ADA',
  algorand: 'ALGO',
  ethereumclassic: 'ETC',
};
/** Networks that Assay does not support; accounts of an EVM network are checked, because they are the same account on every EVM chain. */
const EVM_ELSEWHERE = new Set(['core']);
const UNSUPPORTED = new Set(['eos', 'starknet', 'sui']);

describeWithSharedData('wallets of designated exchanges, from the real UK list', () => {
  let world: World;
  let server: RunningServer;
  let key = '';
  const wallets: Wallet[] = readFileSync(WALLETS, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(','))
    .filter(([owner]) => owner === 'huobi' || owner === 'exmo')
    .map(([owner = '', chain = '', address = '']) => ({ owner, chain, address }));
  const supported = wallets.filter(({ chain }) => !UNSUPPORTED.has(chain));
  const place = ({ chain, address }: Wallet) => ({
    address,
    chain: EVM_ELSEWHERE.has(chain) ? 'ETH' : (CHAIN_IDS[chain] ?? chain),
  });

  /** Runs a command in this process, over the folder of the server: one of its own takes half a second of processor time. */
  const run = (args: readonly string[]) => runCommand(join(world.folder, 'store'), args);

  beforeAll(async () => {
    world = newWorld();
    expect((await world.run(['import', 'exchanges', WALLETS])).err).toBe('');
    expect((await world.run(['import', 'uk', UK, '--published', '2026-08-22'])).err).toBe('');
    server = await world.serve();
    key = server.firstKey;
  }, 120_000);
  afterAll(() => world.end());

  it('are all sanctioned with OWNER, in bulk and individually', async () => {
    expect([wallets.length, supported.length]).toEqual([108, 104]);
    const results: Record<string, unknown>[] = [];
    for (let from = 0; from < supported.length; from += 100) {
      const addresses = supported.slice(from, from + 100).map(place);
      const { body } = await ask(server, key, '/api/v1/screen/bulk', { addresses });
      results.push(...(body.data as unknown as { results: Record<string, unknown>[] }).results);
    }
    const failed = results.filter((result) => result.sanctioned !== true);
    expect(failed).toEqual([]);
    for (const [at, wallet] of supported.entries()) {
      const { chain, address } = place(wallet);
      const entityId = wallet.owner === 'exmo' ? 'RUS3602' : 'RUS3619';
      const check = await ask(
        server,
        key,
        `/api/v1/sanctions/check?chain=${chain}&address=${encodeURIComponent(address)}`,
      );
      expect(check.body.data, `${chain} ${address} ${at}`).toMatchObject({
        sanctioned: true,
        lists: [{ list: 'UK', entityId, listedAt: '2026-05-26', delistedAt: null }],
      });
    }
  });

  it('are danger for the oracle, BLOCK for KYT and sanctioned for screening', async () => {
    const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${HTX_WALLET}`);
    expect(oracle.body.data).toMatchObject({
      verdict: 'danger',
      score: 100,
      sanctioned: true,
      reasons: [{ code: 'SANCTIONED_OWNER', severity: 'CRITICAL', source: 'exchanges' }, {}],
    });
    const kyt = await ask(server, key, '/api/v1/kyt', { address: HTX_WALLET, chain: 'ETH' });
    expect(kyt.body.data).toMatchObject({ decision: 'BLOCK', riskScore: 100 });
    const screening = await ask(server, key, '/api/v1/screening', { address: HTX_WALLET, chain: 'ETH' });
    expect(screening.body.data).toMatchObject({
      sanctioned: true,
      riskScore: 100,
      entity: { name: 'HTX', category: 'EXCHANGE' },
      sanctionsCheck: {
        lists: [
          {
            list: 'UK',
            entityName: 'HUOBI GLOBAL S.A.',
            matchType: 'OWNER',
            attribution: { source: 'exchanges', confidence: 0.8, date: null },
          },
        ],
      },
    });
    const entity = await ask(server, key, `/api/v1/entity/${HTX_WALLET}?chain=ETH`);
    expect(entity.body.data).toMatchObject({ sanctioned: true, sanctionsDetail: { agreementCount: 1 } });
    const other = await ask(server, key, `/api/v1/entity/${BITFINEX_WALLET}?chain=ETH`);
    expect(other.body.data).toMatchObject({ sanctioned: false, labels: [{ entityId: 'bitfinex' }, {}] });
  });

  it('belong to exchanges whose designation exchange-status names', async () => {
    for (const [name, entityId] of [
      ['Huobi', 'RUS3619'],
      ['HTX', 'RUS3619'],
      ['EXMO', 'RUS3602'],
    ]) {
      const status = await ask(server, key, `/api/v1/exchange-status?name=${name}`);
      const answer = (status.body.data ?? status.body) as unknown as Record<string, unknown>;
      expect(answer).toMatchObject({
        sanctioned: true,
        reasons: [
          { code: 'STALE_OR_MISSING_DATA', message: expect.stringContaining('OFAC_SDN (never loaded)') },
        ],
        designations: [
          {
            list: 'UK',
            entityId,
            listedAt: '2026-05-26',
            delistedAt: null,
            assetFreeze: true,
            basis: 'list',
            verified: true,
          },
        ],
      });
      expect((answer.designations as { measures: string[] }[])[0]?.measures[0]).toBe('Asset freeze');
    }
  });

  it('are linked by rows that `assay entities` lists, without further proposed parties', async () => {
    const list = JSON.parse((await run(['entities', 'list', '--json'])).out) as {
      link: { entity: string; entry: string };
      state: string;
      nameOnList: string | null;
    }[];
    expect(list.find(({ link }) => link.entry === 'RUS3619')).toMatchObject({
      link: { entity: 'htx', verified: true },
      state: 'DESIGNATED',
      basis: 'list',
      nameOnList: null,
    });
    expect(list.filter(({ nameOnList }) => nameOnList !== null)).toEqual([]);
    const outcome = await run(['entities', 'propose', '--json']);
    const { links } = JSON.parse(outcome.out) as { links: { entity: string }[] };
    expect(links.filter(({ entity }) => entity === 'htx' || entity === 'exmo')).toEqual([]);
  });

  it('are proposed by name if no row links them, in the format of the link file', async () => {
    const own = join(world.folder, 'own-links.json');
    const unlinked = (entity: string, entry: string) => ({
      entity,
      list: 'UK',
      entry,
      name: 'x',
      sourceUrl: 'https://example.org/',
      checkedBy: 'a test',
      checkedAt: '2026-11-22',
      linked: false,
    });
    writeFileSync(own, JSON.stringify({ links: [unlinked('htx', 'RUS3619'), unlinked('exmo', 'RUS3602')] }));
    const environment = { ASSAY_ENTITY_PARTIES: own };
    const outcome = await world.run(['entities', 'propose', '--json'], { environment });
    const { links } = JSON.parse(outcome.out) as { links: Record<string, unknown>[] };
    for (const [entity, entry, name] of [
      ['htx', 'RUS3619', 'HUOBI GLOBAL S.A.'],
      ['exmo', 'RUS3602', 'EXMO EXCHANGE LIMITED'],
    ])
      expect(links).toContainEqual(
        expect.objectContaining({ entity, list: 'UK', entry, name, listedAt: '2026-05-26', checkedBy: '' }),
      );
    expect((await world.run(['index', 'build'], { environment })).err).toBe('');
    const lookup = await run(['lookup', 'ETH', HTX_WALLET, '--json']);
    expect(JSON.parse(lookup.out)).toMatchObject({ sanctioned: false });
  });
});
