/**
 * A running server sees transfers within a second after another process has written them: each writer against each reader, with the built
 * program, a real chain node and a real Redis.
 */

import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ChainId, chainOf } from '../../src/chains/registry.ts';
import { type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

/** Sanctioned in the shipped lists: money from it raises the score, and an unknown address has a score of 0. */
const LAZARUS = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
const THREADS = 3;
/** A thread takes four tasks at once: this is four per thread, twice. */
const AT_ONCE = THREADS * 4 * 2;
const VISIBLE_MS = 1_000;
const KEYS = 40;
/** Larger than the threshold of a bulk load. The size of a file counts, not that of its rows: long rows are read sooner than many. */
const BULK_BYTES = 33 * 1024 * 1024;
const MEMO = 'm'.repeat(2_000);
/** Pushes to a graph store: the first, which stores the whole chain, and those that add to it. */
const PUSHES = process.env.ASSAY_TEST_LONG === '1' ? 4 : 2;
const LINES = Array.from({ length: 8 });
const COIN = 10n ** 18n;

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`;
async function done(world: World, args: readonly string[], environment: Record<string, string> = {}) {
  const { code, out, err } = await world.run(args, { environment });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
  return out;
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
type Json = any;

let numbers = 0;
/** Returns an address that no request has used before. */
const fresh = (): string => address(0xa55e_0000 + ++numbers);

const rowTo = (to: string, chain: ChainId): object => ({
  txHash: hash(++numbers),
  position: 'value',
  blockNumber: 100 + numbers,
  timestamp: 1_700_000_000_000 + numbers * 60_000,
  from: LAZARUS,
  to,
  asset: chainOf(chain).symbol,
  amount: String(10n * COIN),
  valueUsd: 30_000,
});

function rowsFile(world: World, to: string, chain: ChainId): string {
  const file = join(world.folder, `transfers-${++numbers}.ndjson`);
  writeFileSync(file, `${JSON.stringify(rowTo(to, chain))}\n`);
  return file;
}

/** Writes a file that is loaded in bulk: the transfer to `to` and some 16,000 others, with a column that the command ignores. */
async function bulkFile(world: World, to: string, chain: ChainId): Promise<string> {
  const { symbol } = chainOf(chain);
  const file = join(world.folder, `bulk-${++numbers}.csv`);
  const out = createWriteStream(file);
  const columns = Object.keys(rowTo(to, chain));
  const write = async (lines: readonly string[]): Promise<number> => {
    const text = `${lines.join('\n')}\n`;
    if (!out.write(text)) await once(out, 'drain');
    return text.length;
  };
  let bytes = await write([`${columns.join(',')},memo`, `${Object.values(rowTo(to, chain)).join(',')},`]);
  while (bytes < BULK_BYTES)
    bytes += await write(
      Array.from({ length: 500 }, () => {
        const n = ++numbers;
        return `${hash(n)},value,${100 + n},${1_600_000_000_000 + n},${address(n % 9_973)},${address(n % 100_003)},${symbol},${n},1,${MEMO}`;
      }),
    );
  out.end();
  await once(out, 'finish');
  return file;
}

/** Readers of a server, with enough keys for the rate limits. */
class Readers {
  readonly server: RunningServer;
  readonly keys: readonly string[];
  #requests = 0;

  constructor(server: RunningServer, keys: readonly string[]) {
    this.server = server;
    this.keys = keys;
  }

  async post(path: string, body: object): Promise<Json> {
    const key = this.keys[this.#requests++ % this.keys.length] as string;
    const answer = await ask(this.server, key, `/api/v1${path}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.data;
  }

  /** Screens an address on all threads of the pool at once and returns each distinct score. */
  async scores(chain: string, of: string): Promise<readonly number[]> {
    const requests = Array.from({ length: AT_ONCE }, () => this.post('/screening', { chain, address: of }));
    const answers = await Promise.all(requests);
    return [...new Set(answers.map(({ riskScore }) => riskScore as number))];
  }

  /** Whether each use case that reads the graph, and each thread, sees the money from the sanctioned address. */
  async see(chain: string, of: string): Promise<boolean> {
    const [scores, kyt, trace] = await Promise.all([
      this.scores(chain, of),
      this.post('/kyt', { chain, from: of, to: address(0xdead) }),
      this.post('/trace', { chain, address: of, hops: 1 }),
    ]);
    return (
      scores.every((score) => score > 0) &&
      kyt.riskScore > 0 &&
      JSON.stringify(trace).toLowerCase().includes(LAZARUS.toLowerCase())
    );
  }

  /** Repeats until all readers see it; a round that begins more than a second after the write must see it. */
  async within(chain: string, of: string): Promise<void> {
    const writtenAt = performance.now();
    for (;;) {
      const askedAt = performance.now() - writtenAt;
      if (await this.see(chain, of)) return;
      expect(askedAt, `${of} is not seen by all readers`).toBeLessThan(VISIBLE_MS);
      await sleep(100);
    }
  }
}

