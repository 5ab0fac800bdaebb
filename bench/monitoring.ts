/**
 * Monitoring with a million watched wallets: transfers matched on one core and the memory for it, compared with a Map of texts; 10,000
 * wallets listed with filters; 100,000 alerts paged; deliveries to many receivers; and, if a node is installed, the time from a block to
 * the webhook of the built program.
 * Run: node --expose-gc dist/bench/monitoring.js [--watched N] [--alerts N] [--payments N] [--no-save]
 */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { createOutboundAgent } from '../src/base/outbound.ts';
import { seededUint32, systemRandom } from '../src/base/random.ts';
import type { Block } from '../src/chains/block.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { alertAnswer, walletAnswer, walletText } from '../src/monitoring/answers.ts';
import { matchBlock } from '../src/monitoring/block-evidence.ts';
import { createDispatcher } from '../src/monitoring/delivery/dispatcher.ts';
import { DELIVERY_LIMITS } from '../src/monitoring/delivery/limits.ts';
import { createSenders } from '../src/monitoring/delivery/senders.ts';
import { type MonitoredWallet, RULE_IDS, SEVERITIES } from '../src/monitoring/records.ts';
import type { AlertDraft, MonitoringStore } from '../src/monitoring/store.ts';
import { openMonitoringStore } from '../src/monitoring/store-lmdb.ts';
import { buildWatchTable, type WatchTable } from '../src/monitoring/watch-table.ts';
import { createEncryption } from '../src/state/encryption.ts';
import { newWorld } from '../test/e2e/program.ts';
import { ACCOUNTS, hasAnvil, startAnvil } from '../test/setup/anvil.ts';
import { argument, type BenchReport, type BenchRow, heldBytes, publish, report, row } from './harness.ts';

export interface MonitoringBenchOptions {
  readonly watched: number;
  readonly alerts: number;
  readonly payments: number;
}

const BLOCKS = 500;
const TRANSFERS_A_BLOCK = 400;
/** One transfer in this many is of a watched wallet. */
const MATCH_EVERY = 50;
const ROUNDS = 5;
const LISTED_WALLETS = 10_000;
const LIST_CALLS = 2_000;
/** Calls before the measured ones, so that compilation is not measured. */
const WARM_UP = 100;
/** More alerts are on disk: 0.8 KB each with their indexes. */
const ALERTS_IN_MEMORY = 1_000_000;
const RECEIVERS = 50;
const DELIVERIES = 5_000;

const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;
};
const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Pseudorandom addresses, like real hashes. */
function addressOf(n: number): string {
  const next = seededUint32(n + 1);
  let text = '';
  while (text.length < 40) text += next().toString(16).padStart(8, '0');
  return `0x${text.slice(0, 40)}`;
}

function* watchedWallets(count: number) {
  for (let n = 0; n < count; n++)
    yield {
      chain: 'ETH' as const,
      walletAddress: addressOf(n),
      accountId: `account-${n % 1_000}`,
      walletId: n.toString(32).padStart(26, '0'),
    };
}

function blocksOf(watched: number): Block[] {
  const next = seededUint32(99);
  const anybody = (): string => addressOf(watched + (next() % 1_000_000));
  return Array.from({ length: BLOCKS }, (_, height) => ({
    chain: 'ETH' as const,
    height,
    hash: `b${height}`,
    parentHash: null,
    timestampMs: 0,
    transfers: Array.from(
      { length: TRANSFERS_A_BLOCK },
      (_, i): Transfer => ({
        chain: 'ETH',
        txHash: `0x${height}.${i}`,
        position: 'value',
        blockNumber: height,
        timestampMs: 0,
        from: anybody(),
        to: i % MATCH_EVERY === 0 ? addressOf(next() % watched) : anybody(),
        asset: 'ETH',
        amount: 1n,
        decimals: 18,
        valueUsd: 1,
      }),
    ),
  }));
}

