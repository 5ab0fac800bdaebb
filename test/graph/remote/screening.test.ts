/** Answers over a graph in servers, byte for byte those over the local store; and the command that fills it. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import {
  type RemoteTransferReader,
  readGraphStores,
  withRemoteChains,
} from '../../../src/graph/remote/transfers.ts';
import type { TransferReader } from '../../../src/graph/transfers.ts';
import type { NameScreening } from '../../../src/names/screen-names.ts';
import { createPool } from '../../../src/pool/pool.ts';
import { createTaskTable, type TaskTable } from '../../../src/pool/task.ts';
import { TASKS, type Tasks } from '../../../src/pool/tasks/index.ts';
import { createTaskServices } from '../../../src/pool/worker-services.ts';
import { createWorld, WALLETS, type World } from '../../screening/world.ts';
import { hasRedis, type RedisCluster, startRedisCluster } from '../../setup/redis.ts';
import { execFileSync } from '../../support/child-process.ts';
import { addressAt, log, openRemote, transferSource } from './world.ts';

const known = Object.values(WALLETS);

/** Random transfers in which about every fortieth party is labelled. */
function trade(): Transfer[] {
  const next = seededUint32(5);
  const party = (address: string | null): string | null =>
    address !== null && next() % 40 === 0 ? (known[next() % known.length] as string) : address;
  return transferSource(
    5,
    1_500,
  )(12_000).map((transfer) => {
    const from = party(transfer.from);
    const to = party(transfer.to);
    return { ...transfer, from, to: from === null && to === null ? addressAt(11) : to };
  });
}

describe.skipIf(!hasRedis)('screening over a graph in a cluster', () => {
  let world: World;
  let cluster: RedisCluster;
  let remote: RemoteTransferReader;
  let here: TaskTable<Tasks>;
  let there: TaskTable<Tasks>;
  beforeAll(async () => {
    world = await createWorld(trade());
    cluster = await startRedisCluster();
    const dataDir = join(world.folder, 'data');
    const pushed = execFileSync(
      process.execPath,
      [join(projectRoot, 'dist/src/main.js'), 'graph', 'push', 'ETH', '--json'],
      {
        encoding: 'utf8',
        env: {
          PATH: process.env.PATH,
          ASSAY_DATA_DIR: dataDir,
          ASSAY_GRAPH_STORE_ETH: cluster.url,
          ASSAY_LOG_LEVEL: 'silent',
        },
      },
    );
    expect(JSON.parse(pushed)).toMatchObject({
      chain: 'ETH',
      kind: 'full',
      version: 1,
      transfers: world.transfers.coverage('ETH').transfers,
    });
    remote = openRemote(cluster.url, join(world.folder, 'none'));
    const names: NameScreening = () => ({ results: [] }) as never;
    here = createTaskTable(TASKS, createTaskServices(world.deps, names, log));
    there = createTaskTable(TASKS, createTaskServices({ ...world.deps, transfers: remote }, names, log));
  });
  afterAll(async () => {
    await remote.close();
    await world.close();
    await cluster.stop();
  });

  const subjects = [...known, ...Array.from({ length: 9 }, (_, at) => addressAt(1 + at * 149))];
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

  it('screens like the local store', () => {
    for (const address of subjects) {
      const request = { chain: 'ETH', address, maxHops: 4 };
      expect(text(there.screening({ request, facts: {} }).json)).toBe(
        text(here.screening({ request, facts: {} }).json),
      );
    }
  });

  it('checks, traces and finds paths like the local store', () => {
    for (const [at, address] of subjects.entries()) {
      if (at % 2 === 1) continue;
      const request = { chain: 'ETH', from: address, to: subjects[(at + 7) % subjects.length] as string };
      const check = { request, facts: {} };
      expect(text(there.kyt(check).json)).toBe(text(here.kyt(check).json));
      for (const more of [
        { hops: at % 8 === 0 ? 3 : 2 },
        { hops: 1, crossChain: true },
        { targetAddress: subjects[(at + 3) % subjects.length] as string, maxDepth: 5 },
      ]) {
        const request = { chain: 'ETH', address, ...more };
        const [mine, theirs] = [here.trace(request), there.trace(request)];
        expect(theirs.isKnown).toBe(mine.isKnown);
        expect(text(theirs.json)).toBe(text(mine.json));
      }
    }
  });

  it('is used by the threads of a pool if the settings name the chain', async () => {
    const at = (name: string): string => join(world.folder, name);
    const pool = createPool(
      {
        threads: 1,
        snapshotsFolder: at('index'),
        labelsFolder: at('labels'),
        transfersFolder: at('none'),
        outputsFolder: at('none'),
        clustersFolder: at('none'),
        namesFolder: at('names'),
        listMaxAgeDays: 7,
        graphStores: { ETH: cluster.url },
        logLevel: 'silent',
      },
      { log },
    );
    const request = { chain: 'ETH', address: addressAt(150), hops: 2 };
    const graphOf = (bytes: Uint8Array): unknown => {
      const { nodes, edges, stoppedAt } = JSON.parse(text(bytes)) as Record<string, unknown>;
      return { nodes, edges, stoppedAt };
    };
    const { json } = await pool.run('trace', request);
    expect(graphOf(json)).toEqual(graphOf(here.trace(request).json));
    await pool.close();
  });
});

describe('graph store settings', () => {
  it('are parsed as chains and URLs, and rejected with a reason', () => {
    expect(readGraphStores({ ETH: 'redis://a:6666', BTC: '' })).toEqual({ ETH: 'redis://a:6666' });
    expect(() => readGraphStores({ EHT: 'redis://a' })).toThrow(/ASSAY_GRAPH_STORE_EHT/);
    expect(() => readGraphStores({ ETH: 'http://:secret@a' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        field: 'ASSAY_GRAPH_STORE_ETH',
        message: expect.not.stringContaining('secret'),
      }),
    );
  });

  it('leave the local reader in place if they name no store', () => {
    const local = {} as TransferReader;
    const clock = { monotonic: () => 0 };
    expect(withRemoteChains({ stores: {}, logLevel: 'silent' }, { local, clock, log })).toBe(local);
  });
});