/** Each key may create only some keys a minute: the first creates as many as it may, and those create the rest. */
async function makeKeys(server: RunningServer): Promise<readonly string[]> {
  const keys = [server.firstKey];
  for (let made = 0; keys.length < KEYS; made++) {
    const answer = await ask(server, keys[Math.floor(made / 10)] as string, '/api/v1/keys', {
      name: `reader ${made}`,
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    keys.push((answer.body as Json).data.apiKey);
  }
  return keys;
}

describe.runIf(hasAnvil)('a server beside other writers', { timeout: 400_000 }, () => {
  let world: World;
  let anvil: Anvil;
  let server: RunningServer;
  let readers: Readers;
  let environment: Record<string, string>;

  beforeAll(async () => {
    world = newWorld();
    anvil = await startAnvil();
    await anvil.rpc('anvil_impersonateAccount', LAZARUS);
    await anvil.rpc('anvil_setBalance', LAZARUS, `0x${(1_000n * COIN).toString(16)}`);
    await anvil.mine();
    environment = { ASSAY_WORKERS: String(THREADS), ASSAY_RPC_ETH: anvil.url };
    server = await world.serve(environment);
    readers = new Readers(server, await makeKeys(server));
    await done(world, ['credits', 'grant', 'local', '100000', '--reason', 'tests']);
    // Every thread opens every chain before anything is written, and once more after the first write.
    for (const chain of ['ETH', 'BSC', 'POLYGON'] as const) await readers.scores(chain, fresh());
    for (const chain of ['ETH', 'BSC', 'POLYGON'] as const) {
      const first = fresh();
      await done(world, ['ingest', 'ndjson', rowsFile(world, first, chain), '--chain', chain]);
      await readers.scores(chain, first);
    }
  }, 240_000);
  afterAll(async () => {
    await world?.end();
    await anvil?.stop();
  });

  it.each(['ETH', 'BSC'] as const)('sees rows that the command line ingests on %s', async (chain) => {
    const to = fresh();
    expect(await readers.scores(chain, to)).toEqual([0]);
    await done(world, ['ingest', 'ndjson', rowsFile(world, to, chain), '--chain', chain]);
    await readers.within(chain, to);
    const screened = JSON.parse(await done(world, ['screen', chain, to, '--json']));
    expect(screened.riskScore).toBeGreaterThan(0);
  });

  it('sees a file that the command line loads in bulk', async () => {
    const to = fresh();
    const file = await bulkFile(world, to, 'POLYGON');
    expect(await readers.scores('POLYGON', to)).toEqual([0]);
    await done(world, ['ingest', 'ndjson', file, '--chain', 'POLYGON']);
    await readers.within('POLYGON', to);
    expect(JSON.parse(await done(world, ['screen', 'POLYGON', to, '--json'])).riskScore).toBeGreaterThan(0);
  });

  const pay = async (to: string): Promise<void> => {
    await anvil.send({ from: LAZARUS, to, value: COIN });
    await anvil.mine();
  };

  it('sees rows that the command line watches and ingests', async () => {
    const to = fresh();
    const height = Number(await anvil.rpc<string>('eth_blockNumber')) + 1;
    await pay(to);
    expect(await readers.scores('ETH', to)).toEqual([0]);
    await done(world, ['watch', 'ETH', '--from', String(height), '--blocks', '1', '--ingest'], environment);
    await readers.within('ETH', to);
  });

  it('sees rows of its own follower, and the alerted wallet has the new score', async () => {
    const to = fresh();
    const { wallet } = await readers.post('/monitoring/wallets', { walletAddress: to, chain: 'ETH' });
    expect(wallet).toMatchObject({ riskScore: 0, assessed: false });
    const get = async (path: string, key = readers.keys[0]): Promise<Json> =>
      (await ask(server, key as string, `/api/v1${path}`)).body.data;
    let polls = 0;
    const ofWallet = `/monitoring/wallets/${wallet.id}`;
    const balance = async (): Promise<number> => (await get('/usage?limit=1')).balance;
    await pay(to);
    await expect
      .poll(async () => (await get(`${ofWallet}/alerts`, readers.keys[polls++ % KEYS])).alerts.length, {
        timeout: 30_000,
        interval: 50,
      })
      .toBeGreaterThan(0);
    await readers.within('ETH', to);
    const { riskScore, riskLevel } = await readers.post('/screening', { chain: 'ETH', address: to });
    const before = await balance();
    const current = async (): Promise<Json> => (await get(ofWallet, readers.keys[polls++ % KEYS])).wallet;
    await expect
      .poll(async () => (await current()).riskScore, { timeout: 30_000, interval: 200 })
      .toBe(riskScore);
    expect(await current()).toMatchObject({
      riskLevel,
      assessed: true,
      coverage: { graph: { status: 'PARTIAL' } },
    });
    expect(await balance()).toBe(before);
  });

  it('answers a bulk job with rows that were ingested after the job threads had read the chain', async () => {
    const jobOf = async (of: string): Promise<string> => {
      const headers = {
        authorization: `Bearer ${readers.keys[2]}`,
        'content-type': 'text/csv',
      };
      const sent = await fetch(`${server.url}/api/v1/jobs?kind=screening&chain=BSC`, {
        method: 'POST',
        headers,
        body: LINES.map(() => of).join('\n'),
      });
      const { id } = ((await sent.json()) as Json).data.job;
      const job = (): Promise<Json> => ask(server, readers.keys[3] as string, `/api/v1/jobs/${id}`);
      await expect
        .poll(async () => (await job()).body.data.job.state, { timeout: 60_000, interval: 500 })
        .toBe('DONE');
      return (await fetch(`${server.url}/api/v1/jobs/${id}/result`, { headers })).text();
    };
    const scoresIn = (text: string): number[] =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).riskScore);
    const to = fresh();
    expect(scoresIn(await jobOf(to))).toEqual(LINES.map(() => 0));
    await done(world, ['ingest', 'ndjson', rowsFile(world, to, 'BSC'), '--chain', 'BSC']);
    const scores = scoresIn(await jobOf(to));
    expect(scores).toHaveLength(LINES.length);
    expect(Math.min(...scores)).toBeGreaterThan(0);
  });
});

