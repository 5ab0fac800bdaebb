/** Monitoring over HTTP: every operation and its errors, on a real store; the screening behind it is that of the test world. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import type { MonitoredWallet } from '../../src/monitoring/records.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { EXCHANGE, openWorld, UNKNOWN, type World } from './world.ts';

const FRONT_ENDS = [
  ['uws', 'at once', false],
  ['node', 'at once', false],
  ['uws', 'later', true],
  ['node', 'later', true],
] as const;

describe.each(FRONT_ENDS)('monitoring on %s, behind a gate that answers %s', (backend, _when, isGateLate) => {
  const GENEROUS = { monitoring: 100_000 };
  let folder: TempFolder;
  let world: World;
  let monitoring: Monitoring;
  let hook: Server;
  let hookUrl: string;
  const received: { path: string; body: string }[] = [];

  beforeAll(async () => {
    folder = tempFolder();
    hook = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        received.push({ path: request.url ?? '', body: Buffer.concat(parts).toString() });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
    monitoring = openedMonitoring(folder.path, {
      billing: walletBilling(() => world.access.ledger()),
      dutyOf: () => new Map(),
    });
    monitoring.start();
    world = await openWorld({ backend, isGateLate, useCases: { monitoring: () => monitoring.service } });
  });
  afterAll(async () => {
    await world.close();
    await monitoring.close();
    await new Promise((resolve) => hook.close(resolve));
    folder.remove();
  });

  interface Answer {
    readonly status: number;
    // biome-ignore lint/suspicious/noExplicitAny: responses of every shape, read without a schema.
    readonly body: any;
  }
  let accounts = 0;
  /** Creates a client with an account of its own. */
  async function caller(permissions: readonly ['monitoring'] | readonly ['entity'] = ['monitoring']) {
    const accountId = `account-${++accounts}`;
    const key = await world.key({ permissions: [...permissions], rateLimits: GENEROUS, accountId });
    const ask = async (
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer> => {
      const response = await fetch(`${world.url}/api/v1/monitoring${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };
    return { accountId, key, ask };
  }
  type Caller = Awaited<ReturnType<typeof caller>>;
  const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
  const add = (who: Caller, n: number, more: object = {}) =>
    who.ask('POST', '/wallets', { walletAddress: address(n), chain: 'eth', ...more });
  const raise = async (who: Caller, walletId: string, cause: string): Promise<void> => {
    await monitoring.service.store.write((writer) => {
      const wallet = writer.wallet(who.accountId, walletId) as MonitoredWallet;
      writer.raise(
        wallet,
        {
          ruleId: 'MIXING-001',
          ruleName: 'Mixing',
          severity: 'HIGH',
          title: 't',
          message: 'm',
          category: 'MIXER',
          riskType: 'COUNTERPARTY',
          transaction: null,
          final: true,
        },
        cause,
        null,
      );
    });
  };

  describe('wallets over HTTP', () => {
    it('screens a registered wallet, charges one credit, and returns the wallet', async () => {
      const who = await caller();
      const { status, body } = await add(who, 0xabc, { label: 'Desk', notes: 'n', alertThreshold: 'high' });
      expect(status).toBe(200);
      expect(body.credits).toEqual({ remaining: 9 });
      expect(body.data.wallet).toMatchObject({
        walletAddress: address(0xabc),
        chain: 'ETH',
        label: 'Desk',
        status: 'ACTIVE',
        riskScore: 42,
        riskLevel: 'MEDIUM',
        alertThreshold: 'high',
        alertFrequency: 'realtime',
        enabledRules: [
          'SANCTIONS-001',
          'MIXING-001',
          'SCAM-001',
          'HIGHRISK-001',
          'DARKWEB-001',
          'VELOCITY-001',
        ],
        customWebhookUrl: null,
        notes: 'n',
        deletedAt: null,
      });
      const detail = await who.ask('GET', `/wallets/${body.data.wallet.id}`);
      expect(detail.body.data.wallet).toMatchObject({ alertCount: 0, transactionCount: 0 });
      const { history } = await world.access.ledger().usage(who.accountId, { limit: 1 });
      expect(history).toMatchObject([
        { type: 'SCREENING', amount: -1, reference: `monitoring/wallets ${address(0xabc)} ETH` },
      ]);
    });

    it('the last credit pays a wallet, the next one is 402 and leaves none, and a resent request gets the first wallet', async () => {
      const who = await caller();
      const headers = { 'idempotency-key': 'last' };
      const wallet = { walletAddress: address(10), chain: 'ETH' };
      for (let n = 1; n < 10; n++) expect((await add(who, n)).status).toBe(200);
      const last = await who.ask('POST', '/wallets', wallet, headers);
      expect([last.status, last.body.credits]).toEqual([200, { remaining: 0 }]);
      expect((await add(who, 11)).status).toBe(402);
      expect(await who.ask('POST', '/wallets', wallet, headers)).toEqual(last);
      expect((await who.ask('GET', '/wallets')).body.data.total).toBe(10);
      expect(monitoring.service.store.pending.list(10)).toEqual([]);
    });

    it('a wallet on a chain without a node is active and not followed, with the reason, wherever it is shown', async () => {
      const who = await caller();
      const { body } = await add(who, 1);
      const of = {
        following: false,
        followedTo: null,
        reason: 'No node of ETH is configured, so transfers on this chain are not seen.',
      };
      const { id } = body.data.wallet;
      expect(body.data.wallet).toMatchObject({ status: 'ACTIVE', ...of });
      expect((await who.ask('GET', `/wallets/${id}`)).body.data.wallet).toMatchObject(of);
      expect((await who.ask('GET', '/wallets')).body.data.wallets).toMatchObject([of]);
      const { following: _, ...rest } = of;
      for (const path of ['/alerts', `/wallets/${id}/alerts`])
        expect((await who.ask('GET', path)).body.data.notFollowed).toEqual([{ chain: 'ETH', ...rest }]);
      const changed = await who.ask('PATCH', `/wallets/${id}`, { status: 'PAUSED' });
      expect(changed.body.data.wallet.reason).toBe('The wallet is paused, so its transfers are ignored.');
      expect((await who.ask('GET', '/alerts')).body.data.notFollowed).toEqual([]);
    });

    it.each([
      [{ chain: 'BTC' }, /^chain: BTC is not monitored; wallets can be watched on ETH, BSC, POLYGON/],
      [{ chain: 'NOPE' }, /chain/],
      [{ walletAddress: '0x1' }, /^walletAddress/],
      [{ walletAddress: 7 }, /walletAddress/],
      [{ alertThreshold: 'some' }, /alertThreshold/],
      [{ enabledRules: ['X-001'] }, /enabledRules/],
      [{ customWebhookUrl: 'http://hooks.example.org/' }, /^customWebhookUrl: only https/],
      [{ customWebhookUrl: 'https://10.0.0.1/' }, /^customWebhookUrl: the address is not public/],
      [{ label: '' }, /label/],
    ])('rejects %j with 400 and charges nothing', async (wrong, message) => {
      const who = await caller();
      const { status, body } = await who.ask('POST', '/wallets', {
        walletAddress: EXCHANGE,
        chain: 'ETH',
        ...wrong,
      });
      expect(status).toBe(400);
      expect(body.error).toMatch(message);
      expect((await add(who, 1)).body.credits).toEqual({ remaining: 9 });
    });

    it('rejects a duplicate of address and chain, but not another chain or another account', async () => {
      const [one, other] = [await caller(), await caller()];
      await add(one, 1);
      const again = await add(one, 1);
      expect([again.status, again.body.error]).toEqual([
        400,
        expect.stringMatching(/^walletAddress: this account has/),
      ]);
      expect((await add(one, 1, { chain: 'BSC' })).status).toBe(200);
      expect((await add(other, 1)).status).toBe(200);
    });

    it('creates and charges one wallet for a repeated Idempotency-Key', async () => {
      const who = await caller();
      const body = { walletAddress: address(5), chain: 'ETH' };
      const first = await who.ask('POST', '/wallets', body, { 'idempotency-key': 'k' });
      const second = await who.ask('POST', '/wallets', body, { 'idempotency-key': 'k' });
      expect(second.body).toEqual(first.body);
      expect((await who.ask('GET', '/wallets')).body.data.total).toBe(1);
    });

    it('are listed, filtered and paged, without the deleted ones', async () => {
      const who = await caller();
      const ids: string[] = [];
      for (let n = 1; n <= 5; n++) ids.push((await add(who, n, { label: `Desk ${n}` })).body.data.wallet.id);
      expect((await who.ask('DELETE', `/wallets/${ids[0]}`)).body.data.wallet).toMatchObject({
        status: 'DELETED',
      });
      const list = async (query: string) => (await who.ask('GET', `/wallets${query}`)).body.data;
      expect((await list('')).total).toBe(4);
      expect((await list('?includeDeleted=true')).total).toBe(5);
      expect((await list('?status=DELETED')).wallets).toMatchObject([
        { id: ids[0], deletedAt: expect.any(String) },
      ]);
      expect((await list('?search=desk%203')).wallets).toMatchObject([{ id: ids[2] }]);
      expect((await list('?limit=2&offset=2')).wallets.map(({ id }: { id: string }) => id)).toEqual([
        ids[3],
        ids[4],
      ]);
      for (const query of [
        '?includeDeleted=1',
        '?limit=0',
        '?limit=1001',
        '?offset=-1',
        '?chain=BTC',
        '?status=GONE',
        '?limit=1&limit=2',
      ])
        expect((await who.ask('GET', `/wallets${query}`)).status, query).toBe(400);
    });

    it('are changed, paused, resumed, deleted and restored', async () => {
      const who = await caller();
      const { id } = (await add(who, 1, { customWebhookUrl: `${hookUrl}/x` })).body.data.wallet;
      const patch = async (body: object) => who.ask('PATCH', `/wallets/${id}`, body);
      expect(
        (await patch({ label: 'New', enabledRules: ['SCAM-001', 'MIXING-001'] })).body.data.wallet,
      ).toMatchObject({
        label: 'New',
        enabledRules: ['MIXING-001', 'SCAM-001'],
        customWebhookUrl: `${hookUrl}/x`,
      });
      expect((await patch({ customWebhookUrl: null, label: null })).body.data.wallet).toMatchObject({
        customWebhookUrl: null,
        label: null,
      });
      expect((await patch({ status: 'PAUSED' })).body.data.wallet.status).toBe('PAUSED');
      expect((await patch({ status: 'ACTIVE' })).body.data.wallet.status).toBe('ACTIVE');
      expect((await patch({ action: 'restore' })).body.error).toMatch(/^action: only a deleted wallet/);
      await who.ask('DELETE', `/wallets/${id}`);
      expect((await who.ask('DELETE', `/wallets/${id}`)).status).toBe(200);
      expect((await patch({ label: 'x' })).body.error).toMatch(/restore it first/);
      expect((await patch({ action: 'restore' })).body.data.wallet).toMatchObject({
        status: 'ACTIVE',
        deletedAt: null,
      });
      for (const wrong of [{}, { status: 'DELETED' }, { action: 'revive' }, { customWebhookUrl: 'nonsense' }])
        expect((await patch(wrong)).status, JSON.stringify(wrong)).toBe(400);
      expect((await patch({ label: 'y', colour: 'red' })).body.ignored).toEqual(['colour']);
    });
  });

  describe('resources of another account', () => {
    it('are not found by any operation', async () => {
      const [owner, other] = [await caller(), await caller()];
      const { id } = (await add(owner, 1, { customWebhookUrl: `${hookUrl}/owner` })).body.data.wallet;
      await raise(owner, id, 'c');
      const alertId = (await owner.ask('GET', '/alerts')).body.data.alerts[0].id;
      await expect
        .poll(
          async () => (await owner.ask('GET', '/deliveries?status=DELIVERED')).body.data.deliveries.length,
        )
        .toBe(1);
      const deliveryId = (await owner.ask('GET', '/deliveries')).body.data.deliveries[0].id;
      for (const [method, path, body] of [
        ['GET', `/wallets/${id}`],
        ['PATCH', `/wallets/${id}`, { label: 'x' }],
        ['DELETE', `/wallets/${id}`],
        ['GET', `/wallets/${id}/alerts`],
        ['GET', `/wallets/${id}/transactions`],
        ['POST', `/wallets/${id}/test`],
        ['PATCH', `/alerts/${alertId}`, { status: 'RESOLVED' }],
        ['POST', `/deliveries/${deliveryId}/replay`],
      ] as const)
        expect((await other.ask(method, path, body)).status, `${method} ${path}`).toBe(404);
      expect((await other.ask('GET', '/alerts')).body.data.total).toBe(0);
      expect((await other.ask('GET', `/alerts?walletId=${id}`)).body.data.total).toBe(0);
      expect((await other.ask('GET', '/deliveries')).body.data.deliveries).toEqual([]);
      expect((await owner.ask('GET', `/wallets/${id}`)).body.data.wallet).toMatchObject({
        label: null,
        status: 'ACTIVE',
      });
    });

    it('are rejected with 403 without the permission, and with 401 without a key', async () => {
      const who = await caller(['entity']);
      for (const [method, path] of [
        ['GET', '/wallets'],
        ['GET', '/alerts'],
        ['GET', '/stream'],
        ['GET', '/channels'],
      ] as const)
        expect((await who.ask(method, path)).status).toBe(403);
      expect((await fetch(`${world.url}/api/v1/monitoring/wallets`)).status).toBe(401);
    });
  });

  describe('alerts over HTTP', () => {
    it('are filtered, paged without shifting, and moved between states with a history', async () => {
      const who = await caller();
      const first = (await add(who, 1)).body.data.wallet.id;
      const second = (await add(who, 2)).body.data.wallet.id;
      for (let i = 0; i < 3; i++) await raise(who, first, `a${i}`);
      for (let i = 0; i < 2; i++) await raise(who, second, `b${i}`);
      const list = async (query: string) => (await who.ask('GET', `/alerts${query}`)).body.data;
      const all = await list('');
      expect(all).toMatchObject({ total: 5, limit: 50, offset: 0, newest: 5 });
      expect(all.alerts[0]).toMatchObject({
        sequence: 5,
        status: 'NEW',
        severity: 'HIGH',
        ruleId: 'MIXING-001',
        wallet: { walletAddress: address(2), chain: 'ETH', label: null },
      });
      expect((await list(`?walletId=${first}`)).total).toBe(3);
      expect((await list(`?walletAddress=${address(1)}`)).total).toBe(3);
      expect((await list(`?walletAddress=${address(1)},${address(2)}`)).total).toBe(5);
      expect((await list(`?walletAddress=${address(1)}%2C${address(3)}`)).total).toBe(3);
      expect((await list('?severity=LOW')).total).toBe(0);
      expect((await who.ask('GET', `/wallets/${second}/alerts?limit=1`)).body.data).toMatchObject({
        total: 2,
        limit: 1,
      });
      await raise(who, first, 'later');
      const page = await list(`?limit=2&offset=2&upTo=${all.newest}`);
      expect(page.alerts.map(({ sequence }: { sequence: number }) => sequence)).toEqual([3, 2]);

      const { id } = all.alerts[0];
      const moved = await who.ask('PATCH', `/alerts/${id}`, { status: 'RESOLVED' });
      expect(moved.body.data.alert).toMatchObject({ status: 'RESOLVED', resolvedAt: expect.any(String) });
      expect(
        (await who.ask('PATCH', `/alerts/${id}`, { status: 'NEW' })).body.data.alert.history,
      ).toHaveLength(3);
      const noted = await who.ask('PATCH', `/alerts/${id}`, { assignee: 'bob', note: 'Asked the client.' });
      expect(noted.body.data.alert).toMatchObject({ status: 'NEW', assignee: 'bob' });
      const asked = { kind: 'ASSIGNEE', assignee: 'bob', note: 'Asked the client.' };
      expect(noted.body.data.alert.history.slice(3)).toEqual([expect.objectContaining(asked)]);
      const alone = await who.ask('PATCH', `/alerts/${id}`, { note: 'No reply.' });
      expect(alone.body.data.alert.history.at(-1)).toMatchObject({ kind: 'NOTE', note: 'No reply.' });
      const freed = await who.ask('PATCH', `/alerts/${id}`, { assignee: null });
      expect(freed.body.data.alert.assignee).toBeNull();
      for (const body of [{ assignee: '' }, { assignee: 'a\nb' }, { note: '' }])
        expect((await who.ask('PATCH', `/alerts/${id}`, body)).status).toBe(400);
      expect((await who.ask('PATCH', `/alerts/${id}`, { status: 'DONE' })).status).toBe(400);
      expect((await who.ask('PATCH', `/alerts/${id}`, {})).status).toBe(400);
      for (const query of [
        '?status=DONE',
        '?severity=high',
        '?limit=101',
        '?offset=x',
        '?walletAddress=0x1',
        '?upTo=-1',
      ])
        expect((await who.ask('GET', `/alerts${query}`)).status, query).toBe(400);
    });

    it('return the transactions of a wallet newest first', async () => {
      const who = await caller();
      const { id } = (await add(who, 1)).body.data.wallet;
      await monitoring.service.store.write((writer) => {
        for (let i = 1; i <= 3; i++)
          writer.addTransaction({
            accountId: who.accountId,
            walletId: id,
            hash: `0x${i}`,
            position: 'value',
            blockNumber: i,
            blockHash: 'b',
            timestampMs: 1_000 * i,
            direction: 'in',
            counterparty: { address: UNKNOWN, entity: null },
            asset: 'ETH',
            amount: '1.5',
            amountUsd: null,
            riskScore: null,
            riskLevel: null,
          });
      });
      const { data } = (await who.ask('GET', `/wallets/${id}/transactions?limit=2`)).body;
      expect(data).toMatchObject({ total: 3, limit: 2, offset: 0 });
      expect(data.transactions).toMatchObject([
        {
          hash: '0x3',
          amount: '1.5',
          amountUsd: null,
          confirmations: null,
          counterparty: { address: UNKNOWN, entity: null, category: null },
        },
        { hash: '0x2' },
      ]);
    });
  });

  describe('channels and deliveries over HTTP', () => {
    it('set channels one by one, mask them, and remove them with null', async () => {
      const who = await caller();
      const put = async (body: object) => (await who.ask('PUT', '/channels', body)).body;
      await put({
        email: 'officer@example.org',
        slackWebhookUrl: 'https://hooks.slack.com/services/T0/B0/secret1234',
      });
      await put({ telegram: { botToken: '4242:abcdefghijkl', chatId: '-7' } });
      const { channels } = (await who.ask('GET', '/channels')).body.data;
      expect(channels).toEqual({
        email: 'officer@example.org',
        slackWebhookUrl: 'https://hooks.slack.com/…1234',
        telegram: { botToken: '…ijkl', chatId: '-7' },
      });
      expect((await put({ email: null })).data.channels).toMatchObject({
        email: null,
        telegram: { chatId: '-7' },
      });
      for (const wrong of [
        { email: 'x' },
        { email: 'a@b\r\nBcc: c@d' },
        { slackWebhookUrl: 'https://127.0.0.9/' },
        { telegram: { botToken: 'x', chatId: '1' } },
      ])
        expect((await who.ask('PUT', '/channels', wrong)).status, JSON.stringify(wrong)).toBe(400);
    });

    it('show a secret once, rotate it, and send, log and replay a test message', async () => {
      const who = await caller();
      const first = (await who.ask('POST', '/webhook-secret')).body.data;
      expect(first).toMatchObject({ secret: expect.stringMatching(/^whsec_/), previousUntil: null });
      expect((await who.ask('POST', '/webhook-secret')).body.data.previousUntil).toEqual(expect.any(String));
      const bare = (await add(who, 1)).body.data.wallet.id;
      expect((await who.ask('POST', `/wallets/${bare}/test`)).body.error).toMatch(/no receiver/);
      const { id } = (await add(who, 2, { customWebhookUrl: `${hookUrl}/mine` })).body.data.wallet;
      const mine = () => received.filter(({ path }) => path === '/mine');
      expect((await who.ask('POST', `/wallets/${id}/test`)).body.data.deliveries).toHaveLength(1);
      await expect.poll(() => mine().length).toBe(1);
      await expect
        .poll(async () => (await who.ask('GET', '/deliveries?status=DELIVERED')).body.data.deliveries.length)
        .toBe(1);
      const [delivery] = (await who.ask('GET', `/deliveries?walletId=${id}&limit=1`)).body.data.deliveries;
      expect(delivery).toMatchObject({
        channel: 'webhook',
        event: 'test',
        attempts: [{ responseStatus: 204 }],
      });
      const again = () =>
        who.ask('POST', `/deliveries/${delivery.id}/replay`, undefined, { 'idempotency-key': 'again' });
      expect((await again()).status).toBe(200);
      expect((await again()).status).toBe(200);
      await expect.poll(() => mine().length).toBe(2);
      for (const query of ['?status=SENT', '?limit=0', '?cursor=x'])
        expect((await who.ask('GET', `/deliveries${query}`)).status).toBe(400);
    });
  });

  describe('the stream', () => {
    /** Reads server-sent events until `count` of them have arrived, or the stream ends. */
    async function events(who: Caller, query: string, count: number, headers: Record<string, string> = {}) {
      const abort = new AbortController();
      const response = await fetch(`${world.url}/api/v1/monitoring/stream${query}`, {
        headers: { authorization: `Bearer ${who.key}`, ...headers },
        signal: abort.signal,
      });
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      const found: { id: string; event: string; data: unknown }[] = [];
      const decoder = new TextDecoder();
      let text = '';
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const read = (async () => {
        while (found.length < count) {
          const { value, done } = await reader.read();
          if (done) break;
          text += decoder.decode(value, { stream: true });
          const blocks = text.split('\n\n');
          text = blocks.pop() ?? '';
          for (const block of blocks) {
            if (block.startsWith(':')) continue;
            const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
            found.push({ id: field('id'), event: field('event'), data: JSON.parse(field('data')) });
          }
        }
        abort.abort();
        return found;
      })();
      return read;
    }

    it('sends changes as they happen, and from any id on', async () => {
      const who = await caller();
      const { id } = (await add(who, 1)).body.data.wallet;
      const coming = events(who, '', 2);
      await expect.poll(() => monitoring.service.streams.size).toBeGreaterThan(0);
      await raise(who, id, 'x');
      await who.ask('PATCH', `/wallets/${id}`, { label: 'L' });
      const live = await coming;
      expect(live.map(({ id: number, event }) => [number, event])).toEqual([
        ['2', 'alert.created'],
        ['3', 'wallet.updated'],
      ]);
      expect(live[1]?.data).toMatchObject({ wallet: { id, label: 'L' } });
      expect((await events(who, '?lastEventId=0', 3)).map(({ event }) => event)).toEqual([
        'wallet.created',
        'alert.created',
        'wallet.updated',
      ]);
      expect((await events(who, '', 1, { 'last-event-id': '2' })).map(({ id: number }) => number)).toEqual([
        '3',
      ]);
      expect((await who.ask('GET', '/stream?lastEventId=x')).status).toBe(400);
      await expect.poll(() => monitoring.service.streams.size).toBe(0);
    });

    it('sends no events of another account', async () => {
      const [owner, other] = [await caller(), await caller()];
      const { id } = (await add(owner, 1)).body.data.wallet;
      const theirs = events(other, '?lastEventId=0', 1);
      await raise(owner, id, 'x');
      const mine = (await add(other, 2)).body.data.wallet.id;
      expect(await theirs).toMatchObject([{ id: '1', data: { wallet: { id: mine } } }]);
    });

    const socketTo = (who: Caller | null, query = ''): WebSocket =>
      new WebSocket(`${world.url.replace('http', 'ws')}/api/v1/monitoring/stream${query}`, {
        headers: who === null ? {} : { authorization: `Bearer ${who.key}` },
      });

    it('is a WebSocket if the client requests an upgrade', async () => {
      const who = await caller();
      const { id } = (await add(who, 1)).body.data.wallet;
      await raise(who, id, 'x');
      const socket = socketTo(who, '?lastEventId=1');
      const messages: { id: string; event: string; data: unknown }[] = [];
      socket.on('message', (data) => messages.push(JSON.parse(String(data))));
      await expect.poll(() => messages.length).toBe(1);
      expect(messages[0]).toMatchObject({
        id: '2',
        event: 'alert.created',
        data: { alert: { walletId: id } },
      });
      await raise(who, id, 'y');
      await expect.poll(() => messages.length).toBe(2);
      socket.close();
      await expect.poll(() => monitoring.service.streams.size).toBe(0);
    });

    it('rejects a WebSocket without a key or with an unknown path like any request', async () => {
      const status = (socket: WebSocket) =>
        new Promise((resolve) => {
          socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
          socket.on('error', () => {});
        });
      expect(await status(socketTo(null))).toBe(401);
      expect(await status(new WebSocket(`${world.url.replace('http', 'ws')}/api/v1/nothing`))).toBe(404);
    });

    it('ends with its reason, as a complete response', async () => {
      const who = await caller();
      const response = await fetch(`${world.url}/api/v1/monitoring/stream`, {
        headers: { authorization: `Bearer ${who.key}` },
      });
      await expect.poll(() => monitoring.service.streams.size).toBe(1);
      monitoring.service.streams.close('The server is stopping.');
      // Rejects if a chunk is malformed, or the end is missing.
      expect(await response.text()).toBe(
        ': open\n\nevent: closed\ndata: {"reason":"The server is stopping."}\n\n',
      );
    });

    it('disconnects a slow reader with a reason, and buffers a limited amount for it', async () => {
      const who = await caller();
      const { id } = (await add(who, 1, { label: 'x'.repeat(MONITORING_LIMITS.walletLabelCharsMax) })).body
        .data.wallet;
      const socket = socketTo(who);
      await new Promise((resolve) => socket.once('open', resolve));
      const closed = new Promise<number>((resolve) => socket.once('close', resolve));
      socket.on('error', () => {});
      // Reads nothing more: further events fill the socket's buffers, then ours.
      (socket as unknown as { _socket: { pause(): void } })._socket.pause();
      await expect.poll(() => monitoring.service.streams.size).toBe(1);
      for (let i = 0; monitoring.service.streams.size > 0 && i < 400; i++)
        await monitoring.service.store.write((writer) => {
          const wallet = writer.wallet(who.accountId, id) as MonitoredWallet;
          for (let n = 0; n < 100; n++)
            writer.raise(
              wallet,
              {
                ruleId: 'SCAM-001',
                ruleName: 'r',
                severity: 'LOW',
                title: 't',
                message: 'm'.repeat(2_000),
                category: null,
                riskType: 'COUNTERPARTY',
                transaction: null,
                final: true,
              },
              `${i}-${n}`,
              null,
            );
        });
      expect(monitoring.service.streams.size).toBe(0);
      (socket as unknown as { _socket: { resume(): void } })._socket.resume();
      expect([1006, 1013]).toContain(await closed);
    });

    it('sends nothing more to a revoked key', async () => {
      const who = await caller();
      const { id } = (await add(who, 1)).body.data.wallet;
      const socket = socketTo(who);
      const messages: string[] = [];
      socket.on('message', (data) => messages.push(String(data)));
      await new Promise((resolve) => socket.once('open', resolve));
      await raise(who, id, 'before');
      await expect.poll(() => messages.length).toBe(1);
      const closed = new Promise<string>((resolve) =>
        socket.once('close', (_, reason) => resolve(String(reason))),
      );
      await world.access.keys.revoke(world.access.keys.list(who.accountId)[0]?.id ?? '');
      await raise(who, id, 'after');
      expect(await closed).toContain('not valid any more');
      expect(messages).toHaveLength(1);
      await expect.poll(() => monitoring.service.streams.size).toBe(0);
    });

    it('is limited in number per account', async () => {
      const who = await caller();
      const open = Array.from({ length: MONITORING_LIMITS.streamsPerAccountMax }, () => socketTo(who));
      await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('open', resolve))));
      expect((await who.ask('GET', '/stream')).status).toBe(400);
      for (const socket of open) socket.close();
      await expect.poll(() => monitoring.service.streams.size).toBe(0);
    });
  });
});