function matchRows(options: MonitoringBenchOptions): BenchRow[] {
  const blocks = blocksOf(options.watched);
  const expected = BLOCKS * Math.ceil(TRANSFERS_A_BLOCK / MATCH_EVERY);
  const perSecond = (match: (block: Block) => number): number => {
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const startedMs = systemClock.monotonic();
      let matched = 0;
      for (const block of blocks) matched += match(block);
      rates.push(((BLOCKS * TRANSFERS_A_BLOCK) / (systemClock.monotonic() - startedMs)) * 1_000);
      if (matched !== expected) throw new Error(`${matched} transfers matched, ${expected} should.`);
    }
    return median(rates);
  };

  const empty = heldBytes();
  const startedMs = systemClock.monotonic();
  const table: WatchTable = buildWatchTable(watchedWallets(options.watched));
  const buildMs = systemClock.monotonic() - startedMs;
  const tableBytes = heldBytes() - empty;
  // A copy, because a block that was read before is not read again.
  const tableRate = perSecond((block) => matchBlock('ETH', { ...block }, table).length);
  const last = {
    ...[...watchedWallets(1)][0],
    walletAddress: addressOf(-2),
    walletId: 'z'.repeat(26),
  } as const;
  const changes = 100_000;
  const changedMs = systemClock.monotonic();
  for (let i = 0; i < changes; i++)
    table.apply({
      chain: 'ETH',
      accountId: 'account-0',
      walletAddress: last.walletAddress,
      walletId: last.walletId,
      isActive: i % 2 === 0,
    });
  const changeUs = ((systemClock.monotonic() - changedMs) / changes) * 1_000;
  if (table.size !== options.watched) throw new Error('The table has another size than what was put in.');

  const beforeMap = heldBytes();
  const map = new Map<string, { accountId: string; walletId: string }[]>();
  for (const { walletAddress, accountId, walletId } of watchedWallets(options.watched)) {
    const known = map.get(walletAddress);
    if (known === undefined) map.set(walletAddress, [{ accountId, walletId }]);
    else known.push({ accountId, walletId });
  }
  const mapBytes = heldBytes() - beforeMap;
  const mapRate = perSecond((block) => {
    const found: unknown[] = [];
    for (const transfer of block.transfers) {
      for (const watcher of map.get(transfer.from?.toLowerCase() ?? '') ?? [])
        found.push({ watcher, transfer });
      for (const watcher of map.get(transfer.to?.toLowerCase() ?? '') ?? [])
        found.push({ watcher, transfer });
    }
    return found.length;
  });
  const MB = 2 ** 20;
  return [
    row('transfers matched', tableRate, '1/s', { atLeast: 50_000 }, mapRate),
    row('memory of the table', tableBytes / MB, 'MB', { atMost: 200 }, mapBytes / MB),
    row('table built anew, its addresses made on the way', buildMs, 'ms'),
    row('one wallet more or less', changeUs, 'µs'),
  ];
}

const draft = (
  n: number,
  accountId: string,
  webhook: string | null,
): Parameters<MonitoringStore['addWallet']>[0] => ({
  accountId,
  chain: n % 3 === 0 ? 'BSC' : 'ETH',
  walletAddress: addressOf(n),
  label: n % 5 === 0 ? null : `Desk number ${n}`,
  riskScore: 10,
  riskLevel: 'LOW',
  enabledRules: RULE_IDS,
  customWebhookUrl: webhook,
  alertThreshold: 'all',
  alertFrequency: 'realtime',
  notes: null,
  watchFromHeight: 1,
});

const finding = (n: number): AlertDraft => ({
  ruleId: 'MIXING-001',
  ruleName: 'Interaction with a mixing service',
  severity: SEVERITIES[n % 4] as (typeof SEVERITIES)[number],
  title: 'Received from a mixer',
  message: 'Received from a mixer. It is labelled mixer.',
  category: 'MIXER',
  riskType: 'COUNTERPARTY',
  final: true,
  transaction: {
    hash: `0x${n.toString(16).padStart(64, '0')}`,
    blockNumber: n,
    direction: 'in',
    counterparty: { address: addressOf(n), entity: null },
    asset: 'ETH',
    amount: '1.5',
    amountUsd: 4_500,
    timestampMs: 1_700_000_000_000,
  },
});

