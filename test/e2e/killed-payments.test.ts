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

/** In the short suite, one machine takes the first two moments and two nodes take the next two. */
const ROUNDS = process.env.ASSAY_TEST_LONG === '1' ? 15 : 2;
/** When the process is killed; the last one is a random moment from the first sight on. */
const MOMENTS = [
  'after the order',
  'after sight',
  'while deep enough',
  'at the credits',
  'anywhere',
] as const;
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
      if (isShared) expect((await world.run(['redis', 'found'], { environment })).code).toBe(0);
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
        const moment = MOMENTS[(round + (isShared ? 2 : 0)) % MOMENTS.length];
        const said = `seed ${seed}, round ${round}, killed ${moment}`;
        // The nodes take turns: the killed one may hold the lease of the chain or not.
        const victim = round % servers.length;
        const running = (): RunningServer => servers[victim] as RunningServer;
        const invoice = await orderEth(running(), cookie);
        ids.push(invoice.id);
        const kill = async (): Promise<void> => void (await running().stop('SIGKILL'));
        const pay = (): Promise<string> =>
          anvil.send({ to: invoice.crypto.address, value: BigInt(invoice.due.amount) });
        if (moment === 'after the order') {
          await kill();
          await pay();
          await anvil.mine(DEPTH);
        } else if (moment === 'anywhere') {
          await pay();
          const killed = sleep(random() % 1_500).then(kill);
          await anvil.mine();
          await sleep(random() % 600);
          await anvil.mine(DEPTH - 1);
          await killed;
        } else {
          await pay();
          await anvil.mine();
          if (moment !== 'after sight') await untilState(running, firstKey, invoice.id, 'PROCESSING');
          else await sleep(random() % CREDIT_MS);
          if (moment === 'at the credits') {
            await anvil.mine(DEPTH - 1);
            await sleep(random() % CREDIT_MS);
            await kill();
          } else {
            await kill();
            await anvil.mine(DEPTH - 1);
          }
        }
        servers[victim] = await of.serve(worlds[victim] as World);
        const settled = await untilState(running, firstKey, invoice.id, 'SETTLED');
        const entries = settled.entries.map(({ cause, credits }: { cause: string; credits: number }) => [
          cause,
          credits,
        ]);
        expect([said, entries]).toEqual([said, [['PURCHASE', 100]]]);
      }
      const { balance } = await call(servers[0] as RunningServer, firstKey, '/usage');
      expect(balance - before).toBe(100 * ROUNDS);
      const { history } = await call(servers[0] as RunningServer, firstKey, '/usage?limit=100');
      const bought = history.filter(({ type }: { type: string }) => type === 'PURCHASE');
      expect(bought).toHaveLength(ROUNDS);
      const verified = await world.run(['billing', 'verify', '--chains', '--json'], { environment });
      expect(verified.code, verified.err + verified.out).toBe(0);
      expect(JSON.parse(verified.out)).toMatchObject({
        ...{ faults: [], settled: ROUNDS, chains: { payments: ROUNDS, faults: [] } },
      });
      for (const server of servers) expect(await server.stop()).toBe(0);
      const ledger = await world.run(['ledger', 'verify'], { environment });
      expect(ledger.code, ledger.err).toBe(0);
    },
    900_000,
  );
});
