/** The thread that replicates snapshots, as the server starts it. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Announcements } from '../../src/nodes/broadcast.ts';
import type { TravelSettings } from '../../src/replication/follow.ts';
import { behindSeconds, openTravel, type Travel } from '../../src/replication/replication.ts';
import { ADDRESS, makeWorld, NOW, type Node, type World } from './world.ts';

const LONG = { timeout: 60_000, interval: 20 };

let world: World;
let a: Node;
let b: Node;
const open: Travel[] = [];
beforeEach(() => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
});
afterEach(async () => {
  for (const travel of open.splice(0)) await travel.close();
  world.end();
});

async function start(
  node: Node,
  settings: Partial<TravelSettings>,
  more: { news?: Announcements; onSwapped?: () => void } = {},
): Promise<Travel> {
  const travel = await openTravel(
    {
      settings: { dataDir: node.dataDir, secret: null, listen: null, store: null, from: null, ...settings },
      logLevel: 'silent',
    },
    { clock: node.clock, log: silentLogger, onSwapped: () => {}, ...more },
  );
  open.push(travel);
  return travel;
}

const LISTEN = { host: '127.0.0.1', port: 0 };

it('tells the other nodes of a release, and its own server of a swap', async () => {
  const told: string[] = [];
  const heard: ((word: string) => void)[] = [];
  const news: Announcements = {
    async tell(word) {
      told.push(word);
    },
    hear(listener) {
      heard.push(listener);
      return () => void heard.splice(heard.indexOf(listener), 1);
    },
  };
  await a.build({ [ADDRESS(1)]: 'one' });
  const publishing = await start(a, { listen: LISTEN }, { news });
  await vi.waitFor(() => expect(told).toEqual(['snapshot']), LONG);
  expect([publishing.state, behindSeconds(publishing.state, NOW), heard]).toEqual([null, 0, []]);

  const onSwapped = vi.fn();
  const url = publishing.url ?? '';
  const pulling = await start(b, { from: { kind: 'http', url } }, { news, onSwapped });
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
  // An announcement of another node triggers a check; one about something else does not.
  expect(heard).toHaveLength(1);
  for (const word of ['labels', 'snapshot']) heard[0]?.(word);
  await a.build({ [ADDRESS(1)]: 'two' });
  await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('two'), LONG);
  await vi.waitFor(() => expect(told).toEqual(['snapshot', 'snapshot']), LONG);
  await pulling.close();
  expect(heard).toEqual([]);
});

it('says so where its port is taken, and ends', async () => {
  const { url } = await start(a, { listen: LISTEN });
  const port = Number(new URL(url ?? '').port);
  await expect(start(b, { listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
    code: 'LISTEN_FAILED',
    message: expect.stringContaining(String(port)),
  });
});
