/** Threads of the pool answer from the newest commit of a chain, whichever process or thread wrote it and whenever its file appeared. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeJson } from '../../src/base/buffer-pool.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { createChunkWork } from '../../src/jobs/bulk/chunk-work.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { createPool, type WorkerPool } from '../../src/pool/pool.ts';
import { createTaskReadings } from '../../src/pool/task-readings.ts';
import type { ScreeningAnswer } from '../../src/screening/answers.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type LabelFolder, labelFolder } from '../jobs/label-folder.ts';
import { spawnSync } from '../support/child-process.ts';

const EXCHANGE = '0x28c6c06298d514db089934071355e5743bf21d60';
/** Each takes a fifth of a second of processor time to start. */
const THREADS = 2;
/** Each thread takes four at once: with three times as many tasks, all threads work. */
const QUESTIONS = THREADS * 4 * 3;

let world: LabelFolder;
let graph: string;
let writer: TransferStore | null = null;

beforeEach(async () => {
  world = labelFolder();
  graph = join(world.path, 'graph');
  await world.publish({ [EXCHANGE]: 'Binance' });
});
afterEach(async () => {
  await writer?.close();
  writer = null;
  world.remove();
});

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

const transferTo = (index: number): Transfer => ({
  chain: 'ETH',
  txHash: `0x${index.toString(16).padStart(64, '0')}`,
  position: 'value',
  blockNumber: 100 + index,
  timestampMs: 1_700_000_000_000 + index,
  from: EXCHANGE,
  to: address(index),
  asset: 'ETH',
  amount: 10n ** 18n,
  decimals: 18,
  valueUsd: 2_000,
});

/** Writes in another process and waits for its end. */
function writeElsewhere(...indexes: readonly number[]): void {
  const store = pathToFileURL(join(projectRoot, 'dist/src/graph/store.js')).href;
  const script = `
    import { openTransferStore } from ${JSON.stringify(store)};
    const EXCHANGE = ${JSON.stringify(EXCHANGE)};
    const address = ${address.toString()};
    const transferTo = ${transferTo.toString()};
    const store = openTransferStore({ path: ${JSON.stringify(graph)}, readOnly: false });
    await store.ingest(${JSON.stringify(indexes)}.map(transferTo));
    await store.close();
  `;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
}

describe('a thread of the pool', () => {
  let pool: WorkerPool;
  beforeEach(() => {
    pool = createPool(
      {
        threads: THREADS,
        snapshotsFolder: world.snapshotsFolder,
        labelsFolder: world.path,
        transfersFolder: graph,
        outputsFolder: join(world.path, 'outputs'),
        clustersFolder: join(world.path, 'clusters'),
        namesFolder: join(world.path, 'names'),
        listMaxAgeDays: 7,
        logLevel: 'silent',
      },
      { log: silentLogger },
    );
  });
  afterEach(() => pool.close());

  /** Queries all threads at once and returns the distinct transaction counts of the address. */
  async function transactionsOf(index: number): Promise<readonly (number | null)[]> {
    const asked = Array.from({ length: QUESTIONS }, () =>
      pool.run('screening', { request: { chain: 'ETH', address: address(index) }, facts: {} }),
    );
    const answers = await Promise.all(asked);
    return [
      ...new Set(
        answers.map(
          (answer) =>
            (JSON.parse(Buffer.from(takeJson(answer)).toString()) as ScreeningAnswer).totalTransactions,
        ),
      ),
    ];
  }

  it('reads the writes of another process after it has read the chain', async () => {
    writeElsewhere(1);
    expect(await transactionsOf(1)).toEqual([1]);
    writeElsewhere(2);
    expect(await transactionsOf(2)).toEqual([1]);
    writeElsewhere(3);
    expect(await transactionsOf(3)).toEqual([1]);
  });

  it('reads the writes and reverts of the main thread', async () => {
    writer = openTransferStore({ path: graph, readOnly: false });
    await writer.ingest([transferTo(1)]);
    expect(await transactionsOf(1)).toEqual([1]);
    const { blockNumber: height, timestampMs } = transferTo(2);
    await writer.appendBlock({
      chain: 'ETH',
      height,
      hash: '0xb2',
      parentHash: '0xb1',
      timestampMs,
      transfers: [transferTo(2)],
    });
    expect(await transactionsOf(2)).toEqual([1]);
    await writer.revertBlock('ETH', height);
    expect(await transactionsOf(2)).not.toContain(1);
  });

  it('reads the first transfers of a chain without a file at the first read', async () => {
    expect(await transactionsOf(1)).toEqual([null]);
    writeElsewhere(1);
    expect(await transactionsOf(1)).toEqual([1]);
  });

  it('reads while another process creates the file, and reads its writes', async () => {
    mkdirSync(graph, { recursive: true });
    const file = join(graph, 'eth.mdb');
    // A writer creates the file, then the header, then one database after the other.
    writeFileSync(file, '');
    expect(await transactionsOf(1)).toEqual([null]);
    const script = `
      import { open } from ${JSON.stringify(pathToFileURL(join(projectRoot, 'node_modules/lmdb/index.js')).href)};
      const root = open({ path: ${JSON.stringify(file)}, maxDbs: 16, noSubdir: true });
      root.openDB({ name: 'meta', encoding: 'msgpack', keyEncoding: 'ordered-binary' });
      await root.close();
    `;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script]).status).toBe(0);
    expect(await transactionsOf(1)).toEqual([null]);
    writeElsewhere(1);
    expect(await transactionsOf(1)).toEqual([1]);
  });
});

