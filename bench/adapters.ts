/**
 * Chains read live, from an anvil and a litecoind that this benchmark starts: transfers per second into the graph, the time from a block to
 * its transfers in the graph, memory over 10,000 blocks, and the cost of importing each chain library.
 * Run: node dist/bench/adapters.js [--blocks N]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'undici';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { parseEndpoint } from '../src/chains/endpoints/endpoints.ts';
import { openAdapter } from '../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../src/chains/families/port.ts';
import { openAdapter as openUtxoAdapter } from '../src/chains/families/utxo/adapter.ts';
import { createLiveIngest } from '../src/graph/ingest/live.ts';
import { openTransferStore, type TransferStore } from '../src/graph/store.ts';
import { openOutputsStore } from '../src/graph/utxo/outputs-store.ts';
import { ACCOUNTS, type Anvil, callData, startAnvil } from '../test/setup/anvil.ts';
import { hasLitecoind, startLitecoind } from '../test/setup/litecoind.ts';
import { argument, type BenchReport, type BenchRow, publish, report, row, runChild } from './harness.ts';

const IMPORTER = fileURLToPath(new URL('import-time.js', import.meta.url));
const LIBRARIES = ['ethers', 'bitcoinjs-lib', '@solana/web3.js', 'tronweb'];
/** Tokens moved by one transaction, and transactions in one block: 2,000 transfers, ten times a block of Ethereum. */
const SPRAYED = 200;
const SPRAYS_PER_BLOCK = 10;
const BUSY_BLOCKS = 20;
const LIVE_BLOCKS = 300;
/**
 * Addresses that one transaction of a UTXO chain pays, such transactions in a block (a full block of Litecoin has 2,000 outputs), and
 * blocks.
 */
const PAID = 200;
const SENDS_PER_BLOCK = 10;
const UTXO_BLOCKS = 10;

