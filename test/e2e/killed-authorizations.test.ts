/**
 * Kills a server during two payments by signed authorizations, on a real EVM node, on one machine and as one of two nodes over Redis: of a
 * single request (x402), and of an invoice without gas. Nothing is paid, booked or answered twice, and nothing is lost.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { afterEach, describe, expect, it } from 'vitest';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import {
  CHAIN_ID,
  deployToken,
  newPayer,
  PAY_TO,
  PRICE,
  paymentHeader,
  RELAY_KEY,
  sign,
  signTyped,
  type Token,
} from '../billing/x402/world.ts';
import { hasAnvil } from '../setup/anvil.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { call, openPaymentsWorld, type PaymentsWorld, untilState } from './payments-world.ts';
import { newWorld, type RunningServer, until, type World } from './program.ts';

const IS_LONG = process.env.ASSAY_TEST_LONG === '1';
/** In the short suite, one machine takes the first two moments and two nodes take the others. */
const ROUNDS = IS_LONG ? 12 : 2;
const TIMEOUT_MS = IS_LONG ? 1_800_000 : 600_000;
/** When the process is killed; the last one is a random moment from the request on. */
const MOMENTS = ['before the block', 'in the block', 'at the credits', 'anywhere'] as const;
/** More blocks than anvil counts until a block is safe. */
const SAFE = 80;
const CREDIT_MS = 400;
const ADDRESS = { chain: 'ETH', address: '0x00000000000000000000000000000000a55a0007' };

// biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
type Json = any;