describe.runIf(hasRedis)('a node beside a writer on another machine', { timeout: 400_000 }, () => {
  let redis: RedisServer;
  let worlds: readonly [World, World, World];
  let server: RunningServer;
  let readers: Readers;
  let holder: Record<string, string>;

  beforeAll(async () => {
    redis = await startRedis();
    worlds = [newWorld(), newWorld(), newWorld()];
    const [front, holding] = worlds;
    const jobs = join(front.folder, 'jobs');
    mkdirSync(jobs);
    const shared = { ASSAY_REDIS_URL: redis.url, ASSAY_JOBS_DIR: jobs, ASSAY_WORKERS: String(THREADS) };
    const remote = { ASSAY_GRAPH_STORE_BSC: `${redis.url}?prefix=graph` };
    holder = { ...shared, ...remote, ASSAY_ROLES: 'worker' };
    await done(front, ['redis', 'found'], shared);
    [server] = await Promise.all([
      front.serve({ ...shared, ...remote, ASSAY_ROLES: 'api', ASSAY_GRAPH_CHAINS: 'none' }),
      holding.serve(holder),
    ]);
    readers = new Readers(server, await makeKeys(server));
    await done(front, ['credits', 'grant', 'local', '100000', '--reason', 'tests'], shared);
  }, 240_000);
  afterAll(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  it('sees transfers that are ingested on the node that stores the chain', async () => {
    for (let round = 0; round < 2; round++) {
      const to = fresh();
      expect(await readers.scores('ETH', to)).toEqual([0]);
      await done(worlds[1], ['ingest', 'ndjson', rowsFile(worlds[1], to, 'ETH'), '--chain', 'ETH']);
      await readers.within('ETH', to);
    }
  });

  it('sees every push of another machine to the graph store', async () => {
    const remote = { ASSAY_GRAPH_STORE_BSC: `${redis.url}?prefix=graph` };
    for (let round = 0; round < PUSHES; round++) {
      const to = fresh();
      if (round > 0) expect(await readers.scores('BSC', to)).toEqual([0]);
      await done(worlds[2], ['ingest', 'ndjson', rowsFile(worlds[2], to, 'BSC'), '--chain', 'BSC']);
      await done(worlds[2], ['graph', 'push', 'BSC'], remote);
      await readers.within('BSC', to);
      const screened = JSON.parse(await done(worlds[0], ['screen', 'BSC', to, '--json'], remote));
      expect(screened.riskScore).toBeGreaterThan(0);
    }
  });
});
