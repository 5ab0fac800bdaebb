/** Nodes as an operator starts them: one builds and publishes, others pull, are killed and restarted, and serve requests all the while. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../setup/free-port.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { PROGRAM } from '../setup/program-path.ts';
import { sleep } from '../support/wait.ts';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

const SECRET = 'a-secret-of-the-cluster';
const WALLET = '0x00000000000000000000000000000000000a55a9';
const LONG = { timeout: 120_000, interval: 100 };

let a: World;
let b: World;
let publishing: RunningServer;
let pulling: RunningServer;
let from: string;

async function label(entity: string): Promise<void> {
  const file = join(a.folder, 'own.csv');
  writeFileSync(file, `address,chain,entity,category\n${WALLET},ETH,${entity},EXCHANGE\n`);
  for (const args of [
    ['import', 'own', file],
    ['index', 'build'],
  ]) {
    const { code, err } = await a.here(args);
    expect(code, err).toBe(0);
  }
}

const pullSettings = (): Record<string, string> => ({
  ASSAY_SNAPSHOT_FROM: from,
  ASSAY_CLUSTER_SECRET: SECRET,
  ASSAY_SNAPSHOT_BEHIND_MAX_SECONDS: '2',
  ASSAY_SYNC: 'on',
});

interface Ready {
  readonly status: number;
  readonly data: {
    readonly snapshot: { readonly dataVersion: string };
    readonly lists: unknown;
    readonly reasons: readonly string[];
    readonly pulledFrom?: {
      readonly behindSince: string | null;
      readonly published: { readonly dataVersion: string } | null;
      readonly served: { readonly dataVersion: string } | null;
      readonly error: string | null;
    };
  };
}

async function ready(server: RunningServer): Promise<Ready> {
  const response = await fetch(`${server.url}/ready`);
  return { status: response.status, data: ((await response.json()) as { data: Ready['data'] }).data };
}

/** Keys of the pulling node, each with a limit of 300 requests a minute. */
let keys: string[] = [];
let turn = 0;

async function entityAt(server: RunningServer): Promise<{ readonly status: number; readonly name: string }> {
  const key = keys[turn++ % keys.length] ?? '';
  const { status, body } = await ask(server, key, `/api/v1/address/ETH/${WALLET}/labels`);
  const labels = JSON.stringify(body);
  return { status, name: /version-\d/.exec(labels)?.[0] ?? labels };
}

const at = (name: string) => ({ status: 200, name });

beforeAll(async () => {
  a = newWorld();
  prepareFolder(join(a.folder, 'store'));
  b = newWorld();
  await label('version-0');
  const port = await freePort();
  from = `http://127.0.0.1:${port}`;
  publishing = await a.serve({ ASSAY_SNAPSHOT_LISTEN: `127.0.0.1:${port}`, ASSAY_CLUSTER_SECRET: SECRET });
  pulling = await b.serve(pullSettings());
  keys = [pulling.firstKey];
  for (let n = 0; n < 7; n++) {
    const made = await ask(pulling, pulling.firstKey, '/api/v1/keys', { name: `load ${n}` });
    keys.push((made.body as { data?: { apiKey: string } }).data?.apiKey ?? '');
  }
});
afterAll(() => Promise.all([a.end(), b.end()]));