describe.runIf(hasAnvil).each(['one machine', 'two nodes over Redis'])(
  'payments by a signature: %s',
  (kind) => {
    const isShared = kind !== 'one machine';
    let of: PaymentsWorld;
    let token: Token;
    let payer: Wallet;
    let redis: RedisServer | null = null;
    let worlds: World[] = [];
    let servers: RunningServer[] = [];
    let random: () => number;
    let seed = 0;
    const momentOf = (round: number) => MOMENTS[(round + (isShared ? 2 : 0)) % MOMENTS.length];

    async function open(): Promise<void> {
      redis = isShared ? await startRedis() : null;
      of = await openPaymentsWorld(
        {
          ...{ ASSAY_GASLESS_CHAINS: 'BASE', ASSAY_X402_CHAINS: 'BASE', ASSAY_X402_ADDRESS: PAY_TO },
          ...{ ASSAY_RELAY_BALANCE_MAX: '1000000' },
          ...(redis === null ? {} : { ASSAY_REDIS_URL: redis.url }),
        },
        { chain: 'BASE', chainId: CHAIN_ID },
      );
      const { world, anvil, environment } = of;
      environment.ASSAY_RELAY_KEY_FILE = join(world.folder, 'relay.key');
      writeFileSync(environment.ASSAY_RELAY_KEY_FILE, RELAY_KEY, { mode: 0o600 });
      token = await deployToken(anvil);
      payer = await newPayer(token, 10n ** 12n);
      if (isShared) expect((await world.here(['redis', 'found'], { environment })).code).toBe(0);
      worlds = isShared ? [world, newWorld()] : [world];
      servers = [];
      for (const node of worlds) servers.push(await of.serve(node));
      seed = new DataView(systemRandom.bytes(4).buffer).getUint32(0);
      random = seededUint32(seed);
    }
    afterEach(async () => {
      await worlds[1]?.end();
      await of.end();
      await redis?.stop();
    });
    /** Kills a node, runs `work` meanwhile, and starts the node again. */
    async function killed(victim: number, work: () => Promise<void> = async () => {}): Promise<void> {
      await servers[victim]?.stop('SIGKILL');
      await work();
      servers[victim] = await of.serve(worlds[victim] as World);
    }
    const pooled = async (): Promise<number> => {
      const { pending } = await of.anvil.rpc<{ pending: string }>('txpool_status');
      return Number(pending);
    };
    const automine = (isOn: boolean): Promise<unknown> => of.anvil.rpc('evm_setAutomine', isOn);
    async function verify(more: object): Promise<void> {
      const { world, environment } = of;
      const verified = await world.run(['billing', 'verify', '--chains', '--json'], { environment });
      expect(verified.code, verified.err + verified.out).toBe(0);
      expect(JSON.parse(verified.out)).toMatchObject({ faults: [], ...more });
      for (const server of servers) expect(await server.stop()).toBe(0);
      const ledger = await world.here(['ledger', 'verify'], { environment });
      expect(ledger.code, ledger.err).toBe(0);
    }

    it.skipIf(isShared && !hasRedis)(
      'an invoice is paid and booked once; a request is paid and charged once, and always answered in the same way',
      async () => {
        await open();
        const { anvil } = of;
        const { firstKey } = servers[0] as RunningServer;
        const cookie = await of.login(servers[0] as RunningServer);
        for (let round = 0; round < ROUNDS; round++) {
          const moment = momentOf(round);
          const said = `seed ${seed}, round ${round}, killed ${moment}`;
          const victim = round % servers.length;
          const running = (): RunningServer => servers[victim] as RunningServer;
          const order = { package: 'Starter', method: 'CRYPTO', currency: 'BASE:USDC' };
          const { invoice } = await call(running(), cookie, '/billing/invoices', { body: order });
          const path = `/billing/invoices/${invoice.id}`;
          const asked = await call(running(), firstKey, `${path}/typed-data?payer=${payer.address}`);
          const body = {
            authorization: asked.authorization,
            signature: await signTyped(payer, asked),
          };
          const authorize = (): Promise<Json> =>
            call(running(), firstKey, `${path}/authorizations`, { body });
          const states = async (): Promise<string[]> => {
            const { authorizations } = await call(running(), firstKey, `${path}/authorizations`);
            return authorizations.map(({ state }: Json) => state);
          };
          const isSettled = async (): Promise<boolean> => (await states())[0] === 'SETTLED';

          const header = paymentHeader(await sign(payer));
          const before = await token.balance(PAY_TO);
          const isPaid = async (): Promise<boolean> => (await token.balance(PAY_TO)) > before;
          const request = async (at = victim): Promise<Response> =>
            fetch(`${servers[at]?.url}/api/v1/screening`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'PAYMENT-SIGNATURE': header },
              body: JSON.stringify(ADDRESS),
            });
          /** Requests, and returns null if the node is killed before it has answered. */
          const requested = (): Promise<string | null> =>
            request().then(
              (response) => response.text(),
              () => null,
            );

          // Both are under way when the node is killed.
          let early: Promise<string | null>;
          if (moment === 'before the block') {
            await automine(false);
            await authorize();
            early = requested();
            await until(async () => (await pooled()) === 2);
            await killed(victim, async () => {
              await anvil.mine();
              await automine(true);
            });
          } else if (moment === 'anywhere') {
            const authorized = authorize().catch(() => null);
            early = requested();
            await sleep(random() % 1_500);
            await killed(victim);
            // A client that got no answer sends the same again.
            if ((await authorized) === null) await authorize();
          } else {
            await authorize();
            await until(isSettled);
            early = requested();
            await until(isPaid);
            if (moment === 'at the credits') {
              await anvil.mine(SAFE);
              await sleep(random() % CREDIT_MS);
            }
            await killed(victim);
          }

          // The client sends the same request again until it is answered.
          const answered = async (at: number, isFirst: boolean): Promise<string> => {
            // A node that asks for a second payment would be wrong after the first answer.
            const busy = isFirst ? [402, 429, 500, 503] : [429, 500, 503];
            let response = await request(at);
            await until(async () => {
              if (response.status === 200) return true;
              expect([said, busy]).toEqual([said, expect.arrayContaining([response.status])]);
              await sleep(2_000);
              response = await request(at);
              return response.status === 200;
            });
            return response.text();
          };
          const text = await answered(victim, true);
          const first = await early;
          if (first?.startsWith('{"success":true')) expect([said, text]).toEqual([said, first]);
          // The other node has the same answer.
          expect([said, await answered((victim + 1) % servers.length, false)]).toEqual([said, text]);
          expect([said, await token.balance(PAY_TO)]).toEqual([said, before + PRICE]);

          await until(isSettled);
          await anvil.mine(SAFE);
          const settled = await untilState(running, firstKey, invoice.id, 'SETTLED');
          const entries = settled.entries.map(({ cause, credits }: Json) => [cause, credits]);
          expect([said, entries]).toEqual([said, [['PURCHASE', 100]]]);
          expect([said, await token.balance(invoice.crypto.address)]).toEqual([
            said,
            BigInt(invoice.due.amount),
          ]);
          expect([said, await states()]).toEqual([said, ['SETTLED']]);
        }
        await verify({
          settled: ROUNDS,
          chains: { payments: ROUNDS, faults: [] },
          calls: { calls: ROUNDS, unanswered: 0, unansweredCredits: 0, faults: [] },
        });
      },
      TIMEOUT_MS,
    );
  },
);
