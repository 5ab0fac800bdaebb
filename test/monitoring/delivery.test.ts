import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoTime, systemClock } from '../../src/base/clock.ts';
import { createIds } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createMailer } from '../../src/base/mail.ts';
import { createOutboundAgent, type OutboundPolicy } from '../../src/base/outbound.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openChannels } from '../../src/monitoring/channels.ts';
import { createDispatcher } from '../../src/monitoring/delivery/dispatcher.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import { openOutbox } from '../../src/monitoring/delivery/outbox-lmdb.ts';
import {
  ATTEMPTS_MAX,
  RETRY_WAITS_MS,
  readRetryAfter,
  retryWaitMs,
} from '../../src/monitoring/delivery/schedule.ts';
import { createSenders } from '../../src/monitoring/delivery/senders.ts';
import type { Alert, MonitoredWallet } from '../../src/monitoring/records.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { until } from '../support/wait.ts';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver on loopback; `answer` returns its response. */
async function receiver(
  answer: (
    received: Received,
    count: number,
  ) => { status: number; headers?: Record<string, string>; body?: string } | null,
) {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const one = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      received.push(one);
      const said = answer(one, received.length);
      if (said === null) return; // Never answers.
      response.writeHead(said.status, said.headers);
      response.end(said.body ?? '');
    });
  };
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    received,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A clock that the test sets; durations stay real. */
function movableClock() {
  // The reference library compares signatures with the real time.
  let now = Date.now();
  return { now: () => now, monotonic: systemClock.monotonic, advance: (ms: number) => (now += ms) };
}

const policy: OutboundPolicy = { trustedHosts: new Set(['127.0.0.1']) };

async function openWorld(
  folder: string,
  state: LiveState,
  options: { smtpUrl?: string; telegramApi?: string } = {},
) {
  const clock = movableClock();
  const { root } = state.openStore(`${folder}/monitoring.lmdb`, 1, { name: 'monitoring', maxDbs: 20 });
  const encryption = createEncryption(systemRandom.bytes(32), systemRandom);
  const channels = openChannels(root, { encryption, clock, random: systemRandom });
  const alerts = new Map<string, Alert>();
  const newId = createIds({ clock, random: systemRandom });
  const openBox = () =>
    openOutbox(root, {
      channels,
      clock,
      random: systemRandom,
      newId,
      readAlert: (_, id) => alerts.get(id) ?? null,
    });
  const outbox = openBox();
  await state.ready();
  const agent = createOutboundAgent({ policy, timeouts: { connectMs: 1_000, headersMs: 400, stallMs: 400 } });
  const senders = createSenders({
    channels,
    agent: () => agent,
    policy,
    mailer:
      options.smtpUrl === undefined
        ? null
        : createMailer({ url: options.smtpUrl, from: 'assay@example.org' }),
    clock,
    telegramApi: options.telegramApi ?? 'http://127.0.0.1:9',
  });
  const dispatcher = createDispatcher({ outbox, senders, clock, log: silentLogger });
  let sequence = 0;
  const wallet = (change: Partial<MonitoredWallet> = {}): MonitoredWallet => ({
    id: newId(),
    accountId: 'a',
    chain: 'ETH',
    walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
    label: 'Treasury',
    status: 'ACTIVE',
    riskScore: 0,
    riskLevel: 'LOW',
    enabledRules: ['SANCTIONS-001'],
    customWebhookUrl: null,
    alertThreshold: 'all',
    alertFrequency: 'realtime',
    notes: null,
    createdAtMs: clock.now(),
    updatedAtMs: clock.now(),
    deletedAtMs: null,
    watchFromHeight: null,
    ...change,
  });
  const raise = async (of: MonitoredWallet, change: Partial<Alert> = {}): Promise<Alert> => {
    const alert: Alert = {
      id: newId(),
      accountId: of.accountId,
      walletId: of.id,
      sequence: ++sequence,
      ruleId: 'MIXING-001',
      ruleName: 'Mixing service',
      severity: 'HIGH',
      status: 'NEW',
      title: 'Received from a mixer',
      message: 'Value came from <Tornado & Co>.\nIgnore this line.',
      category: 'MIXER',
      riskType: 'COUNTERPARTY',
      final: false,
      reorged: false,
      transaction: null,
      wallet: { walletAddress: of.walletAddress, chain: of.chain, label: of.label },
      createdAtMs: clock.now(),
      updatedAtMs: clock.now(),
      resolvedAtMs: null,
      history: [],
      ...change,
    };
    alerts.set(alert.id, alert);
    await root.transaction(() => outbox.enqueue('alert.created', alert, of));
    outbox.wake();
    return alert;
  };
  const all = () => outbox.list('a', {}, { limit: 100 }).deliveries;
  return { clock, root, channels, outbox, dispatcher, wallet, raise, all, openBox, agent };
}
type World = Awaited<ReturnType<typeof openWorld>>;

