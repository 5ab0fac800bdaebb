/** Payments of calls over both kinds of live state, and on two nodes that share a Redis: the same authorization at both is taken once. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../../src/accounts/access.ts';
import { PAY_PER_CALL_ACCOUNT } from '../../../src/accounts/keys.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { PayableRequest } from '../../../src/billing/x402/pay-per-call.ts';
import type { Leases } from '../../../src/state/leases.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { freePort } from '../../setup/free-port.ts';
import { type LiveState, overLiveStates, replicatedState } from '../../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { sleep, until } from '../../support/wait.ts';
import {
  CHAIN_ID,
  deployToken,
  newPayer,
  openPayments,
  PAY_TO,
  type Payments,
  type PaymentsOptions,
  PRICE,
  paymentHeader,
  RELAY,
  redisLeases,
  sign,
  type Token,
} from './world.ts';

const REQUEST: PayableRequest = {
  ...{ operation: 'screening', description: 'Screen an address', url: 'http://127.0.0.1/api/v1/screening' },
  ...{ credits: 1, hash: 'ab'.repeat(32), client: '127.0.0.1' },
};

describe.skipIf(!hasAnvil)('payments of calls that nodes share', () => {
  let anvil: Anvil;
  let token: Token;
  let folder: TempFolder;
  let access: Access;
  const lists = { sanctioned: new Set<string>(), stale: null };
  beforeAll(async () => {
    anvil = await startAnvil({ chainId: CHAIN_ID });
    token = await deployToken(anvil);
  });
  afterAll(() => anvil?.stop());
  beforeEach(() => {
    folder = tempFolder();
    access = createAccess(
      { folder: join(folder.path, 'accounts') },
      { clock: systemClock, random: systemRandom, log: silentLogger },
    );
  });
  afterEach(async () => {
    await access.close();
    folder.remove();
  });
  const open = (
    { openStore }: LiveState,
    place = 'one',
    leases?: Leases,
    more: Partial<PaymentsOptions> = {},
  ): Promise<Payments> =>
    openPayments({
      ...{ folder: join(folder.path, place), anvil, access, lists, openStore },
      ...(leases === undefined ? {} : { leases }),
      ...more,
    });
  const balance = async () => (await access.ledger().balance(PAY_PER_CALL_ACCOUNT)).balance;
  const sent = async () => Number(await anvil.rpc('eth_getTransactionCount', RELAY, 'latest'));

  overLiveStates((makeState) => {
    it('keeps a payment that is settled and not answered over a restart', async () => {
      const state = makeState();
      const header = paymentHeader(await sign(await newPayer(token)));
      const before = await token.balance(PAY_TO);
      const first = await open(state);
      await first.payPerCall.settle(await first.payPerCall.take(header, REQUEST), REQUEST);
      await first.stop();
      const second = await open(state);
      const taken = await second.payPerCall.take(header, REQUEST);
      expect(second.payPerCall.responseOf(taken)).toMatchObject({ success: true });
      expect([(await token.balance(PAY_TO)) - before, await balance()]).toEqual([PRICE, 1]);
      expect(await second.faults()).toEqual([]);
      await second.stop();
      await state.close();
    });
  });

  describe.skipIf(!hasRedis)('on two nodes', () => {
    let redis: RedisServer;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis?.stop());

    it('takes an authorization once that is sent to both at the same time, and the other node takes over', async () => {
      const states = [replicatedState(redis, 'two'), replicatedState(redis, 'two')] as const;
      const nodes = await Promise.all(
        states.map((state, at) => open(state, `node${at}`, redisLeases(state, `node${at}`))),
      );
      const once = async (): Promise<void> => {
        const header = paymentHeader(await sign(await newPayer(token)));
        const [paid, transactions, had] = [await token.balance(PAY_TO), await sent(), await balance()];
        const outcomes = await Promise.allSettled(
          nodes.map(async ({ payPerCall }) =>
            payPerCall.settle(await payPerCall.take(header, REQUEST), REQUEST),
          ),
        );
        // One node answers; the other says that it waits, or that it was refused.
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        const codes = outcomes.flatMap((one) =>
          one.status === 'rejected' ? [(one.reason as { code: string }).code] : [],
        );
        expect(['PAYMENT_PENDING', 'PAYMENT_REQUIRED']).toContain(codes[0]);
        expect(await token.balance(PAY_TO)).toBe(paid + PRICE);
        expect((await sent()) - transactions).toBe(1);
        await until(async () => (await balance()) === had + 1);
      };
      for (let round = 0; round < 4; round++) await once();
      // The holder of the lease stops; the other one sends what waits.
      const header = paymentHeader(await sign(await newPayer(token)));
      const [first, second] = nodes as [Payments, Payments];
      await first.stop();
      const [paid, transactions] = [await token.balance(PAY_TO), await sent()];
      await second.payPerCall.settle(await second.payPerCall.take(header, REQUEST), REQUEST);
      expect([await token.balance(PAY_TO), (await sent()) - transactions]).toEqual([paid + PRICE, 1]);
      expect(await second.faults()).toEqual([]);
      await second.stop();
      await Promise.all(states.map((state) => state.close()));
    }, 60_000);

    it('sends a payment on another node if the holder of the lease does not reach the chain', async () => {
      const states = [replicatedState(redis, 'away'), replicatedState(redis, 'away')] as const;
      const nodeUrl = `http://127.0.0.1:${await freePort()}`;
      const away = await open(states[0], 'away0', redisLeases(states[0], 'away0'), {
        nodeUrl,
        patienceMs: 500,
      });
      // It holds the lease by now.
      await sleep(1_500);
      const other = await open(states[1], 'away1', redisLeases(states[1], 'away1'));
      const header = paymentHeader(await sign(await newPayer(token)));
      await other.payPerCall.settle(await other.payPerCall.take(header, REQUEST), REQUEST);
      expect(await other.faults()).toEqual([]);
      await Promise.all([away.stop(), other.stop()]);
      await Promise.all(states.map((state) => state.close()));
    }, 60_000);
  });
});