describe('two nodes', () => {
  it('answer the same, although the one that pulls has built nothing', async () => {
    const there = await ready(publishing);
    expect(there.data.pulledFrom).toBeUndefined();
    await vi.waitFor(async () => {
      const { data } = await ready(pulling);
      expect(data.snapshot).toEqual(there.data.snapshot);
      expect(data.lists).toEqual(there.data.lists);
      expect(data.pulledFrom).toMatchObject({ behindSince: null, error: null });
      expect(data.pulledFrom?.served).toMatchObject({ dataVersion: there.data.snapshot.dataVersion });
    }, LONG);
    expect(existsSync(join(b.folder, 'store', 'labels', 'catalogue.json'))).toBe(false);
    expect(await entityAt(pulling)).toEqual(at('version-0'));
    // The names were replicated too.
    const screened = async (server: RunningServer): Promise<unknown> => {
      const requestBody = { names: [{ name: 'Emmanuel Macron' }] };
      const { status, body } = await ask(server, server.firstKey, '/api/v1/namescreen/bulk', requestBody);
      expect(status, JSON.stringify(body)).toBe(200);
      return (body as { results?: readonly unknown[] }).results;
    };
    const results = await screened(publishing);
    expect(results).toHaveLength(1);
    expect(await screened(pulling)).toEqual(results);
  });

  it('switch snapshots under load without a failed request', async () => {
    const statuses = new Map<number, number>();
    const seen = new Set<string>();
    let stop = false;
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!stop) {
          const { status, name } = await entityAt(pulling);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          seen.add(name);
          await sleep(200);
        }
      }),
    );
    try {
      for (const version of ['version-1', 'version-2']) {
        await label(version);
        await vi.waitFor(async () => expect(await entityAt(pulling)).toEqual(at(version)), LONG);
      }
    } finally {
      stop = true;
    }
    await load;
    expect([...statuses.keys()]).toEqual([200]);
    // The last version may have arrived after the last answer.
    expect(new Set([...seen, 'version-2'])).toEqual(new Set(['version-0', 'version-1', 'version-2']));
  });

  it('reject a build on the one that pulls', async () => {
    for (const args of [['sync'], ['index', 'build'], ['import', 'own', join(a.folder, 'own.csv')]]) {
      const { code, err } = await b.here(args, { environment: pullSettings() });
      expect(code).toBe(1);
      expect(err).toContain('ASSAY_SNAPSHOT_FROM');
    }
  });

  it('report in /ready that they are behind, and are ready again afterwards', async () => {
    const port = new URL(from).port;
    await publishing.stop();
    await vi.waitFor(async () => {
      const { status, data } = await ready(pulling);
      expect(status).toBe(503);
      expect(data.reasons.join()).toContain('could not be followed since');
    }, LONG);
    // It answers all the same.
    expect(await entityAt(pulling)).toEqual(at('version-2'));
    await label('version-3');
    const { firstKey } = publishing;
    publishing = {
      ...(await a.serve({ ASSAY_SNAPSHOT_LISTEN: `127.0.0.1:${port}`, ASSAY_CLUSTER_SECRET: SECRET })),
      firstKey,
    };
    await vi.waitFor(async () => {
      expect((await ready(pulling)).status).toBe(200);
      expect(await entityAt(pulling)).toEqual(at('version-3'));
    }, LONG);
  });
});

describe('a pull on the command line', () => {
  it('resumes after a kill', async () => {
    const c = newWorld();
    const ranges: string[] = [];
    let held = true;
    const proxy = createServer((incoming, outgoing) => {
      const { url = '/', headers } = incoming;
      if (url.includes('/files/')) ranges.push(headers.range ?? '-');
      request(new URL(url, from), { headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        let sent = 0;
        answer.on('data', (chunk: Buffer) => {
          // Stops every larger file after its first bytes.
          const part = held ? chunk.subarray(0, 20_000 - sent) : chunk;
          sent += part.length;
          if (part.length > 0) outgoing.write(part);
        });
        answer.on('end', () => {
          if (!held || sent < 20_000) outgoing.end();
        });
      })
        .on('error', () => outgoing.destroy())
        .end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      const environment = {
        PATH: process.env.PATH,
        ASSAY_DATA_DIR: join(c.folder, 'store'),
        ASSAY_CLUSTER_SECRET: SECRET,
      };
      const child = spawn(process.execPath, [PROGRAM, 'snapshot', 'pull', '--from', url], {
        env: environment,
        stdio: 'ignore',
      });
      const partial = join(c.folder, 'store', 'travel', 'pulled', 'partial');
      await vi.waitFor(() => {
        const [name = ''] = readdirSync(partial);
        expect(statSync(join(partial, name)).size).toBe(20_000);
      }, LONG);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      held = false;
      ranges.length = 0;
      const settings = { ASSAY_CLUSTER_SECRET: SECRET };
      const { code, out, err } = await c.run(['snapshot', 'pull', '--from', url, '--json'], {
        environment: settings,
      });
      expect(code, err).toBe(0);
      expect(ranges[0]).toBe('bytes=20000-');
      expect(JSON.parse(out)).toMatchObject({ swapped: true });
      const stats = await c.here(['index', 'verify']);
      expect(stats.out).toContain('is intact');
      const status = await c.here(['snapshot', 'status', '--json'], {
        environment: {
          ...settings,
          ASSAY_SNAPSHOT_FROM: url,
        },
      });
      expect(JSON.parse(status.out)).toMatchObject({ behind: false });
    } finally {
      proxy.closeAllConnections();
      proxy.close();
      await c.end();
    }
  });
});