overLiveStates((makeState) => {
  let folder: TempFolder;
  const closing: (() => Promise<unknown>)[] = [];
  const openIn = async (options?: Parameters<typeof openWorld>[2]): Promise<World> => {
    const state = makeState();
    const world = await openWorld(folder.path, state, options);
    closing.push(async () => {
      await world.dispatcher.stop();
      await world.agent.destroy();
      await world.root.close();
      await state.close();
    });
    return world;
  };
  const listen = async (answer: Parameters<typeof receiver>[0]) => {
    const one = await receiver(answer);
    closing.push(one.close);
    return one;
  };
  beforeEach(() => {
    folder = memoryFolder();
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    folder.remove();
  });

  const OK = () => ({ status: 204 });

  describe('a webhook', () => {
    it('has a signature that the Standard Webhooks library accepts, and rejects for a changed body', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const { secret } = await world.channels.rotateSecret('a');
      const alert = await world.raise(world.wallet({ customWebhookUrl: `${hook.url}/hook` }));
      await world.dispatcher.runDue();
      const [{ body, headers }] = hook.received as [Received];
      const told = new Webhook(secret).verify(body, headers as Record<string, string>) as {
        type: string;
        data: { alert: { id: string; sequence: number; wallet: { walletAddress: string } } };
      };
      expect(told.type).toBe('alert.created');
      expect(told.data.alert).toMatchObject({ id: alert.id, sequence: 1 });
      expect(told.data.alert.wallet.walletAddress).toBe('0x52908400098527886e0f7030069857d2e4169ee7');
      expect(headers['webhook-id']).toBe(world.all()[0]?.id);
      expect(() =>
        new Webhook(secret).verify(body.replace('HIGH', 'LOW'), headers as Record<string, string>),
      ).toThrow();
      expect(world.all()).toMatchObject([
        { status: 'DELIVERED', attempts: [{ responseStatus: 204, error: null }] },
      ]);
    });

    it('is also signed with the previous secret for one day after a rotation', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const first = await world.channels.rotateSecret('a');
      expect(first.previousUntilMs).toBeNull();
      const second = await world.channels.rotateSecret('a');
      expect(second.previousUntilMs).toBe(world.clock.now() + 24 * 3_600_000);
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      const [{ body, headers }] = hook.received as [Received];
      for (const { secret } of [first, second])
        new Webhook(secret).verify(body, headers as Record<string, string>);
      world.clock.advance(24 * 3_600_000 + 1);
      await world.raise(wallet);
      await world.dispatcher.runDue();
      expect(hook.received[1]?.headers['webhook-signature']).toMatch(/^v1,[^ ]+$/);
      expect(world.channels.signingSecrets('a')).toEqual([second.secret]);
    });

    it('is retried by the schedule with the same id and bytes, and fails after the last attempt', async () => {
      const world = await openIn();
      const hook = await listen(() => ({ status: 500 }));
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      for (const wait of RETRY_WAITS_MS) {
        expect(world.all()[0]?.status).toBe('PENDING');
        world.clock.advance(wait - 1_000);
        await world.dispatcher.runDue();
        const before = hook.received.length;
        world.clock.advance(wait * 0.1 + 2_000);
        await world.dispatcher.runDue();
        expect(hook.received.length).toBe(before + 1);
      }
      expect(hook.received).toHaveLength(ATTEMPTS_MAX);
      expect(new Set(hook.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      expect(new Set(hook.received.map(({ body }) => body)).size).toBe(1);
      expect(world.all()).toMatchObject([{ status: 'FAILED', nextAttemptAtMs: null }]);
      expect(world.all()[0]?.attempts).toHaveLength(ATTEMPTS_MAX);
      expect(world.outbox.queues()).toEqual([]);
      world.clock.advance(10 * 24 * 3_600_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(ATTEMPTS_MAX);
    });

    it.each([
      [
        'a redirect',
        { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
        /redirects are not followed/,
      ],
      ['an error', { status: 503 }, /answered 503/],
      ['no answer', null, /No answer in time/],
    ] as const)('counts %s as a failure', async (_, answer, error) => {
      const world = await openIn();
      const hook = await listen(() => answer as { status: number } | null);
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      expect(world.all()[0]).toMatchObject({ status: 'PENDING' });
      expect(world.all()[0]?.attempts[0]?.error).toMatch(error);
      expect(hook.received).toHaveLength(1);
    });

    it('is sent, replayed and cancelled if its row is of an earlier version, with the message in it', async () => {
      const world = await openIn();
      const hook = await listen((_, count) => ({ status: count === 1 ? 500 : 200 }));
      const wallets = [0, 1].map(() => world.wallet({ customWebhookUrl: hook.url }));
      for (const wallet of wallets) await world.raise(wallet);
      const rows = world.root.openDB<Record<string, unknown>, string>({
        name: 'deliveries',
        encoding: 'json',
      });
      const messages = world.root.openDB<string, string>({ name: 'deliveryMessages', encoding: 'string' });
      const keys = [...rows.getKeys()];
      const bodies = keys.map((key) => messages.get(key));
      await world.root.transaction(() => {
        for (const key of keys) {
          const { via, ...row } = rows.get(key) as Record<string, unknown>;
          rows.putSync(key, { ...row, channel: via, body: messages.get(key) });
          messages.removeSync(key);
        }
      });
      const [first, second] = world.all().toReversed();
      expect(first).toMatchObject({ channel: 'webhook', status: 'PENDING', attempts: [] });
      await world.root.transaction(() => world.outbox.cancelWallet(wallets[1]?.id ?? ''));
      await world.dispatcher.runDue();
      world.clock.advance((RETRY_WAITS_MS[0] as number) * 1.1 + 1);
      await world.dispatcher.runDue();
      await world.outbox.replay('a', second?.id ?? '');
      await world.dispatcher.runDue();
      expect(hook.received.map(({ body }) => body)).toEqual([bodies[0], bodies[0], bodies[1]]);
      expect(world.all().map(({ status, attempts }) => [status, attempts.length])).toEqual([
        ['DELIVERED', 1],
        ['DELIVERED', 2],
      ]);
      expect(keys.map((key) => messages.get(key))).toEqual(bodies);
      expect(keys.some((key) => 'body' in (rows.get(key) as object))).toBe(false);
    });

    it('is removed with its message at the end of the retention', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      const messages = world.root.openDB<string, string>({ name: 'deliveryMessages', encoding: 'string' });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      world.clock.advance(DELIVERY_LIMITS.deliveriesKeptMs + 1);
      await world.raise(wallet);
      const [only, ...others] = world.all();
      expect(others).toEqual([]);
      expect([...messages.getKeys()]).toEqual([`a/${only?.id}`]);
    });

    it('is removed at the end of the retention from accounts that get no other one, too', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const messages = world.root.openDB<string, string>({ name: 'deliveryMessages', encoding: 'string' });
      for (const accountId of ['a', 'a-b', 'b'])
        for (let n = 0; n < 3; n++)
          await world.raise(world.wallet({ accountId, customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      world.clock.advance(DELIVERY_LIMITS.deliveriesKeptMs - 1_000);
      await world.raise(world.wallet({ accountId: 'b', customWebhookUrl: hook.url }));
      await world.outbox.purgeAll(world.clock.now(), new AbortController().signal);
      expect([...messages.getKeys()]).toHaveLength(10);
      world.clock.advance(60_000);
      world.dispatcher.start();
      await expect.poll(() => [...messages.getKeys()].map((key) => key.split('/')[0])).toEqual(['b']);
    });

    it('stays in the queue, and is not sent, if its message is missing', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      const messages = world.root.openDB<string, string>({ name: 'deliveryMessages', encoding: 'string' });
      for (const key of [...messages.getKeys()]) await messages.remove(key);
      const waiting = world.outbox
        .queues()
        .flatMap((queue) => world.outbox.due(queue, world.clock.now()).waiting);
      expect(() => world.outbox.load(waiting[0] as (typeof waiting)[0])).toThrow(
        /message of the delivery .* is missing/,
      );
      expect([hook.received.length, world.outbox.waitingCount()]).toEqual([0, 1]);
    });

    it('is sent if the clock was set back further than the longest delay', async () => {
      const world = await openIn();
      const hook = await listen((_, count) => ({ status: count === 1 ? 500 : 200 }));
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      const longest = retryWaitMs(RETRY_WAITS_MS.length, DELIVERY_LIMITS.retryAfterMaxMs, 1) as number;
      // The next attempt lies ahead by the first wait plus the amount by which the clock is set back.
      const backMs = longest - (RETRY_WAITS_MS[0] as number) - 60_000;
      world.clock.advance(-backMs);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
      world.clock.advance(-120_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(2);
      expect(world.all()).toMatchObject([{ status: 'DELIVERED', nextAttemptAtMs: null }]);
      expect(world.outbox.queues()).toEqual([]);
    });

    it('is sent and sent again at once if the clock of the node that stores it is ahead', async () => {
      const world = await openIn();
      const hook = await listen((_, count) => ({ status: count === 1 ? 500 : 200 }));
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      // The first message is before the others in the queue, and its retry is not due.
      world.clock.advance(600_000);
      await world.raise(wallet);
      world.clock.advance(-600_000);
      await world.dispatcher.runDue();
      expect(world.all().map(({ status }) => status)).toEqual(['DELIVERED', 'PENDING']);
      world.clock.advance(600_000);
      await world.outbox.replay('a', world.all()[0]?.id ?? '');
      world.clock.advance(-600_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(3);
      expect(world.all().map(({ status }) => status)).toEqual(['DELIVERED', 'PENDING']);
      world.clock.advance((RETRY_WAITS_MS[0] as number) * 1.1 + 1);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(4);
      expect(world.outbox.queues()).toEqual([]);
    });

    it('waits as long as the receiver requests', async () => {
      const world = await openIn();
      const hook = await listen((_, count) =>
        count === 1 ? { status: 429, headers: { 'retry-after': '3600' } } : { status: 200 },
      );
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      world.clock.advance(3_590_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
      world.clock.advance(400_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(2);
      expect(world.all()[0]?.status).toBe('DELIVERED');
    });

    it('is not sent after a 410 response until the URL is set again, and the log says why', async () => {
      const world = await openIn();
      let isGone = true;
      const hook = await listen(() => ({ status: isGone ? 410 : 200 }));
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      await world.raise(wallet);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
      expect(world.all().map(({ status }) => status)).toEqual(['FAILED', 'FAILED']);
      expect(world.all()[0]?.attempts[0]?.error).toMatch(/disabled until it is set again/);
      isGone = false;
      await world.root.transaction(() => world.outbox.enableUrl('a', hook.url));
      await world.raise(wallet);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(2);
    });

    it('is not sent to a URL that the outbound guard rejects, even if it is stored', async () => {
      const world = await openIn();
      await world.raise(world.wallet({ customWebhookUrl: 'https://10.0.0.1/' }));
      await world.dispatcher.runDue();
      expect(world.all()).toMatchObject([
        { status: 'FAILED', attempts: [{ error: 'The URL is not allowed any more.' }] },
      ]);
    });

    it('does not read an endless response', async () => {
      const world = await openIn();
      const server = createServer((_, response) => {
        response.writeHead(200);
        const write = (): void => {
          while (response.write(Buffer.alloc(64 * 1024)) && !response.destroyed);
        };
        response.on('drain', write);
        write();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(async () => {
        server.closeAllConnections();
        server.close();
      });
      await world.raise(
        world.wallet({ customWebhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }),
      );
      await world.dispatcher.runDue();
      expect(world.all()[0]?.status).toBe('DELIVERED');
    });
  });

  describe('the order of deliveries', () => {
    it('sends first attempts of a wallet in the order of its alerts; a failing one delays no other', async () => {
      const world = await openIn();
      const hook = await listen((_, count) => ({ status: count === 1 ? 500 : 200 }));
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      for (let i = 0; i < 30; i++) await world.raise(wallet);
      await world.dispatcher.runDue();
      const sequences = hook.received.map(({ body }) => JSON.parse(body).data.alert.sequence as number);
      expect(sequences).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
      world.clock.advance(6_000);
      await world.dispatcher.runDue();
      expect(JSON.parse(hook.received.at(-1)?.body ?? '').data.alert.sequence).toBe(1);
      expect(world.all().every(({ status }) => status === 'DELIVERED')).toBe(true);
    });

    it('keeps the order of a long queue without reading its start for each attempt', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const count = 2 * DELIVERY_LIMITS.deliveryScanMax + 10;
      const wallets = Array.from({ length: 5 }, () => world.wallet({ customWebhookUrl: hook.url }));
      const alert = await world.raise(wallets[0] as MonitoredWallet);
      await world.root.transaction(() => {
        for (let n = 1; n < count; n++)
          world.outbox.enqueue(
            'alert.created',
            { ...alert, sequence: n + 1 },
            wallets[n % 5] as MonitoredWallet,
          );
      });
      const { due } = world.outbox;
      let reads = 0;
      world.outbox.due = (...call) => {
        reads++;
        return due.apply(world.outbox, call);
      };
      await world.dispatcher.runDue();
      const sequences = hook.received.map(({ body }) => JSON.parse(body).data.alert.sequence as number);
      for (let wallet = 0; wallet < 5; wallet++)
        expect(sequences.filter((sequence) => (sequence - 1) % 5 === wallet)).toEqual(
          Array.from({ length: Math.ceil((count - wallet) / 5) }, (_, i) => 5 * i + wallet + 1),
        );
      expect(sequences).toHaveLength(count);
      expect(reads).toBeLessThan(20);
    });

    it('sends a delivery once that was cancelled and sent again while an earlier one was attempted', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      const second = await world.raise(wallet);
      const sent = world.dispatcher.runDue();
      const id = world.all().find(({ alertId }) => alertId === second.id)?.id ?? '';
      await world.root.transaction(() => world.outbox.cancelWallet(wallet.id));
      world.clock.advance(1);
      await world.outbox.replay('a', id);
      await sent;
      await world.dispatcher.runDue();
      expect(hook.received.filter(({ headers }) => headers['webhook-id'] === id)).toHaveLength(1);
      expect(world.outbox.delivery('a', id)?.status).toBe('DELIVERED');
      expect(world.outbox.waitingCount()).toBe(0);
    });

    it('is not delayed by a receiver that never responds', async () => {
      const world = await openIn();
      const dead = await listen(() => null);
      const alive = await listen(OK);
      world.dispatcher.start();
      const stuck = world.wallet({ customWebhookUrl: dead.url });
      for (let i = 0; i < 20; i++) await world.raise(stuck);
      const wallet = world.wallet({ customWebhookUrl: alive.url });
      for (let i = 0; i < 50; i++) await world.raise(wallet);
      await expect.poll(() => alive.received.length).toBe(50);
      expect(dead.received.length).toBeLessThan(50);
    });

    it('sends a bounded number of emails at once, and delays no other receiver', async () => {
      let open = 0;
      let most = 0;
      const waiting: (() => void)[] = [];
      const server = new SMTPServer({
        authOptional: true,
        disabledCommands: ['STARTTLS'],
        onData(stream, _session, callback) {
          most = Math.max(most, ++open);
          stream.resume().on('end', () =>
            waiting.push(() => {
              open--;
              callback();
            }),
          );
        },
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(() => new Promise<void>((resolve) => server.close(resolve)));
      const { port } = server.server.address() as AddressInfo;
      const world = await openIn({ smtpUrl: `smtp://127.0.0.1:${port}` });
      const hook = await listen(OK);
      const letters = 3 * DELIVERY_LIMITS.alertEmailsInFlightMax;
      for (let n = 0; n < letters; n++) {
        await world.channels.setChannels(`mail-${n}`, {
          email: `person${n}@example.org`,
          slackWebhookUrl: null,
          telegram: null,
        });
        await world.raise(world.wallet({ accountId: `mail-${n}` }));
      }
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      const sent = world.dispatcher.runDue();
      await until(() => hook.received.length > 0 && waiting.length >= DELIVERY_LIMITS.alertEmailsInFlightMax);
      const answering = setInterval(() => waiting.shift()?.(), 2);
      await sent;
      clearInterval(answering);
      expect(most).toBe(DELIVERY_LIMITS.alertEmailsInFlightMax);
      for (let n = 0; n < letters; n++)
        expect(world.outbox.list(`mail-${n}`, {}, { limit: 1 }).deliveries[0]?.status).toBe('DELIVERED');
    });

    it('survives a stop: unsent deliveries are sent after the restart, sent ones are not repeated', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      world.dispatcher.start();
      for (let i = 0; i < 40; i++) await world.raise(wallet);
      await world.dispatcher.stop();
      const outbox = world.openBox();
      const senders = createSenders({
        channels: world.channels,
        agent: () => world.agent,
        policy,
        mailer: null,
        clock: world.clock,
        telegramApi: 'http://127.0.0.1:9',
      });
      const again = createDispatcher({ outbox, senders, clock: world.clock, log: silentLogger });
      await again.runDue();
      const ids = hook.received.map(({ headers }) => headers['webhook-id']);
      expect(ids).toHaveLength(40);
      expect(new Set(ids).size).toBe(40);
    });
  });

  describe('threshold, frequency, pause', () => {
    it.each([
      ['all', 4],
      ['medium', 3],
      ['high', 2],
      ['critical', 1],
    ] as const)('alertThreshold %s sends %i of four severities', async (alertThreshold, sent) => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url, alertThreshold });
      for (const severity of ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const)
        await world.raise(wallet, { severity });
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(sent);
    });

    it('daily combines the alerts of one day (UTC) into one message', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url, alertFrequency: 'daily' });
      const alerts = [await world.raise(wallet), await world.raise(wallet), await world.raise(wallet)];
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(0);
      const day = isoTime(world.clock.now()).slice(0, 10);
      world.clock.advance(24 * 3_600_000);
      await world.dispatcher.runDue();
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
      const told = JSON.parse(hook.received[0]?.body ?? '');
      expect(told.type).toBe('alert.digest');
      expect(told.data.digest).toMatchObject({ day, more: 0 });
      expect(told.data.digest.alerts.map(({ id }: { id: string }) => id).sort()).toEqual(
        alerts.map(({ id }) => id).sort(),
      );
    });

    it('sends the digest of a future day at once if the clock was set back', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      await world.raise(world.wallet({ customWebhookUrl: hook.url, alertFrequency: 'daily' }));
      const { clock, dispatcher } = world;
      // Clocks of nodes may differ by seconds, so a day is not closed early.
      clock.advance(-1_000 - (clock.now() % (24 * 3_600_000)));
      await dispatcher.runDue();
      expect(hook.received).toHaveLength(0);
      clock.advance(-2 * 3_600_000);
      await dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
    });

    it('limits the alerts in a digest and counts the rest, for a URL of maximum length', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const long = `${hook.url}/`.padEnd(DELIVERY_LIMITS.receiverUrlCharsMax, 'x');
      const wallet = world.wallet({ customWebhookUrl: long, alertFrequency: 'daily' });
      for (let i = 0; i < DELIVERY_LIMITS.digestAlertsMax + 7; i++) await world.raise(wallet);
      const other = world.wallet({ customWebhookUrl: `${hook.url}/other`, alertFrequency: 'daily' });
      await world.raise(other);
      world.clock.advance(24 * 3_600_000);
      await world.dispatcher.runDue();
      const digests = hook.received.map(({ body }) => JSON.parse(body).data.digest);
      expect(digests.map(({ alerts, more }) => [alerts.length, more]).sort((x, y) => x[0] - y[0])).toEqual([
        [1, 0],
        [DELIVERY_LIMITS.digestAlertsMax, 7],
      ]);
    });

    it('cancels the waiting deliveries of a paused wallet, also between two attempts', async () => {
      const world = await openIn();
      const hook = await listen(() => ({ status: 500 }));
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      await world.raise(wallet);
      await world.root.transaction(() => world.outbox.cancelWallet(wallet.id));
      world.clock.advance(24 * 3_600_000);
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(1);
      expect(world.all().map(({ status }) => status)).toEqual(['CANCELLED', 'CANCELLED']);
      expect(world.outbox.waitingCount()).toBe(0);
    });
  });

  describe('the log of deliveries', () => {
    it('scans a bounded number of rows per page, and returns a cursor to continue', async () => {
      const world = await openIn();
      const rare = world.wallet({ customWebhookUrl: 'https://hooks.example.org/rare' });
      await world.raise(rare);
      const busy = world.wallet({ customWebhookUrl: 'https://hooks.example.org/busy' });
      const alert = await world.raise(busy);
      await world.root.transaction(() => {
        for (let i = 0; i < 2 * DELIVERY_LIMITS.deliveriesLookedMax; i++)
          world.outbox.enqueue('alert.created', alert, busy);
      });
      const found: string[] = [];
      let pages = 0;
      for (let cursor: string | undefined; ; ) {
        const page = world.outbox.list(
          'a',
          { walletId: rare.id },
          { limit: 10, ...(cursor === undefined ? {} : { cursor }) },
        );
        pages++;
        found.push(...page.deliveries.map(({ walletId }) => walletId ?? ''));
        if (page.nextCursor === null) break;
        cursor = page.nextCursor;
      }
      expect(found).toEqual([rare.id]);
      expect(pages).toBe(3);
    });

    it('is paged from the newest, filtered, and restricted to one account', async () => {
      const world = await openIn();
      const hook = await listen((_, count) => ({ status: count % 2 === 0 ? 200 : 410 }));
      const wallet = world.wallet({ customWebhookUrl: `${hook.url}/a` });
      for (let i = 0; i < 5; i++)
        await world.raise(world.wallet({ ...wallet, customWebhookUrl: `${hook.url}/${i}` }));
      await world.dispatcher.runDue();
      const first = world.outbox.list('a', {}, { limit: 2 });
      await world.raise(wallet);
      const second = world.outbox.list('a', {}, { limit: 10, cursor: first.nextCursor ?? '' });
      const ids = [...first.deliveries, ...second.deliveries].map(({ id }) => id);
      expect(ids).toHaveLength(5);
      expect(ids).toEqual([...new Set(ids)].sort().reverse());
      expect(world.outbox.list('b', {}, { limit: 10 }).deliveries).toEqual([]);
      expect(world.outbox.delivery('b', ids[0] as string)).toBeNull();
      const failed = world.outbox.list('a', { status: 'FAILED' }, { limit: 10 }).deliveries;
      expect(failed).toHaveLength(3);
      expect(() => world.outbox.list('a', {}, { limit: 1, cursor: '../a' })).toThrow(/^cursor: /);
    });

    it('replays a message, but not for another account or while it is pending', async () => {
      const world = await openIn();
      let status = 410;
      const hook = await listen(() => ({ status }));
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await world.raise(wallet);
      await world.dispatcher.runDue();
      const id = world.all()[0]?.id ?? '';
      status = 200;
      await expect(world.outbox.replay('b', id)).rejects.toThrow(/there is no delivery/);
      await world.outbox.replay('a', id);
      await expect(world.outbox.replay('a', id)).rejects.toThrow(/still waits/);
      await world.dispatcher.runDue();
      expect(hook.received.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
      expect(world.all()).toMatchObject([
        { status: 'DELIVERED', attempts: [{ responseStatus: 410 }, { responseStatus: 200 }] },
      ]);
    });

    it('replays a message once for requests with the same Idempotency-Key', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      await world.raise(world.wallet({ customWebhookUrl: hook.url }));
      await world.dispatcher.runDue();
      const id = world.all()[0]?.id ?? '';
      const key = { slot: 'aa', bodyHash: 'bb' };
      const first = await world.outbox.replay('a', id, key);
      expect(first).toMatchObject({ isRepeated: false, delivery: { id, status: 'PENDING' } });
      // Also while the first one still waits.
      expect(await world.outbox.replay('a', id, key)).toEqual({ ...first, isRepeated: true });
      await world.dispatcher.runDue();
      expect(await world.outbox.replay('a', id, key)).toEqual({ ...first, isRepeated: true });
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(2);
      await expect(world.outbox.replay('a', id, { ...key, bodyHash: 'cc' })).rejects.toThrow(
        /^Idempotency-Key: /,
      );
      await world.outbox.replay('a', id, { ...key, slot: 'dd' });
      await world.dispatcher.runDue();
      expect(hook.received).toHaveLength(3);
    });

    it('sends a test message to every receiver of the wallet', async () => {
      const world = await openIn();
      const hook = await listen(OK);
      const wallet = world.wallet({ customWebhookUrl: hook.url });
      await expect(world.outbox.test(world.wallet())).rejects.toThrow(/no receiver/);
      await world.outbox.test(wallet);
      await world.dispatcher.runDue();
      expect(JSON.parse(hook.received[0]?.body ?? '')).toMatchObject({
        type: 'alert.test',
        data: { test: { walletId: wallet.id } },
      });
    });
  });

  describe('other channels', () => {
    it('sends an email to a real mail server, and does not retry a permanent rejection', async () => {
      const letters: string[] = [];
      const server = new SMTPServer({
        authOptional: true,
        disabledCommands: ['STARTTLS'],
        onRcptTo: ({ address }, _, done) =>
          address.startsWith('nobody')
            ? done(Object.assign(new Error('No such user'), { responseCode: 550 }))
            : done(),
        onData: (stream, _, done) => {
          const parts: Buffer[] = [];
          stream.on('data', (part: Buffer) => parts.push(part));
          stream.on('end', () => {
            letters.push(Buffer.concat(parts).toString());
            done();
          });
        },
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
      closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
      const world = await openIn({
        smtpUrl: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
      });
      await world.channels.setChannels('a', {
        email: 'officer@example.org',
        slackWebhookUrl: null,
        telegram: null,
      });
      await world.raise(world.wallet(), { title: 'Received\r\nBcc: other@example.org' });
      await world.dispatcher.runDue();
      expect(letters).toHaveLength(1);
      expect(letters[0]).toMatch(/^To: officer@example.org/m);
      expect(letters[0]).not.toMatch(/^Bcc:/m);
      await world.channels.setChannels('a', {
        email: 'nobody@example.org',
        slackWebhookUrl: null,
        telegram: null,
      });
      await world.raise(world.wallet());
      await world.dispatcher.runDue();
      expect(world.all()[0]).toMatchObject({ status: 'FAILED', attempts: [{ responseStatus: 550 }] });
    });

    it('formats and escapes Slack messages, and stops if the hook does not exist', async () => {
      const world = await openIn();
      const slack = await listen((_, count) => ({ status: count === 1 ? 200 : 404, body: 'ok' }));
      await world.channels.setChannels('a', {
        email: null,
        slackWebhookUrl: `${slack.url}/services/T0/B0/secret`,
        telegram: null,
      });
      const wallet = world.wallet();
      await world.raise(wallet);
      await world.raise(wallet);
      await world.dispatcher.runDue();
      const body = JSON.parse(slack.received[0]?.body ?? '');
      expect(slack.received[0]?.path).toBe('/services/T0/B0/secret');
      expect(body.blocks[0].text.text).toContain('&lt;Tornado &amp; Co&gt;');
      expect(world.all().map(({ status }) => status)).toEqual(['FAILED', 'DELIVERED']);
      expect(JSON.stringify(world.all())).not.toContain('T0/B0/secret');
    });

    it('sends plain text to Telegram, and waits as long as it requests', async () => {
      const telegram = await listen((_, count) =>
        count === 1
          ? { status: 429, body: '{"ok":false,"parameters":{"retry_after":600}}' }
          : { status: 200, body: '{"ok":true}' },
      );
      const world = await openIn({ telegramApi: telegram.url });
      await world.channels.setChannels('a', {
        email: null,
        slackWebhookUrl: null,
        telegram: { botToken: '1:token', chatId: '-42' },
      });
      await world.raise(world.wallet());
      await world.dispatcher.runDue();
      world.clock.advance(590_000);
      await world.dispatcher.runDue();
      expect(telegram.received).toHaveLength(1);
      world.clock.advance(100_000);
      await world.dispatcher.runDue();
      expect(telegram.received).toHaveLength(2);
      expect(telegram.received[1]?.path).toBe('/bot1:token/sendMessage');
      expect(JSON.parse(telegram.received[1]?.body ?? '')).toMatchObject({ chat_id: '-42' });
      expect(JSON.parse(telegram.received[1]?.body ?? '')).not.toHaveProperty('parse_mode');
      expect(JSON.stringify(world.all())).not.toContain('1:token');
    });

    it('fails waiting deliveries of a removed channel', async () => {
      const world = await openIn();
      await world.channels.setChannels('a', {
        email: null,
        slackWebhookUrl: 'https://hooks.slack.com/services/x',
        telegram: null,
      });
      await world.raise(world.wallet());
      await world.channels.setChannels('a', { email: null, slackWebhookUrl: null, telegram: null });
      await world.dispatcher.runDue();
      expect(world.all()).toMatchObject([
        { status: 'FAILED', attempts: [{ error: 'The channel was removed.' }] },
      ]);
    });
  });

  describe('the schedule', () => {
    it('uses the listed delays, or a longer requested delay of at most one day', () => {
      expect(RETRY_WAITS_MS.map((ms) => ms / 1_000)).toEqual([
        5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
      ]);
      expect(retryWaitMs(1, null, 0)).toBe(5_000);
      expect(retryWaitMs(1, null, 1)).toBe(5_500);
      expect(retryWaitMs(1, 60_000, 0)).toBe(60_000);
      expect(retryWaitMs(1, 10 ** 12, 0)).toBe(24 * 3_600_000);
      expect(retryWaitMs(ATTEMPTS_MAX, 60_000, 0)).toBeNull();
    });

    it('reads Retry-After as seconds or a date', () => {
      const now = Date.UTC(2026, 10, 21);
      expect(readRetryAfter('120', now)).toBe(120_000);
      expect(readRetryAfter('Sat, 21 Nov 2026 00:01:00 GMT', now)).toBe(60_000);
      expect(readRetryAfter('Sat, 21 Nov 2020 00:01:00 GMT', now)).toBe(0);
      for (const header of [undefined, 'soon', '-1', '1e3']) expect(readRetryAfter(header, now)).toBeNull();
    });
  });
});
