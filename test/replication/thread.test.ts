/** The thread that replicates snapshots, as the server starts it. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Broadcast } from '../../src/nodes/broadcast.ts';
import type { ReplicationSettings } from '../../src/replication/follow.ts';
import { behindSeconds, openReplication, type Replication } from '../../src/replication/replication.ts';
import { ADDRESS, makeWorld, NOW, type Node, type World } from './world.ts';

const LONG = { timeout: 60_000, interval: 20 };

let world: World;
let a: Node;
let b: Node;
const open: Replication[] = [];
beforeEach(() => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
});
afterEach(async () => {
  for (const replication of open.splice(0)) await replication.close();
  world.end();
});

async function start(
  node: Node,
  settings: Partial<ReplicationSettings>,
  more: { broadcast?: Broadcast; onSwapped?: () => void } = {},
): Promise<Replication> {
  const replication = await openReplication(
    {
      settings: { dataDir: node.dataDir, secret: null, listen: null, store: null, from: null, ...settings },
      logLevel: 'silent',
    },
    { clock: node.clock, log: silentLogger, onSwapped: () => {}, ...more },
  );
  open.push(replication);
  return replication;
}

const LISTEN = { host: '127.0.0.1', port: 0 };

it('broadcasts a release to the other nodes, and reports a swap to its own server', async () => {
  const published: string[] = [];
  const listeners: ((message: string) => void)[] = [];
  const broadcast: Broadcast = {
    async publish(message) {
      published.push(message);
    },
    subscribe(listener) {
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
  };
  await a.build({ [ADDRESS(1)]: 'one' });
  const publishing = await start(a, { listen: LISTEN }, { broadcast });
  await vi.waitFor(() => expect(published).toEqual(['snapshot']), LONG);
  expect([publishing.state, behindSeconds(publishing.state, NOW), listeners]).toEqual([null, 0, []]);

  const onSwapped = vi.fn();
  const url = publishing.url ?? '';
  const pulling = await start(b, { from: { kind: 'http', url } }, { broadcast, onSwapped });
  await vi.waitFor(() => expect(onSwapped).toHaveBeenCalledTimes(1), LONG);
  expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
  await vi.waitFor(
    () =>
      expect(pulling.state).toMatchObject({
        behindSince: null,
        served: { dataVersion: a.answers().dataVersion },
      }),
    LONG,
  );
  // A broadcast of another node triggers a check; one about something else does not.
  expect(listeners).toHaveLength(1);
  for (const message of ['labels', 'snapshot']) listeners[0]?.(message);
  await a.build({ [ADDRESS(1)]: 'two' });
  await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('two'), LONG);
  await vi.waitFor(() => expect(published).toEqual(['snapshot', 'snapshot']), LONG);
  await pulling.close();
  expect(listeners).toEqual([]);
});

it('rejects with LISTEN_FAILED if its port is in use', async () => {
  const { url } = await start(a, { listen: LISTEN });
  const port = Number(new URL(url ?? '').port);
  await expect(start(b, { listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
    code: 'LISTEN_FAILED',
    message: expect.stringContaining(String(port)),
  });
});
