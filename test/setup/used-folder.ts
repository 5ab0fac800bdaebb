/** A folder of state in which every feature has stored something, made by the program's own commands and a real server. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createServices } from '../../src/app/services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { syncPrices } from '../../src/chains/prices/daily.ts';
import { dailyFolderOf, pricesFolderOf } from '../../src/chains/prices/table.ts';
import { commandModules } from '../../src/cli/commands.ts';
import { runProgram } from '../../src/cli/program.ts';
import { loadConfig } from '../../src/config/config.ts';
import { FIRST_KEY_FILE } from '../../src/state/data-folder.ts';
import type { World } from '../e2e/program.ts';
import { bech32Address } from '../graph/cluster/addresses.ts';
import { sleep } from '../support/wait.ts';
import { dailyChart } from './price-server.ts';

export const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
export const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
export const STRIPE_SECRET = 'whsec_test_secret';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Runs a command in this process, over a folder of state; throws its output if it fails. */
export async function runHere(dataDir: string, args: readonly string[]): Promise<string> {
  const out = new Sink();
  const err = new Sink();
  const config = loadConfig({ ASSAY_DATA_DIR: dataDir, ASSAY_LOG_LEVEL: 'silent', ASSAY_SYNC: 'off' });
  const code = await runProgram(
    commandModules({
      apiKey: () => null,
      place: () => ({ dataDir, jobsDir: null, isShared: false }),
      mcp: { baseUrl: () => null, operations: async () => [], version: '0.0.0' },
      examine: async () => [],
    }),
    args,
    {
      out,
      err,
      clock: systemClock,
      signal: new AbortController().signal,
      endAtOnce: () => () => {},
    },
    () => createServices(config, '0.0.0'),
    '0.0.0',
  );
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err.text}`);
  return out.text;
}

const transfers = (): string =>
  Array.from({ length: 900 }, (_, index) =>
    JSON.stringify({
      txHash: `0x${(index + 1).toString(16).padStart(64, '0')}`,
      position: 'value',
      blockNumber: 1 + (index >> 2),
      timestamp: new Date(1_700_000_000_000 + index * 1_000).toISOString(),
      from: address(1 + (index % 7)),
      to: address(1 + ((index * 31) % 90)),
      asset: 'ETH',
      amount: `${1 + index}000000000000000000`,
    }),
  ).join('\n');

const bitcoin = (): string => {
  const id = (kind: string, n: number): string => `${kind}${n.toString(16)}`.padStart(64, '0');
  const rows = Array.from({ length: 50 }, (_, n) => {
    const at = `${1 + n},${1_400_000_000 + n * 600}`;
    return [
      ...[0, 1].map((out) => `${at},${id('a', n)},out,${out},${bech32Address(3 * n + out)},50,,`),
      ...[0, 1].map((i) => `${at},${id('b', n)},in,${i},${bech32Address(3 * n + i)},50,${id('a', n)},${i}`),
      `${at},${id('b', n)},out,0,${bech32Address(3 * n + 2)},90,,`,
    ];
  });
  return ['block,time,txid,dir,index,address,sats,prev_txid,prev_index', ...rows.flat()].join('\n');
};

const SANCTIONS = `<?xml version="1.0" encoding="utf-8"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>03/04/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation>
  <sdnEntry><uid>1</uid><lastName>Quaternion Works</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList></sdnEntry>