describe('a read transaction', () => {
  it('of a task ends before it and after it, so that no old commit keeps its pages', () => {
    writer = openTransferStore({ path: graph, readOnly: false });
    const path = join(world.path, 'own.mdb');
    const root = openEnvironment(path, { noSubdir: true });
    root.putSync('a', 1);
    const script = (value: number): string => `
      import { open } from ${JSON.stringify(pathToFileURL(join(projectRoot, 'node_modules/lmdb/index.js')).href)};
      const root = open({ path: ${JSON.stringify(path)}, noSubdir: true });
      root.putSync('a', ${value});
      await root.close();
    `;
    const put = (value: number): void => {
      expect(spawnSync(process.execPath, ['--input-type=module', '-e', script(value)]).status).toBe(0);
    };
    const asReading = createTaskReadings();
    expect(root.get('a')).toBe(1);
    put(2);
    // No turn of the event loop in between: the library keeps its read transaction until then.
    expect(root.get('a')).toBe(1);
    expect(asReading(() => root.get('a'))).toBe(2);
    put(3);
    expect(root.get('a')).toBe(3);
    void root.close();
  });

  it('leaves no timers behind beyond a turn', async () => {
    const root = openEnvironment(join(world.path, 'timers.mdb'), { noSubdir: true });
    root.putSync('a', 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    const asReading = createTaskReadings(50);
    for (let task = 1; task < 50; task++) expect(asReading(() => root.get('a'))).toBe(1);
    expect(timers() - before).toBeGreaterThan(40);
    await asReading(() => root.get('a'));
    expect(timers() - before).toBeLessThan(5);
    await root.close();
  });

  it('of a chunk ends with each line: a long one sees what was stored since it began', () => {
    writeElsewhere(1);
    const transfers = openTransferStore({ path: graph, readOnly: true });
    const seen: number[] = [];
    const labels = openSnapshotSet(world.snapshotsFolder, { log: silentLogger });
    const work = createChunkWork({
      labels,
      // A line of a screening does not need it.
      freshness: () => {
        throw new Error('not needed');
      },
      sanctionsCheck: () => 0,
      screening() {
        const { transfers: stored } = transfers.coverage('ETH');
        seen.push(stored);
        if (seen.length === 1) writeElsewhere(2, 3);
        return { stored };
      },
      kyt: () => null,
      log: silentLogger,
      policy: {} as never,
      clock: {} as never,
    });
    const path = join(world.path, 'lines');
    const text = `${address(1)}\n${address(2)}\n`;
    writeFileSync(path, text);
    work({
      jobId: 'job',
      chunk: 0,
      kind: 'screening',
      format: 'ndjson',
      chain: 'ETH',
      columns: null,
      firstLine: 1,
      input: { path, start: 0, end: text.length },
      output: join(world.path, 'answers'),
    } as never);
    expect(seen).toEqual([1, 3]);
    void transfers.close();
    void labels.close();
  });
});
