/**
 * Derived labels: the deposit rule over a simulated chain with planted truth (precision, recall, transfers per second, time after a block),
 * and facts from logs. Run: node --expose-gc dist/bench/attribution.js [--users N] [--blocks N] [--logs N] [--no-save]
 */

import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readAnchors } from '../src/attribution/deposit/anchors.ts';
import { DepositFollower } from '../src/attribution/deposit/follow.ts';
import { depositTemplate } from '../src/attribution/deposit/labels.ts';
import type { LogContract } from '../src/attribution/logs/contracts.ts';
import { poolAddress } from '../src/attribution/logs/decode.ts';
import { storeLogs } from '../src/attribution/logs/read.ts';
import { forwardingsOf } from '../src/attribution/store.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import type { LogEntry } from '../src/chains/families/port.ts';
import type { Transfer } from '../src/chains/transfer.ts';
import { ingestFiles } from '../src/graph/ingest/ingest-files.ts';
import {
  type Simulation,
  simulatedAddress,
  simulateExchanges,
} from '../test/attribution/simulated-exchange.ts';
import {
  type AttributionWorld,
  createAttributionWorld,
  labelsOfExchanges,
} from '../test/attribution/world.ts';
import { argument, type BenchRow, publish, report, row } from './harness.ts';

const SEED = 11;
/** Transfers of one block in the incremental part: a busy block of Ethereum. */
const BLOCK_TRANSFERS = 300;
const PAIR_CREATED = '0x0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9';
const INIT_CODE_HASH = '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f';

const users = argument('--users', 1_000_000);
const blocks = argument('--blocks', 400);
const logCount = argument('--logs', 100_000);
const startedAt = isoTime(systemClock.now());
const seconds = async (work: () => Promise<void> | void): Promise<number> => {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1_000;
};

const HEADER =
  'txHash,position,blockNumber,timestamp,from,to,asset,amount,decimals,valueUsd,sender,called,decodes\n';
/** Rows are written to the file in parts of this many. */
const PART_ROWS = 10_000;

/** Writes rows of transfers as `assay ingest ndjson` reads them. */
class TransferCsv {
  readonly #file: number;
  /** Assets with decimals in an earlier row: a row with decimals is read slowly. */
  readonly #withDecimals = new Set<string>();