/** Milliseconds of each call. The event loop turns between them, as between requests: otherwise timers and the garbage of all calls pile up. */
async function timed(calls: number, one: (call: number) => string): Promise<number[]> {
  const taken: number[] = [];
  for (let call = 0; call < Math.min(WARM_UP, calls); call++) one(call);
  for (let call = 0; call < calls; call++) {
    const startedMs = systemClock.monotonic();
    if (one(call).length === 0) throw new Error('An empty answer.');
    taken.push(systemClock.monotonic() - startedMs);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return taken;
}

async function listRows(store: MonitoringStore, options: MonitoringBenchOptions): Promise<BenchRow[]> {
  const added: MonitoredWallet[] = [];
  for (let from = 0; from < LISTED_WALLETS; from += 1_000)
    added.push(
      ...(await Promise.all(
        Array.from({ length: 1_000 }, (_, i) =>
          store.addWallet(draft(from + i, 'lists', 'https://hooks.example.org/alerts'), LISTED_WALLETS),
        ),
      )),
    );
  const filters = [
    { includeDeleted: false },
    { includeDeleted: false, chain: 'BSC' as const },
    { includeDeleted: true, status: 'ACTIVE' as const },
    { includeDeleted: false, search: 'desk number 99' },
  ];
  const page = (call: number) => ({ limit: 1_000, offset: (call % 5) * 1_000 });
  const lists = await timed(LIST_CALLS, (call) => {
    const { wallets, total } = store.wallets(
      'lists',
      filters[call % filters.length] as { includeDeleted: boolean },
      page(call),
    );
    return `{"wallets":[${wallets.map(walletText).join(',')}],"total":${total}}`;
  });
  // The simple way: parse all records from their JSON texts at each call, like a table without an index and a cache.
  const texts = added.map((wallet) => JSON.stringify(wallet));
  const control = await timed(60, (call) => {
    const all = texts.map((text) => JSON.parse(text) as MonitoredWallet);
    const found = all.filter(({ chain }) => call % 2 === 0 || chain === 'BSC');
    const { limit, offset } = page(call);
    return JSON.stringify({
      wallets: found.slice(offset, offset + limit).map(walletAnswer),
      total: found.length,
    });
  });

  for (let from = 0; from < options.alerts; from += 5_000)
    await store.write((writer) => {
      for (let n = from; n < Math.min(options.alerts, from + 5_000); n++) {
        // No notifications: only lists are measured.
        const wallet = {
          ...(added[n % LISTED_WALLETS] as MonitoredWallet),
          alertThreshold: 'critical',
          customWebhookUrl: null,
        } as const;
        writer.raise(wallet, finding(n), `cause ${n}`, null);
      }
    });
  const wanted = [
    {},
    { severity: 'HIGH' as const },
    { status: 'NEW' as const, severity: 'LOW' as const },
    { walletIds: [added[7]?.id ?? ''] },
  ];
  const pages = await timed(LIST_CALLS, (call) => {
    const filter = wanted[call % wanted.length] as { walletIds?: string[] };
    const { alerts, total } = store.alerts('lists', filter, {
      limit: 100,
      offset: filter.walletIds ? 0 : (call * 977) % (options.alerts / 5),
    });
    if (alerts.length === 0 || total === 0) throw new Error('A page without alerts.');
    return JSON.stringify({ alerts: alerts.map(alertAnswer), total });
  });
  return [
    row(
      '10,000 wallets listed with filters, p99',
      quantile(lists, 0.99),
      'ms',
      { atMost: 10 },
      quantile(control, 0.99),
    ),
    row('alerts paged with filters, p50', quantile(pages, 0.5), 'ms'),
    row('alerts paged with filters, p99', quantile(pages, 0.99), 'ms', { atMost: 10 }),
  ];
}

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  );
const closed = (server: Server): Promise<unknown> => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
};

/**
 * Sends pending messages to several receivers, in turn with two controls that send as many bytes and store nothing: Node's client, and
 * undici alone.
 */
