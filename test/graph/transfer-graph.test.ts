/** The conformance tests of all stores of a chain's transfers: LMDB, a Redis server, a Redis Cluster. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import type { TransferReader } from '../../src/graph/transfers.ts';
import { type KeepingPlace, transferGraphConforms } from '../conformance/transfer-graph.ts';
import { hasRedis, startRedis, startRedisCluster } from '../setup/redis.ts';
import { openRemote, push } from './remote/world.ts';

/** Chains in folders of their own; `reader` creates the reader of a chain. */
function keptIn(
  reader: (store: TransferStore, path: string, number: number) => Promise<TransferReader>,
  end: () => Promise<void>,
): KeepingPlace {
  const folder = mkdtempSync(join(tmpdir(), 'assay-kept-'));
  const opened: { close(): Promise<void> }[] = [];
  let number = 0;
  return {
    async open() {
      const own = ++number;
      const path = join(folder, String(own));
      const store = openTransferStore({ path, readOnly: false });
      opened.push(store);
      return {
        store,
        async read() {
          const made = await reader(store, join(path, 'eth.mdb'), own);
          if (made !== store) opened.push(made);
          return made;
        },
      };
    },
    async close() {
      for (const each of opened.reverse()) await each.close();
      await end();
      rmSync(folder, { recursive: true });
    },
  };
}

transferGraphConforms('transfers in LMDB', async () =>
  keptIn(
    async (store) => store,
    async () => {},
  ),
);

async function inServer(
  start: () => Promise<{ readonly url: string; stop(): Promise<void> }>,
): Promise<KeepingPlace> {
  const server = await start();
  return keptIn(
    async (_, path, number) => {
      const url = `${server.url}?prefix=t${number}`;
      await push(url, path, { buckets: 32 });
      return openRemote(url, join(path, '..', 'none'));
    },
    () => server.stop(),
  );
}

describe.skipIf(!hasRedis)('a remote graph', () => {
  transferGraphConforms('transfers in a Redis', () => inServer(startRedis));
  transferGraphConforms('transfers in a cluster', () => inServer(startRedisCluster));
});