</sdnList>`;

/** Daily closes of a few weeks, as `assay sync prices` keeps them. */
async function syncDailyCloses(dataDir: string): Promise<void> {
  const report = await syncPrices(
    { folder: dailyFolderOf(pricesFolderOf(dataDir)), coins: { ETH: 'ethereum', BTC: 'bitcoin' } },
    {
      clock: { now: () => Date.parse('2023-12-01T12:00:00Z'), monotonic: () => 0 },
      server: {
        ask: async (_, query) => ({
          kind: 'json',
          body: JSON.parse(dailyChart(new URLSearchParams(query as Record<string, string>))) as unknown,
        }),
      },
      feeds: null,
    },
  );
  if (!report.ok) throw new Error(report.errors.join(' '));
}

export interface UsedFolder {
  readonly key: string;
  readonly jobId: string;
}

/** Fills `world.folder/store`. Its server is shut down properly at the end. */
export async function useFolder(world: World): Promise<UsedFolder> {
  const dataDir = join(world.folder, 'store');
  const inputs = join(world.folder, 'inputs');
  mkdirSync(inputs);
  const input = (name: string, text: string): string => {
    writeFileSync(join(inputs, name), text);
    return join(inputs, name);
  };
  const run = (...args: string[]): Promise<string> => runHere(dataDir, args);
  await run(
    'import',
    'own',
    input(
      'own.csv',
      `address,chain,entity,name,category\n${address(5)},ETH,e1,Entity 1,EXCHANGE\n${bech32Address(0)},BTC,e2,Entity 2,EXCHANGE\n`,
    ),
  );
  await run('import', 'ofac', input('sdn.xml', SANCTIONS));
  await run('lists', 'attest', 'OFAC_SDN', '--checked', '2026-10-15');
  await run('import', 'people', input('people.csv', 'name,list,id\nZebulon Quaternion,adverse_media,z-1\n'));
  await run(
    'import',
    'registers',
    input(
      'hk-2026-10-01.csv',
      'register,jurisdiction,authority,legal_name,status,registered_as,registered_at\nhk-sfc,HK,SFC,Firm number 1 Limited,AUTHORISED,Platform,2022-11\n',
    ),
  );
  await run(
    'prices',
    'import',
    input('prices.csv', `chain,asset,date,usd\nETH,${UNI},2024-06-01,7.5\nETH,${UNI},2024-06-02,8.5\n`),
  );
  await syncDailyCloses(dataDir);
  await run('ingest', 'bitcoin-resolved', input('bitcoin.csv', bitcoin()), '--chain', 'BTC', '--no-prices');
  await run('index', 'build');
  await run('cluster', 'BTC');
  await run('index', 'build');
  await run('ingest', 'ndjson', input('transfers.ndjson', transfers()), '--chain', 'ETH');
  await run('exposure', 'build');
  await run('snapshot', 'publish');
  const made = await world.run(['accounts', 'create', '--email', 'person@example.com'], {
    input: 'a long enough password 1\n',
  });
  if (made.code !== 0) throw new Error(made.err);
  const server = await world.serve({ ASSAY_STRIPE_SECRET: STRIPE_SECRET });
  const key = server.firstKey;
  // As an operator does after the first start.
  rmSync(join(dataDir, FIRST_KEY_FILE));
  await run('credits', 'grant', 'local', '1000');
  async function post<T>(path: string, body: unknown): Promise<T> {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': path.startsWith('/jobs') ? 'application/x-ndjson' : 'application/json',
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const told = (await answer.json()) as { data: T };
    if (!answer.ok) throw new Error(`${path}: ${JSON.stringify(told)}`);
    return told.data;
  }
  for (let n = 1; n < 20; n++)
    await post('/monitoring/wallets', { walletAddress: address(n), chain: 'ETH', label: `wallet ${n}` });
  await post('/monitoring/webhook-secret', {});
  await post('/keys', { name: 'another' });
  await post('/namescreen/cleared', {
    name: 'Zebulon Quaternion',
    source: 'people:people:adverse_media',
    entityId: 'z-1',
  });
  await post('/cases', {
    title: 'A case',
    links: [{ type: 'ADDRESS', address: address(5), chain: 'ETH' }],
  });
  await post('/screening', { address: address(5), chain: 'ETH', save: true });
  const lines = Array.from({ length: 500 }, (_, n) => `{"address":"${address(n)}"}`).join('\n');
  const { job } = await post<{ job: { id: string } }>('/jobs?kind=labels&chain=ETH', lines);
  for (let state = ''; state !== 'DONE'; ) {
    await sleep(100);
    const answer = await fetch(`${server.url}/api/v1/jobs/${job.id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    state = ((await answer.json()) as { data: { job: { state: string } } }).data.job.state;
  }
  await server.stop();
  return { key, jobId: job.id };
}