async function deliveryRows(store: MonitoringStore): Promise<BenchRow[]> {
  let taken = 0;
  let bytes = 0;
  const receivers = Array.from({ length: RECEIVERS }, () =>
    // Connections stay open between the rounds of each sender.
    createServer({ keepAliveTimeout: 0 }, (request, response) => {
      request.on('data', (part: Buffer) => {
        bytes += part.length;
      });
      request.on('end', () => {
        taken++;
        response.writeHead(204).end();
      });
    }),
  );
  const urls = await Promise.all(receivers.map(listen));
  await store.channels.rotateSecret('deliveries');
  const wallets = await Promise.all(
    Array.from({ length: RECEIVERS * 10 }, (_, n) =>
      store.addWallet(draft(n, 'deliveries', `${urls[n % RECEIVERS]}/`), LISTED_WALLETS),
    ),
  );
  const policy = { trustedHosts: new Set(['127.0.0.1']) };
  const newAgent = () =>
    createOutboundAgent({
      policy,
      timeouts: { connectMs: 15_000, headersMs: 15_000, stallMs: 15_000 },
      connections: DELIVERY_LIMITS.deliveriesInFlightMax,
    });
  const agent = newAgent();
  // Connections of its own, so that those of both have been idle for as long when their rounds begin.
  const bareUndici = newAgent();
  const senders = createSenders({
    channels: store.channels,
    agent: () => agent,
    policy,
    mailer: null,
    clock: systemClock,
    telegramApi: 'https://api.telegram.org',
  });
  const dispatcher = createDispatcher({
    outbox: store.outbox,
    senders,
    clock: systemClock,
    log: silentLogger,
  });
  const bare = new Agent({ keepAlive: true, maxSockets: DELIVERY_LIMITS.deliveriesPerReceiverMax });
  const byNode = (url: string, body: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(url, { method: 'POST', agent: bare }, (response) => {
        response.resume().on('end', resolve);
      });
      sent.on('error', reject).end(body);
    });
  const byUndici = async (origin: string, body: string): Promise<void> => {
    const { body: answered } = await bareUndici.request({ origin, path: '/', method: 'POST', body });
    await answered.dump();
  };

  /** Deliveries a second of `send`. */
  const rateOf = async (send: () => Promise<unknown>): Promise<number> => {
    taken = 0;
    bytes = 0;
    // The garbage of raising the alerts is not part of sending them.
    globalThis.gc?.();
    const startedMs = systemClock.monotonic();
    await send();
    const perSecond = (DELIVERIES / (systemClock.monotonic() - startedMs)) * 1_000;
    if (taken !== DELIVERIES) throw new Error(`${taken} of ${DELIVERIES} messages arrived.`);
    return perSecond;
  };
  /** As many requests in flight as the dispatcher has. */
  const controlOf = (post: (url: string, body: string) => Promise<void>, body: string) => () => {
    let next = 0;
    const line = async (): Promise<void> => {
      while (next < DELIVERIES) await post(urls[next++ % RECEIVERS] as string, body);
    };
    return Promise.all(Array.from({ length: RECEIVERS * DELIVERY_LIMITS.deliveriesPerReceiverMax }, line));
  };
  const rates: Record<'own' | 'node' | 'undici', number[]> = { own: [], node: [], undici: [] };
  for (let round = 0; round <= ROUNDS; round++) {
    await store.write((writer) => {
      for (let n = 0; n < DELIVERIES; n++)
        writer.raise(wallets[n % wallets.length] as MonitoredWallet, finding(n), `cause ${round}.${n}`, null);
    });
    const own = await rateOf(() => dispatcher.runDue());
    const body = 'x'.repeat(Math.round(bytes / DELIVERIES));
    const node = await rateOf(controlOf(byNode, body));
    const undici = await rateOf(controlOf(byUndici, body));
    // The first round compiles the code of all three.
    if (round === 0) continue;
    rates.own.push(own);
    rates.node.push(node);
    rates.undici.push(undici);
  }
  await dispatcher.stop();
  await agent.destroy();
  await bareUndici.destroy();
  bare.destroy();
  await Promise.all(receivers.map(closed));
  const own = median(rates.own);
  return [
    row(
      `deliveries to ${RECEIVERS} receivers, beside Node's client alone`,
      own,
      '1/s',
      { atLeast: 0.7, of: 'ratio' },
      median(rates.node),
    ),
    row('  beside undici alone', own, '1/s', null, median(rates.undici)),
  ];
}

