/**
 * Kills a server between the first sight of a payment, its confirmation and the booking of its credits, on a real EVM node, on one machine and
 * as one of two nodes over Redis. Each payment is credited once, none is lost, and chain, invoices and ledger agree.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { hasAnvil } from '../setup/anvil.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import {
  call,
  DEPTH,
  openPaymentsWorld,
  orderEth,
  type PaymentsWorld,
  untilState,
} from './payments-world.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const IS_LONG = process.env.ASSAY_TEST_LONG === '1';
/**
 * When the process is killed, for each payment that a kill interrupts; the last one is a random moment from the first sight on. In the short
 * suite, one machine takes the first kill and two nodes take the second.
 */
const KILLS = [
  ['after sight', 'after the order'],
  ['at the credits', 'while deep enough'],
  ['anywhere'],
] as const;
const ROUNDS = IS_LONG ? 15 : 1;
const TIMEOUT_MS = IS_LONG ? 1_800_000 : 600_000;
/** Time from the confirming block to the credits, and some more. */
const CREDIT_MS = 400;

describe.runIf(hasAnvil).each(['one machine', 'two nodes over Redis'])('payments: %s', (kind) => {
  const isShared = kind !== 'one machine';
  let of: PaymentsWorld;
  let redis: RedisServer | null = null;
  let second: World | null = null;
  afterEach(async () => {
    await second?.end();
    await of.end();
    await redis?.stop();
  });

  it.skipIf(isShared && !hasRedis)(
    'are credited once after kill -9, and the command verifies them',
    async () => {
      redis = isShared ? await startRedis() : null;
      of = await openPaymentsWorld(redis === null ? {} : { ASSAY_REDIS_URL: redis.url });
      const { world, anvil, environment } = of;
      if (isShared) expect((await world.here(['redis', 'found'], { environment })).code).toBe(0);
      const worlds = [world];
      if (isShared) {
        second = newWorld();
        worlds.push(second);
      }
      const servers: RunningServer[] = [];
      for (const node of worlds) servers.push(await of.serve(node));
      const { firstKey } = servers[0] as RunningServer;
      const cookie = await of.login(servers[0] as RunningServer);
      const { balance: before } = await call(servers[0] as RunningServer, firstKey, '/usage');
      const seed = new DataView(systemRandom.bytes(4).buffer).getUint32(0);
      const random = seededUint32(seed);
      const ids: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const moments = KILLS[(round + (isShared ? 1 : 0)) % KILLS.length] as (typeof KILLS)[number];
        // The nodes take turns: the killed one may hold the lease of the chain or not.
        const victim = (round + seed) % servers.length;
        const said = `seed ${seed}, round ${round}, killed ${moments.join(', ')}`;
        const running = (): RunningServer => servers[victim] as RunningServer;
        const kill = async (): Promise<void> => void (await running().stop('SIGKILL'));
        const invoices: Awaited<ReturnType<typeof orderEth>>[] = [];
        for (const _ of moments) invoices.push(await orderEth(running(), cookie));
        ids.push(...invoices.map(({ id }) => id));
        const pay = (at: number): Promise<string> => {
          const { crypto, due } = invoices[at];
          return anvil.send({ to: crypto.address, value: BigInt(due.amount) });
        };
        const untilProcessing = (at: number): Promise<unknown> =>
          untilState(running, firstKey, invoices[at].id, 'PROCESSING');
        await pay(0);
        if (moments[0] === 'anywhere') {
          const killed = sleep(random() % 1_500).then(kill);
          await anvil.mine();
          await sleep(random() % 600);
          await anvil.mine(DEPTH - 1);
          await killed;
        } else if (moments[0] === 'after sight') {
          await anvil.mine();
          await sleep(random() % CREDIT_MS);
          await kill();
          await pay(1);
          await anvil.mine(DEPTH);
        } else {
          await anvil.mine();
          await untilProcessing(0);
          await pay(1);
          await anvil.mine();
          await untilProcessing(1);
          // The first is deep enough now, and the second lacks a block.
          await anvil.mine(DEPTH - 2);
          await sleep(random() % CREDIT_MS);
          await kill();
          await anvil.mine();
        }
        servers[victim] = await of.serve(worlds[victim] as World);
        for (const { id } of invoices) {
          const settled = await untilState(running, firstKey, id, 'SETTLED');
          const entries = settled.entries.map(({ cause, credits }: { cause: string; credits: number }) => [
            cause,
            credits,
          ]);
          expect([said, entries]).toEqual([said, [['PURCHASE', 100]]]);
        }
      }
      const { balance } = await call(servers[0] as RunningServer, firstKey, '/usage');
      expect(balance - before).toBe(100 * ids.length);
      const { history } = await call(servers[0] as RunningServer, firstKey, '/usage?limit=100');
      const bought = history.filter(({ type }: { type: string }) => type === 'PURCHASE');
      expect(bought).toHaveLength(ids.length);
      const verified = await world.run(['billing', 'verify', '--chains', '--json'], { environment });
      expect(verified.code, verified.err + verified.out).toBe(0);
      expect(JSON.parse(verified.out)).toMatchObject({
        ...{ faults: [], settled: ids.length, chains: { payments: ids.length, faults: [] } },
      });
      for (const server of servers) expect(await server.stop()).toBe(0);
      const ledger = await world.here(['ledger', 'verify'], { environment });
      expect(ledger.code, ledger.err).toBe(0);
    },
    TIMEOUT_MS,
  );
});