function open(url: string): ChainAdapter {
  const rpc = [parseEndpoint(url, { field: 'rpc', defaultLayout: 'json-rpc', own: true })];
  return openAdapter(
    { chain: 'ETH', rpc, history: [], quorum: 1, offchainNames: false },
    { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
  );
}

async function inStore<T>(work: (store: TransferStore, folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-adapters-'));
  const store = openTransferStore({ path: folder, readOnly: false });
  try {
    return await work(store, folder);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const noOutputs = (): never => {
  throw new Error('This chain has no outputs.');
};

/** Full blocks that are already mined: transfers per second from the node into the graph. */
async function measureIngest(anvil: Anvil, from: number): Promise<number> {
  return inStore(async (store) => {
    const adapter = open(anvil.url);
    const ingest = createLiveIngest({ transfers: store, outputs: noOutputs });
    const ending = new AbortController();
    const startedAt = systemClock.monotonic();
    let transfers = 0;
    let blocks = 0;
    for await (const event of adapter.subscribe(
      { fromHeight: from, known: [] },
      { signal: ending.signal, budgetMs: 60_000 },
    )) {
      transfers += await ingest.apply('ETH', event);
      if (++blocks === BUSY_BLOCKS) break;
    }
    const seconds = (systemClock.monotonic() - startedAt) / 1000;
    await adapter.close();
    return transfers / seconds;
  });
}

/** The same from a UTXO node, including outputs and their spends. */
async function measureUtxoIngest(): Promise<number> {
  const node = await startLitecoind();
  try {
    await node.mine(101 + UTXO_BLOCKS * SENDS_PER_BLOCK);
    const from = (await node.rpc<number>('getblockcount')) + 1;
    const payees: string[] = [];
    while (payees.length < PAID) payees.push(await node.rpc<string>('getnewaddress'));
    const payments = Object.fromEntries(payees.map((address) => [address, 0.001]));
    for (let block = 0; block < UTXO_BLOCKS; block++) {
      for (let send = 0; send < SENDS_PER_BLOCK; send++) await node.rpc('sendmany', '', payments);
      await node.mine();
    }
    return await inStore(async (store, folder) => {
      const outputs = openOutputsStore({ path: folder, readOnly: false });
      const adapter = openUtxoAdapter(
        {
          chain: 'LTC',
          rpc: [parseEndpoint(node.url, { field: 'rpc', defaultLayout: 'json-rpc', own: true })],
          history: [],
          quorum: 1,
          offchainNames: false,
        },
        { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
      );
      const ingest = createLiveIngest({ transfers: store, outputs: () => outputs });
      const ending = new AbortController();
      const startedAt = systemClock.monotonic();
      let transfers = 0;
      let blocks = 0;
      for await (const event of adapter.subscribe(
        { fromHeight: from, known: [] },
        { signal: ending.signal, budgetMs: 60_000 },
      )) {
        transfers += await ingest.apply('LTC', event);
        if (++blocks === UTXO_BLOCKS) break;
      }
      const seconds = (systemClock.monotonic() - startedAt) / 1000;
      await adapter.close();
      await outputs.close();
      return transfers / seconds;
    });
  } finally {
    await node.stop();
  }
}

/** Sorted milliseconds from the node's announcement of a block until its transfers are on disk. */
async function measureArrival(anvil: Anvil, token: string): Promise<number[]> {
  return inStore(async (store) => {
    const adapter = open(anvil.socketUrl);
    const ingest = createLiveIngest({ transfers: store, outputs: noOutputs });
    const ending = new AbortController();
    const { height } = await adapter.head({ signal: ending.signal, budgetMs: 10_000 });
    let stored: (height: number) => void = () => {};
    const following = (async () => {
      for await (const event of adapter.subscribe(
        { fromHeight: height + 1, known: [] },
        { signal: ending.signal, budgetMs: 10_000 },
      )) {
        await ingest.apply('ETH', event);
        if (event.type === 'block') stored(event.block.height);
      }
    })();
    // Another client of the same node: its notification gives the time of the block.
    const announced = new Map<number, number>();
    const listener = new WebSocket(anvil.socketUrl);
    await new Promise<void>((resolve) => listener.addEventListener('open', () => resolve()));
    listener.addEventListener('message', ({ data }) => {
      const at = systemClock.monotonic();
      const { params } = JSON.parse(String(data)) as { params?: { result: { number: string } } };
      if (params !== undefined) announced.set(Number(params.result.number), at);
    });
    listener.send('{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}');
    const took: number[] = [];
    const stamp = (at: number): void => {
      const now = systemClock.monotonic();
      took.push(now - (announced.get(at) ?? now));
    };
    for (let block = 1; block <= LIVE_BLOCKS; block++) {
      for (let transaction = 0; transaction < 5; transaction++)
        await anvil.send({ to: token, data: callData('transfer', ACCOUNTS[1], 1n), gas: 100_000 });
      const arrived = new Promise<void>((resolve) => {
        stored = (at) => {
          if (at === height + block) resolve();
        };
      });
      await Promise.all([anvil.mine(), arrived.then(() => stamp(height + block))]);
    }
    ending.abort();
    await following;
    listener.close();
    await adapter.close();
    return took.sort((a, b) => a - b);
  });
}

/** Bytes of the heap after a tenth of the blocks, and after all of them. */
async function measureMemory(anvil: Anvil, blocks: number): Promise<{ early: number; late: number }> {
  const adapter = open(anvil.url);
  const { height } = await adapter.head({ signal: new AbortController().signal, budgetMs: 10_000 });
  for (let made = 0; made < blocks; made += 1_000) await anvil.mine(Math.min(1_000, blocks - made));
  const ending = new AbortController();
  const heap = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  let early = 0;
  let seen = 0;
  for await (const _ of adapter.subscribe(
    { fromHeight: height + 1, known: [] },
    { signal: ending.signal, budgetMs: 60_000 },
  )) {
    seen++;
    if (seen === blocks / 10) early = heap();
    if (seen === blocks) break;
  }
  const late = heap();
  await adapter.close();
  return { early, late };
}

/** Milliseconds to import a package in a process of its own: the median of five. */
async function importTime(name: string): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 5; run++) times.push(await runChild<number>(IMPORTER, [name]));
  return times.sort((a, b) => a - b)[2] ?? 0;
}

async function benchAdapters(blocks: number): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const rows: BenchRow[] = [];
  // Without a block size limit.
  const anvil = await startAnvil({ args: ['--disable-block-gas-limit'] });
  try {
    const token = await anvil.deploy('Token');
    const first = Number(await anvil.rpc<string>('eth_blockNumber')) + 1;
    for (let block = 0; block < BUSY_BLOCKS; block++) {
      for (let spray = 0; spray < SPRAYS_PER_BLOCK; spray++) {
        const to = 1_000_000n + BigInt((block * SPRAYS_PER_BLOCK + spray) * SPRAYED);
        await anvil.send({ to: token, data: callData('spray', to, SPRAYED), gas: 14_000_000 });
      }
      await anvil.mine();
    }
    rows.push(
      row('transfers from the node into the graph', await measureIngest(anvil, first), '1/s', {
        atLeast: 2_000,
      }),
    );
    const took = await measureArrival(anvil, token);
    rows.push(row('block to its transfers in the graph, p50', took[Math.floor(took.length / 2)] ?? 0, 'ms'));
    rows.push(
      row('block to its transfers in the graph, p99', took[Math.floor(took.length * 0.99)] ?? 0, 'ms', {
        atMost: 200,
      }),
    );
  } finally {
    await anvil.stop();
  }
  if (hasLitecoind)
    rows.push(row('transfers from a UTXO node into the graph', await measureUtxoIngest(), '1/s'));
  // A node that discards old states, because the reader's memory is measured.
  const long = await startAnvil({ args: ['--prune-history'] });
  try {
    const { early, late } = await measureMemory(long, blocks);
    rows.push(
      row(
        `heap after ${blocks} blocks beside a tenth of them`,
        late / 2 ** 20,
        'MiB',
        { atMost: 1.2, of: 'ratio' },
        early / 2 ** 20,
      ),
    );
  } finally {
    await long.stop();
  }
  const { dependencies } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  for (const name of LIBRARIES)
    if (name in dependencies)
      rows.push(row(`import of ${name}, none at the start`, await importTime(name), 'ms'));
  const subject = {
    transfersABlock: SPRAYED * SPRAYS_PER_BLOCK,
    busyBlocks: BUSY_BLOCKS,
    outputsAUtxoBlock: PAID * SENDS_PER_BLOCK,
    utxoBlocks: UTXO_BLOCKS,
    liveBlocks: LIVE_BLOCKS,
    blocks,
  };
  return report('adapters', startedAt, subject, rows);
}

const bench = await benchAdapters(argument('--blocks', 10_000));
publish(bench);
