/**
 * Monitoring as a user sees it: the built program beside a real node, with a receiver of webhooks. Tests the results of a payment, and what
 * remains true when the chain is reorganised, the program is stopped or killed in the middle, or a list changes.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { sleep } from '../support/wait.ts';
import { newWorld, type RunningServer, until, type World } from './program.ts';

const [PAYER, MIXER, LATE_SCAM] = ACCOUNTS;
const KEYS = 5;
/** Several pages of transactions, in ten blocks. */
const PAYMENTS = 400;

interface Received {
  readonly id: string;
  readonly path: string;
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  readonly data: any;
}

describe.runIf(hasAnvil)('monitoring with a real node', () => {
  let world: World;
  let anvil: Anvil;
  let server: RunningServer;
  let hook: Server;
  let hookUrl: string;
  let secret = '';
  let wallets = 0;
  let asked = 0;
  /** Longer than the program takes to send the next webhook, so that a kill hits one in flight. */
  let answerAfterMs = 0;
  const keys: string[] = [];
  const received: Received[] = [];
  const refused: string[] = [];

  const start = async (): Promise<void> => {
    server = await world.serve({
      ASSAY_RPC_ETH: `${anvil.url},${anvil.socketUrl}`,
      ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1',
    });
  };

  /** Each key may make 30 requests a minute: the keys take turns, and wait if that is not enough. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  async function ask(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(`${server.url}/api/v1/monitoring${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keys[asked++ % keys.length]}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { data: unknown };
    if (response.status === 429) {
      await sleep(Number(response.headers.get('retry-after')) * 1_000);
      return ask(method, path, body);
    }
    if (response.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  }

  /** Watches an address that was never used before. */
  async function watch(change: object = {}): Promise<{ id: string; address: string; hooks(): Received[] }> {
    const address = `0x${(0xa55a0000 + ++wallets).toString(16).padStart(40, '5')}`;
    const customWebhookUrl = `${hookUrl}/${wallets}`;
    const draft = { walletAddress: address, chain: 'ETH', customWebhookUrl, ...change };
    const { wallet } = await ask('POST', '/wallets', draft);
    const path = new URL(customWebhookUrl).pathname;
    return { id: wallet.id, address, hooks: () => received.filter((one) => one.path === path) };
  }

  async function pay(from: string, to: string, value = 10n ** 15n): Promise<string> {
    const hash = await anvil.send({ from, to, value });
    await anvil.mine();
    return hash;
  }

  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  async function transactionsOf(walletId: string): Promise<any[]> {
    const rows: unknown[] = [];
    for (;;) {
      const page = await ask('GET', `/wallets/${walletId}/transactions?limit=100&offset=${rows.length}`);
      rows.push(...page.transactions);
      if (page.transactions.length < 100) return rows;
    }
  }
  const alertsOf = async (walletId: string): Promise<{ id: string; riskType: string }[]> =>
    (await ask('GET', `/wallets/${walletId}/alerts?limit=100`)).alerts;

  async function label(address: string, category: string): Promise<void> {
    const file = join(world.folder, `${category}.csv`);
    const rows = `address,chain,entity,name,category\n${address},ETH,${category},The ${category},${category}\n`;
    writeFileSync(file, rows);
    for (const args of [
      ['import', 'own', file],
      ['index', 'build'],
    ]) {
      const { code, err } = await world.here(args);
      if (code !== 0) throw new Error(err);
    }
  }

  beforeAll(async () => {
    world = newWorld();
    anvil = await startAnvil();
    await anvil.mine();
    hook = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString();
        try {
          const { type, data } = new Webhook(secret).verify(
            body,
            request.headers as Record<string, string>,
          ) as Pick<Received, 'type' | 'data'>;
          received.push({ id: String(request.headers['webhook-id']), path: request.url ?? '', type, data });
        } catch (error) {
          refused.push(String(error));
        }
        setTimeout(() => response.writeHead(204).end(), answerAfterMs);
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`;
    await label(MIXER, 'MIXER');
    await start();
    keys.push(server.firstKey);
    while (keys.length < KEYS) {
      const made = await fetch(`${server.url}/api/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'more', permissions: ['monitoring'] }),
      });
      const answer = (await made.json()) as { data: { apiKey: string } };
      expect(made.status, JSON.stringify(answer)).toBe(200);
      keys.push(answer.data.apiKey);
    }
    const granted = await world.here(['credits', 'grant', 'local', '100', '--reason', 'tests']);
    if (granted.code !== 0) throw new Error(granted.err);
    secret = (await ask('POST', '/webhook-secret')).secret;
  });
  afterAll(async () => {
    await world?.end();
    await anvil?.stop();
    await new Promise((resolve) => hook?.close(resolve));
  });

  it('turns a payment from a labelled mixer into a stored alert and a signed webhook, then a final one', async () => {
    const wallet = await watch();
    const hash = await pay(MIXER, wallet.address);
    await until(() => wallet.hooks().length > 0);
    const [alert] = await alertsOf(wallet.id);
    expect(alert).toMatchObject({
      ruleId: 'MIXING-001',
      category: 'MIXER',
      final: false,
      transaction: {
        hash,
        direction: 'in',
        counterparty: { address: MIXER.toLowerCase(), entity: { name: 'The MIXER' } },
        asset: 'ETH',
        amount: '0.001',
      },
    });
    expect(wallet.hooks()[0]).toMatchObject({ type: 'alert.created', data: { alert: { id: alert?.id } } });
    await anvil.mine(32);
    await until(() => wallet.hooks().length > 1);
    expect(wallet.hooks()[1]).toMatchObject({
      type: 'alert.updated',
      data: { alert: { id: alert?.id, final: true } },
    });
    expect(refused).toEqual([]);

    const height = Number(await anvil.rpc<string>('eth_blockNumber'));
    let metrics = '';
    for (const line of [
      'assay_deliveries_waiting 0',
      'assay_monitoring_wallets 1',
      'assay_monitoring_following{chain="ETH"} 1',
      `assay_monitoring_height{chain="ETH"} ${height}`,
    ])
      await until(async () => {
        metrics = await (await fetch(`${server.url}/metrics`)).text();
        return metrics.includes(`${line}\n`);
      });
    expect(metrics).toMatch(/^assay_monitoring_lag_seconds\{chain="ETH"\} \d/m);
    const ready = (await (await fetch(`${server.url}/ready`)).json()) as { data: unknown };
    expect(ready.data).toMatchObject({ monitoring: [{ chain: 'ETH', state: 'FOLLOWING', height }] });
  });

  it('stores exactly one transaction for each of many payments, some of them in reverted blocks', async () => {
    const wallet = await watch({ enabledRules: ['MIXING-001'] });
    const first = Number(await anvil.rpc<string>('eth_blockNumber')) + 1;
    /** Lists the payments that are on the chain now. */
    async function standing(): Promise<Set<string>> {
      const hashes = new Set<string>();
      const last = Number(await anvil.rpc<string>('eth_blockNumber'));
      for (let height = first; height <= last; height++) {
        const block = await anvil.rpc<{ transactions: { hash: string; to: string | null }[] }>(
          'eth_getBlockByNumber',
          `0x${height.toString(16)}`,
          true,
        );
        for (const { hash, to } of block.transactions) if (to === wallet.address) hashes.add(hash);
      }
      return hashes;
    }
    let reorgs = 0;
    for (;;) {
      const missing = PAYMENTS - (await standing()).size;
      if (missing === 0) break;
      // Each has a value of its own, so a repeated payment is a different transaction.
      for (let i = 0; i < Math.min(missing, PAYMENTS / 10); i++)
        await anvil.send({ from: PAYER, to: wallet.address, value: BigInt(1 + reorgs * 1_000 + i) });
      await anvil.mine();
      if ([4, 8].includes((10 * (PAYMENTS - missing)) / PAYMENTS) && reorgs < 2) {
        reorgs++;
        const height = Number(await anvil.rpc<string>('eth_blockNumber'));
        await until(async () => (await ask('GET', `/wallets/${wallet.id}`)).wallet.transactionCount >= 100);
        await anvil.reorg(2);
        await anvil.mine();
        expect(Number(await anvil.rpc<string>('eth_blockNumber'))).toBe(height + 1);
      }
    }
    expect(reorgs).toBe(2);
    const wanted = [...(await standing())].sort();
    await until(async () => {
      const { transactions } = await ask('GET', `/wallets/${wallet.id}/transactions?limit=1`);
      return transactions.length > 0 && wanted.includes(transactions[0].hash) && !transactions[0].reorged;
    });
    const countedIn = (rows: readonly { readonly hash: string; readonly reorged: boolean }[]): string[] =>
      rows.filter(({ reorged }) => !reorged).map(({ hash }) => hash);
    // While rows are added, a page may repeat rows of the page before it: those of the loop are not counted.
    while (new Set(countedIn(await transactionsOf(wallet.id))).size < PAYMENTS) await sleep(1_000);
    const rows = await transactionsOf(wallet.id);
    const counted = countedIn(rows);
    expect(counted.sort()).toEqual(wanted);
    expect(wanted.length).toBe(PAYMENTS);
    // Both reorgs reverted blocks that had been read.
    expect(rows.some(({ reorged }) => reorged)).toBe(true);
  });

  it('pauses at once, and skips payments during the pause, even if no other wallet watches the chain', async () => {
    const { wallets: all } = await ask('GET', '/wallets');
    for (const { id, status } of all)
      if (status === 'ACTIVE') await ask('PATCH', `/wallets/${id}`, { status: 'PAUSED' });
    const wallet = await watch();
    const seen = await pay(MIXER, wallet.address);
    await until(() => wallet.hooks().length > 0);
    await ask('PATCH', `/wallets/${wallet.id}`, { status: 'PAUSED' });
    await pay(MIXER, wallet.address);
    await ask('PATCH', `/wallets/${wallet.id}`, { status: 'ACTIVE' });
    const after = await pay(MIXER, wallet.address);
    await until(() => wallet.hooks().length > 1);
    const hashes = (await transactionsOf(wallet.id)).map(({ hash }) => hash);
    expect(hashes).toEqual([after, seen]);
    expect(await alertsOf(wallet.id)).toHaveLength(2);
  });

  it('adds wallets on the command line that the running server watches, lists them and their alerts, and follows both', async () => {
    const address = `0x${'c1'.repeat(20)}`;
    const monitor = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await world.run(['monitor', ...args], {
        environment: { ASSAY_RPC_ETH: anvil.url, ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1' },
        input: `${keys[1]}\n`,
      });
      if (code !== 0) throw new Error(err);
      return out;
    };
    const added = JSON.parse(
      await monitor('add', 'ETH', address, '--label', 'Desk', '--webhook', `${hookUrl}/command`, '--json'),
    );
    expect(added).toMatchObject({ walletAddress: address, chain: 'ETH', status: 'ACTIVE', label: 'Desk' });
    expect(JSON.parse(await monitor('list', '--search', 'desk', '--json'))).toMatchObject([{ id: added.id }]);
    await pay(MIXER, address);
    await until(() => received.some(({ path }) => path === '/command'));
    const { alerts, total } = JSON.parse(await monitor('alerts', '--wallet', added.id, '--json'));
    expect(total).toBe(1);
    expect(alerts[0]).toMatchObject({
      ruleId: 'MIXING-001',
      wallet: { walletAddress: address, label: 'Desk' },
    });
    expect(await monitor('alerts', '--wallet', added.id)).toContain('Received from The MIXER');
    const lines = (await monitor('tail', '--from', '0', '--count', '3', '--json')).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(['1', '2', '3']);
    const streamed = await monitor(
      'tail',
      '--from',
      '0',
      '--count',
      '3',
      '--json',
      '--url',
      server.url,
      '--key',
      '-',
    );
    expect(streamed.trim().split('\n')).toEqual(lines);
    await expect(monitor('add', 'BTC', address)).rejects.toThrow(/chain: BTC is not monitored/);
    await expect(monitor('add', 'ETH', address, '--account', 'nobody')).rejects.toThrow(
      /there is no account/,
    );
    await expect(monitor('tail', '--url', server.url, '--key', 'wrong')).rejects.toThrow(/answered 401/);
  });

  it('keeps the history of a deleted wallet, and adds nothing to it', async () => {
    const wallet = await watch();
    const other = await watch();
    const hash = await pay(MIXER, wallet.address);
    await until(() => wallet.hooks().length > 0);
    await ask('DELETE', `/wallets/${wallet.id}`);
    await pay(MIXER, wallet.address);
    await pay(MIXER, other.address);
    await until(() => other.hooks().length > 0);
    const detail = (await ask('GET', `/wallets/${wallet.id}`)).wallet;
    expect(detail).toMatchObject({ status: 'DELETED', alertCount: 1, transactionCount: 1 });
    expect((await transactionsOf(wallet.id)).map((one) => one.hash)).toEqual([hash]);
    expect(await alertsOf(wallet.id)).toHaveLength(1);
  });

  it('reads the blocks of a downtime at the next start', async () => {
    const wallet = await watch();
    expect(await server.stop()).toBe(0);
    const hashes = [await pay(MIXER, wallet.address)];
    await anvil.mine(10);
    hashes.push(await pay(MIXER, wallet.address), await pay(MIXER, wallet.address));
    await start();
    await until(() => wallet.hooks().filter(({ type }) => type === 'alert.created').length === 3);
    expect((await transactionsOf(wallet.id)).map(({ hash }) => hash)).toEqual(hashes.reverse());
  });

  it('loses nothing if it is killed, and repeats at most one delivery, with the same id', async () => {
    const wallet = await watch();
    answerAfterMs = 30;
    const created = (): Received[] => wallet.hooks().filter(({ type }) => type === 'alert.created');
    const hashes: string[] = [];
    const paying = (async () => {
      for (let i = 0; i < 40; i++) {
        hashes.push(await pay(MIXER, wallet.address));
        await sleep(20);
      }
    })();
    for (const count of [8, 20]) {
      await until(() => created().length >= count);
      await server.stop('SIGKILL');
      await start();
    }
    await paying;
    const alertIds = (): Set<string> => new Set(created().map(({ data }) => data.alert.id));
    await until(() => alertIds().size >= 40);
    await sleep(1_000);
    answerAfterMs = 0;
    const rows = await transactionsOf(wallet.id);
    expect(rows.map(({ hash }) => hash)).toEqual(hashes.reverse());
    const alerts = await alertsOf(wallet.id);
    expect(alerts).toHaveLength(40);
    expect([...alertIds()].sort()).toEqual(alerts.map(({ id }) => id).sort());
    // Two kills: at most one duplicate each.
    expect(created().length - alertIds().size).toBeLessThanOrEqual(2);
    expect(new Set(created().map(({ id }) => id)).size).toBe(40);
  });

  it('raises an alert about an earlier counterparty if a list changes, also across a restart', async () => {
    const wallet = await watch();
    await pay(LATE_SCAM, wallet.address);
    await until(async () => (await ask('GET', `/wallets/${wallet.id}`)).wallet.transactionCount === 1);
    expect(wallet.hooks()).toEqual([]);
    await label(LATE_SCAM, 'SCAM');
    await until(() => wallet.hooks().length > 0);
    const [alert] = await alertsOf(wallet.id);
    expect(alert).toMatchObject({
      riskType: 'LIST_CHANGE',
      ruleId: 'SCAM-001',
      final: true,
      transaction: null,
    });
    expect(await server.stop()).toBe(0);
    await start();
    const marker = await pay(LATE_SCAM, wallet.address);
    await until(async () => (await alertsOf(wallet.id)).length === 2);
    expect((await alertsOf(wallet.id)).filter(({ riskType }) => riskType === 'LIST_CHANGE')).toHaveLength(1);
    expect((await transactionsOf(wallet.id))[0].hash).toBe(marker);
    expect(refused).toEqual([]);
  });
});