/** From the command that makes a block to the complete webhook, through the built program. The node's own work is included. */
async function receiptRows(payments: number): Promise<BenchRow[]> {
  const [, mixer] = ACCOUNTS;
  const world = newWorld();
  const anvil = await startAnvil();
  const arrivals = new Map<string, number>();
  const hook = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { data } = JSON.parse(Buffer.concat(parts).toString()) as {
        data: { alert: { transaction: { hash: string } } };
      };
      arrivals.set(data.alert.transaction.hash, systemClock.monotonic());
      response.writeHead(204).end();
    });
  });
  try {
    await anvil.mine();
    const hookUrl = await listen(hook);
    const labels = join(world.folder, 'mixer.csv');
    writeFileSync(labels, `address,chain,entity,name,category\n${mixer},ETH,m,The Mixer,MIXER\n`);
    for (const args of [
      ['import', 'own', labels],
      ['index', 'build'],
    ])
      if ((await world.run(args)).code !== 0) throw new Error(`assay ${args.join(' ')} failed.`);
    const server = await world.serve({
      ASSAY_RPC_ETH: `${anvil.url},${anvil.socketUrl}`,
      ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1',
    });
    const wallet = addressOf(1);
    const answer = await fetch(`${server.url}/api/v1/monitoring/wallets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ walletAddress: wallet, chain: 'ETH', customWebhookUrl: hookUrl }),
    });
    if (answer.status !== 200) throw new Error(await answer.text());
    const taken: number[] = [];
    for (let n = 0; n < payments; n++) {
      const hash = await anvil.send({ from: mixer, to: wallet, value: 10n ** 16n + BigInt(n) });
      const startedMs = systemClock.monotonic();
      await anvil.mine();
      while (!arrivals.has(hash)) {
        if (systemClock.monotonic() - startedMs > 30_000) throw new Error(`No webhook for ${hash}.`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      taken.push((arrivals.get(hash) as number) - startedMs);
    }
    await server.stop();
    return [
      row('block to webhook, p50', quantile(taken, 0.5), 'ms'),
      row('block to webhook, p99', quantile(taken, 0.99), 'ms', { atMost: 1_000 }),
    ];
  } finally {
    await world.end();
    await anvil.stop();
    await closed(hook);
  }
}

export async function runMonitoringBench(options: MonitoringBenchOptions): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const isInMemory = existsSync('/dev/shm') && options.alerts <= ALERTS_IN_MEMORY;
  const folder = mkdtempSync(join(isInMemory ? '/dev/shm' : tmpdir(), 'assay-bench-monitoring-'));
  const path = join(folder, 'monitoring.lmdb');
  const store = openMonitoringStore(
    { path },
    {
      clock: systemClock,
      random: systemRandom,
      encryption: createEncryption(new Uint8Array(32), systemRandom),
    },
  );
  try {
    const rows = [
      ...matchRows(options),
      ...(await listRows(store, options)),
      row('alerts on disk', statSync(path).size / 2 ** 20, 'MB'),
      ...(await deliveryRows(store)),
      ...(hasAnvil && options.payments > 0 ? await receiptRows(options.payments) : []),
    ];
    const subject = {
      'watched wallets': options.watched,
      transfers: BLOCKS * TRANSFERS_A_BLOCK,
      'of watched wallets': `1 in ${MATCH_EVERY}`,
      alerts: options.alerts,
      deliveries: DELIVERIES,
      payments: hasAnvil ? options.payments : 0,
      store: isInMemory ? 'in memory' : 'on disk',
    };
    return report('monitoring', startedAt, subject, rows);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await runMonitoringBench({
    watched: argument('--watched', 1_000_000),
    alerts: argument('--alerts', 100_000),
    payments: argument('--payments', 200),
  });
  publish(bench);
}