  constructor(path: string) {
    this.#file = openSync(path, 'w');
    writeSync(this.#file, HEADER);
  }

  write(transfers: readonly Transfer[]): void {
    for (let at = 0; at < transfers.length; at += PART_ROWS) {
      const part = transfers.slice(at, at + PART_ROWS);
      writeSync(this.#file, part.map((transfer) => this.#row(transfer)).join(''));
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  #row(transfer: Transfer): string {
    const { txHash, position, blockNumber, timestampMs, from, to, asset, amount, initiation } = transfer;
    const decimals = this.#withDecimals.has(asset) ? null : transfer.decimals;
    this.#withDecimals.add(asset);
    const called = initiation?.callsAsset === true ? asset : null;
    const start = [initiation?.sender, called, called === null ? null : initiation?.decodes];
    return `${[txHash, position, blockNumber, timestampMs, from, to, asset, amount, decimals, null, ...start].join()}\n`;
  }
}

/** Loads all but the last transfers in bulk, from a file. Returns the last ones, which are used as blocks. */
async function fill(world: AttributionWorld, simulation: Simulation): Promise<Transfer[]> {
  const kept = blocks * BLOCK_TRANSFERS;
  const path = join(world.folder, 'transfers.csv');
  const csv = new TransferCsv(path);
  let last: Transfer[] = [];
  let written = 0;
  const write = (end: number): void => {
    csv.write(last.slice(0, end));
    last = last.slice(end);
    written += end;
  };
  for (const block of simulation.blocks()) {
    last.push(...block);
    if (last.length >= 2 * kept + PART_ROWS) write(last.length - kept);
  }
  write(Math.max(0, last.length - kept));
  csv.close();
  const { stored } = await ingestFiles(
    { format: 'ndjson', files: [path], chain: 'ETH' },
    { store: world.transfers },
  );
  if (stored !== written) throw new Error(`Of ${written} transfers ${stored} were stored.`);
  rmSync(path);
  return last;
}

interface Quality {
  readonly precision: number;
  readonly recall: number;
  readonly lookAlikes: number;
  readonly labels: number;
}

function qualityOf(world: AttributionWorld, { planted }: Simulation): Quality {
  const graph = world.transfers.graph('ETH');
  const state = world.store.depositState();
  if (graph === null || state === null) throw new Error('There is no result.');
  let sure = 0;
  let right = 0;
  let wanted = 0;
  let lookAlikes = 0;
  let labels = 0;
  for (const { address, kind, exchange, forwardings } of planted) {
    if (kind === 'deposit' && forwardings >= 3) wanted++;
    const node = graph.idOf(parseAddress('ETH', address).key);
    const record = node === null ? null : world.store.deposit(node);
    const template = record === null ? null : depositTemplate('ETH', record, state);
    if (record === null || template === null) continue;
    labels++;
    if (kind !== 'deposit') lookAlikes++;
    if (template.confidence < 0.8) continue;
    sure++;
    if (kind === 'deposit' && template.entity.id === `exchange-${exchange}` && forwardingsOf(record) >= 3)
      right++;
  }
  return { precision: right / sure, recall: right / wanted, lookAlikes, labels };
}

interface BlockTimes {
  /** Milliseconds, ascending. */
  readonly passed: readonly number[];
  /** Milliseconds of processor time, ascending. */
  readonly used: readonly number[];
}

/** Appends the last transfers as blocks, and returns the times of following each. */
async function follow(world: AttributionWorld, last: readonly Transfer[]): Promise<BlockTimes> {
  const graph = world.transfers.graph('ETH');
  if (graph === null) throw new Error('No transfer is stored.');
  const anchors = readAnchors('ETH', graph, world.labels);
  const { transfers, store } = world;
  const follower = new DepositFollower('ETH', anchors, { transfers, store, clock: systemClock });
  const passed: number[] = [];
  const used: number[] = [];
  for (let at = 0; at < last.length; at += BLOCK_TRANSFERS) {
    const height = 40_000_000 + at / BLOCK_TRANSFERS;
    const own = last.slice(at, at + BLOCK_TRANSFERS).map((one) => ({ ...one, blockNumber: height }));
    await transfers.appendBlock({
      ...{ chain: 'ETH', height, hash: `0x${height.toString(16)}`, parentHash: null },
      ...{ timestampMs: own[0]?.timestampMs ?? 0, transfers: own },
    });
    const began = performance.now();
    const cpu = process.cpuUsage();
    follower.follow();
    const { user, system } = process.cpuUsage(cpu);
    passed.push(performance.now() - began);
    used.push((user + system) / 1_000);
  }
  const ascending = (a: number, b: number): number => a - b;
  return { passed: passed.sort(ascending), used: used.sort(ascending) };
}

const word = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0');

/** Logs of a factory with the addresses that CREATE2 gives, so that each is verified. */
function pairLogs(contract: LogContract): LogEntry[] {
  const token = simulatedAddress(3);
  return Array.from({ length: logCount }, (_, number) => {
    const tokens = [token, simulatedAddress(10_000_000 + number)].sort() as [string, string];
    const pair = poolAddress(contract.address, tokens, null, INIT_CODE_HASH);
    return {
      address: contract.address,
      topics: [PAIR_CREATED, `0x${word(tokens[0])}`, `0x${word(tokens[1])}`],
      data: `0x${word(pair)}${number.toString(16).padStart(64, '0')}`,
      blockNumber: 10_000_835 + number,
      txHash: `0x${number.toString(16).padStart(64, '0')}`,
      logIndex: number % 200,
    };
  });
}

const simulation = simulateExchanges(users, SEED);
const world = await createAttributionWorld(labelsOfExchanges(simulation.exchanges));
const rows: BenchRow[] = [];
try {
  const last = await fill(world, simulation);
  const position = world.transfers.logPosition('ETH');
  const stored = position?.ordinal ?? 0;
  const scan = await seconds(() => {
    let sum = 0;
    for (const columns of world.transfers.logColumns('ETH', 0, stored)) sum += columns.count;
    if (sum !== stored) throw new Error('The log was not read whole.');
  });
  let peak = 0;
  const cpu = process.cpuUsage();
  const sweep = await seconds(() =>
    world.sweep({
      onProgress: () => {
        peak = Math.max(peak, process.memoryUsage.rss());
      },
    }),
  );
  const used = process.cpuUsage(cpu);
  rows.push(
    row(
      'deposit rule over the whole log',
      stored / sweep,
      'transfers/s',
      { atLeast: 300_000 },
      stored / scan,
    ),
    row('its processor time', (used.user + used.system) / stored, 'µs a transfer'),
    row('its peak memory', peak / 2 ** 20, 'MB'),
  );
  const { passed, used: blockCpu } = await follow(world, last);
  const at = (times: readonly number[], part: number): number => times[Math.floor(times.length * part)] ?? 0;
  rows.push(
    row('after a block, median', at(passed, 0.5), 'ms'),
    row('after a block, p99', at(passed, 0.99), 'ms', { atMost: 50 }),
    row('its processor time, median', at(blockCpu, 0.5), 'ms'),
    row('its processor time, p99', at(blockCpu, 0.99), 'ms'),
  );
  const { precision, recall, lookAlikes, labels } = qualityOf(world, simulation);
  rows.push(
    row('labels', labels, 'addresses'),
    row('precision at confidence ≥ 0.8', precision, '', { atLeast: 0.98 }),
    row('recall at confidence ≥ 0.8', recall, '', { atLeast: 0.9 }),
    row('labels of look-alikes', lookAlikes, '', { atMost: 0 }),
  );
  const contract: LogContract = {
    ...{
      id: 'uniswap-v2',
      chain: 'ETH',
      kind: 'v2-pools',
      source: 'https://example.org',
      date: '2026-11-26',
    },
    address: '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
  };
  const logs = pairLogs(contract);
  let facts = 0;
  const logCpu = process.cpuUsage();
  const logSeconds = await seconds(() => {
    for (let at = 0; at < logs.length; at += 10_000)
      facts += storeLogs(contract, logs.slice(at, at + 10_000), world.store).facts;
  });
  const logUsed = process.cpuUsage(logCpu);
  if (facts !== logCount) throw new Error('Not every log became a fact.');
  rows.push(
    row('factories from logs', logCount / logSeconds, 'logs/s', { atLeast: 50_000 }),
    row('their processor time', (logUsed.user + logUsed.system) / logCount, 'µs a log'),
  );
  publish(
    report(
      'attribution',
      startedAt,
      {
        users,
        transfers: stored,
        blocks,
        transfersABlock: BLOCK_TRANSFERS,
        logs: logCount,
        seed: SEED,
        data: 'simulated',
      },
      rows,
    ),
  );
} finally {
  await world.close();
}
