/** The bounds of jobs: at exactly a limit and one beyond it, and each half of a condition. */
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BufferPool } from '../../src/base/buffer-pool.ts';
import { AssayError } from '../../src/base/errors.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import {
  type ChunkRecord,
  type JobRecord,
  type JobStore,
  type JobWriter,
  openJobStore,
} from '../../src/jobs/bulk/job-store.ts';
import { viewOf } from '../../src/jobs/bulk/job-view.ts';
import { columnsOf, fieldsOf, type LineShape, lineReader, sharedChain } from '../../src/jobs/bulk/lines.ts';
import { openBulkJobs } from '../../src/jobs/bulk/open.ts';
import { jobPlaces } from '../../src/jobs/bulk/places.ts';
import { Plan, Planner } from '../../src/jobs/bulk/plan.ts';
import { openInput } from '../../src/jobs/bulk/receiving.ts';
import { createScheduler } from '../../src/jobs/bulk/scheduler.ts';
import type { ChunkDone, ChunkRunner, ChunkTask } from '../../src/jobs/chunks.ts';
import { fromOthers, nameOfFolder, requireJobsFolder, towardsOthers } from '../../src/jobs/jobs-folder.ts';
import { JOB_LIMITS } from '../../src/jobs/limits.ts';
import {
  assignChains,
  groupOf,
  groupOfChunk,
  type RoutingNode,
  routeOf,
  routeUseCases,
} from '../../src/pool/routing.ts';
import { createTaskReadings } from '../../src/pool/task-readings.ts';
import { TASKS } from '../../src/pool/tasks/index.ts';
import { type Fence, type LiveRoot, openLiveStore } from '../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { jobFoldersIn } from './bulk/world.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

describe('pooled results', () => {
  it('use one slot each, and acquire the next free slot until none is left', () => {
    const memory = BufferPool.allocate();
    const [worker, main] = [new BufferPool(memory), new BufferPool(memory)];
    const largest = new Uint8Array(LIMITS.poolSlotBytes).fill(7);
    expect(worker.acquire(new Uint8Array(LIMITS.poolSlotBytes + 1))).toBeNull();
    const acquired = Array.from({ length: LIMITS.poolSlots }, () => worker.acquire(largest));
    expect(new Set(acquired.map((one) => one?.slot)).size).toBe(LIMITS.poolSlots);
    expect(worker.acquire(Buffer.from('a'))).toBeNull();
    const answer = main.unpack({ result: { status: 1, json: null }, buffer: acquired[5]! }) as {
      json: Uint8Array;
      release: () => void;
      status: number;
    };
    expect([answer.status, answer.json.length, answer.json.every((byte) => byte === 7)]).toEqual([
      1,
      LIMITS.poolSlotBytes,
      true,
    ]);
    answer.release();
    expect(worker.acquire(Buffer.from('a'))).toEqual({ slot: 5, length: 1 });
    expect(main.unpack({ result: 3 })).toBe(3);
  });

  it('are used for JSON text that fits into a slot', () => {
    const pool = new BufferPool(BufferPool.allocate());
    const json = Buffer.from('{}');
    expect(pool.pack({ json, status: 1 })).toEqual({
      result: { json: null, status: 1 },
      buffer: { slot: 0, length: 2 },
    });
    for (const result of [null, undefined, 5, { json: '{}' }, {}])
      expect(pool.pack(result)).toEqual({ result });
    expect(pool.pack({ json: new Uint8Array(LIMITS.poolSlotBytes + 1) })).not.toHaveProperty('buffer');
  });

  it('are read in a later turn of the event loop after a number of tasks', async () => {
    const read = createTaskReadings(3);
    expect([read(() => 1), read(() => 2)]).toEqual([1, 2]);
    const third = read(() => 3);
    expect(third).toBeInstanceOf(Promise);
    expect([await third, read(() => 4)]).toEqual([3, 4]);
  });

  it('are read in the order of their arrival while one waits for that turn', async () => {
    const read = createTaskReadings(3);
    const order: number[] = [];
    const tasks = [1, 2, 3, 4, 5, 6, 7].map((number) => read(() => order.push(number)));
    expect(order).toEqual([1, 2]);
    await Promise.all(tasks);
    expect(order).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(read(() => 8)).toBe(8);
  });

  it('fail alone', async () => {
    const read = createTaskReadings(3);
    expect(() =>
      read(() => {
        throw new Error('own');
      }),
    ).toThrow('own');
  });
});

describe('routing', () => {
  const node = (id: string, facts: Partial<RoutingNode['facts']>): RoutingNode => ({
    id,
    facts: { roles: ['worker', 'listener'], holds: 'all', follows: [], slots: 1, ...facts },
  });
  const eth = node('e', { holds: ['ETH'] });
  const both = node('b', { holds: ['BSC', 'ETH'] });
  const none = { live: [], gone: [] };

  it('is local if the chain is stored on this node or on no node', () => {
    expect([
      routeOf('ETH', 'all', none),
      routeOf('ETH', ['ETH'], none),
      routeOf('BTC', ['ETH'], none),
    ]).toEqual(Array(3).fill({ kind: 'local' }));
    expect(routeOf('ETH', [], { live: [both, eth, eth], gone: [] })).toEqual({
      kind: 'remote',
      groups: ['BSC-ETH', 'ETH'],
    });
    expect(routeOf('ETH', [], { live: [], gone: [eth] })).toEqual({ kind: 'unavailable' });
    expect(routeOf('BTC', [], { live: [eth], gone: [both] })).toEqual({ kind: 'local' });
    expect(
      routeOf('ETH', [], {
        live: [node('l', { roles: ['listener'] })],
        gone: [node('l', { roles: ['api'] })],
      }),
    ).toEqual({ kind: 'local' });
    expect([groupOf('all'), groupOf([]), groupOf(['ETH', 'BSC'])]).toEqual(['all', null, 'BSC-ETH']);
  });

  it('assigns chains to nodes that listen, store and follow them, the least busy first', () => {
    const follows = ['BSC', 'ETH', 'POLYGON'] as const;
    const nodes = [
      node('x', { follows }),
      node('y', { follows }),
      node('w', { follows, roles: ['worker'] }),
      node('h', { follows, holds: [] }),
    ];
    expect([...assignChains(['POLYGON', 'ETH', 'BSC', 'BASE'], nodes)]).toEqual([
      ['BSC', 'x'],
      ['ETH', 'y'],
      ['POLYGON', 'x'],
    ]);
  });

  it('sends a chunk to the nodes that store its transfers', () => {
    const chunk = (
      change: Partial<ChunkTask>,
      nodes: readonly RoutingNode[],
      gone: readonly RoutingNode[] = [],
    ) => {
      try {
        return groupOfChunk({ kind: 'screening', chain: 'ETH', chunk: 0, ...change }, { live: nodes, gone });
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    expect([chunk({ kind: 'labels' }, [eth]), chunk({ kind: 'labels', verdict: true }, [eth])]).toEqual([
      null,
      'ETH',
    ]);
    expect([chunk({}, [node('a', {})]), chunk({}, [])]).toEqual([null, null]);
    expect([
      chunk({ chunk: 0 }, [eth, both]),
      chunk({ chunk: 1 }, [eth, both]),
      chunk({ chunk: 2 }, [eth, both]),
    ]).toEqual(['BSC-ETH', 'ETH', 'BSC-ETH']);
    expect([
      chunk({ chain: null }, [eth, node('a', {})]),
      chunk({ chain: null }, [eth]),
      chunk({ chain: 'BTC' }, [eth]),
    ]).toEqual(['all', 'INVALID_REQUEST', null]);
    expect(chunk({ chain: 'BSC' }, [eth], [both])).toBe('NOT_READY');
  });

  it('runs use cases where the chain is stored, and locally for an unknown chain', async () => {
    const local = {
      screening: async () => ({ json: Buffer.from('local') }),
      kyt: async () => ({ json: Buffer.from('kyt') }),
      trace: async () => ({ json: Buffer.from('trace'), isKnown: false }),
    } as never;
    const sent: string[] = [];
    const useCases = (kind: 'local' | 'remote' | 'unavailable') =>
      routeUseCases(
        TASKS,
        local,
        () => ({ kind, groups: ['p'] }) as never,
        async (_, { task }) => {
          sent.push(task);
          return { data: Buffer.from('remote'), isKnown: true };
        },
      );
    const request = { chain: 'eth', address: 'x' } as never;
    expect(String((await useCases('local').screening(request)).json)).toBe('local');
    expect(String((await useCases('local').kyt(request)).json)).toBe('kyt');
    expect(String((await useCases('remote').kyt(request)).json)).toBe('remote');
    expect((await useCases('local').trace(request)).isKnown).toBe(false);
    expect(sent).toEqual(['kyt']);
    await expect(useCases('unavailable').trace(request)).rejects.toThrow('stores the transfers of ETH');
    expect(String((await useCases('unavailable').screening({ chain: 'nothing' } as never)).json)).toBe(
      'local',
    );
  });
});

describe('the folder of jobs', () => {
  const task = (path: string): ChunkTask =>
    ({ jobId: 'j', input: { path, start: 0, end: 1 }, output: path }) as never;
  const runner = () => {
    const ran: string[] = [];
    const of: ChunkRunner = {
      slots: 3,
      run: async ({ input, output }) => {
        ran.push(input.path, output);
        return { items: 0, failed: 0, bytes: 0 };
      },
      close: async () => {},
    };
    return { ran, of };
  };
  const signal = new AbortController().signal;

  it('has one name, and is left empty by the check', async () => {
    const path = join(folder.path, 'jobs');
    const names = await Promise.all([1, 2, 3].map(() => nameOfFolder(path, systemRandom)));
    expect(new Set(names).size).toBe(1);
    expect(await nameOfFolder(path, systemRandom)).toBe(names[0]);
    await requireJobsFolder(path, 'ASSAY_JOBS_DIR');
    expect(readdirSync(path)).toEqual(['.folder']);
    writeFileSync(join(folder.path, 'file'), '');
    await expect(requireJobsFolder(join(folder.path, 'file'), 'ASSAY_JOBS_DIR')).rejects.toThrow(
      'ASSAY_JOBS_DIR: jobs cannot be stored',
    );
    expect(jobPlaces('/f').answer('i', 'a')).toBe('/f/i/answers/a');
  });

  it('is resolved by other nodes through relative paths inside it', async () => {
    const { ran, of } = runner();
    const towards = towardsOthers(of, '/a/b');
    await towards.run(task('/a/b/c/input'), signal);
    expect([ran.splice(0), towards.slots]).toEqual([['c/input', 'c/input'], 3]);
    mkdirSync(join(folder.path, 'c'));
    writeFileSync(join(folder.path, 'c', 'input'), '');
    const from = fromOthers(of, folder.path, { log: silentLogger });
    await from.run(task('c/input'), signal);
    await from.run(task('x/../c/input'), signal);
    expect(ran).toEqual(Array(4).fill(join(folder.path, 'c', 'input')));
    for (const path of ['/etc/passwd', '..', '../x', 'c/../../x'])
      await expect(from.run(task(path), signal), path).rejects.toThrow('outside the jobs folder');
    await expect(from.run(task('..x/input'), signal)).rejects.toThrow('cannot find the files');
    expect(existsSync(join(folder.path, '..x'))).toBe(false);
  });
});

describe('the plan of a job', () => {
  const planOf = (text: string, size = { lines: 2, bytes: 100 }) => {
    const planner = new Planner('labels', size);
    for (const piece of text.match(/.{1,3}/gs) ?? []) planner.take(Buffer.from(piece));
    return planner.finish();
  };
  const parts = (plan: Plan, head = 0) =>
    Array.from({ length: plan.chunks }, (_, at) => {
      const { input, firstLine } = plan.partOf(at, 'p', head);
      return [input.start, input.end, firstLine, plan.linesOf(at)];
    });

  it('splits after the maximum of lines or bytes, and includes a last line without a line break', () => {
    expect(parts(planOf('a\nb\nc\nd'))).toEqual([
      [0, 4, 1, 2],
      [4, 7, 3, 2],
    ]);
    expect(parts(planOf('a\nb\nc\n'), 2)).toEqual([
      [2, 4, 2, 2],
      [4, 6, 3, 1],
    ]);
    expect(parts(planOf('aaaa\nb\nc', { lines: 9, bytes: 5 }))).toEqual([
      [0, 5, 1, 1],
      [5, 8, 2, 2],
    ]);
    expect(parts(planOf('aaaa\nb\nc', { lines: 9, bytes: 6 }))).toEqual([
      [0, 7, 1, 2],
      [7, 8, 3, 1],
    ]);
    expect([planOf('').chunks, planOf('').lines]).toEqual([0, 0]);
    const long = planOf('a\n'.repeat(3_000), { lines: 1, bytes: 100 });
    expect([long.chunks, long.lines, long.partOf(2_999, 'p', 0).input.end]).toEqual([3_000, 3_000, 6_000]);
    const path = join(folder.path, 'plan');
    writeFileSync(path, long.fileBytes);
    expect(parts(Plan.read(path))).toEqual(parts(long));
    writeFileSync(path, long.fileBytes.subarray(8));
    expect(() => Plan.read(path)).toThrow('is not a plan');
    expect(() => Plan.read(`${path}x`)).toThrow('cannot be read');
  });

  it('accepts lines up to the maximum length, with and without a line break', () => {
    const longest = 'x'.repeat(JOB_LIMITS.jobLineBytesMax);
    const take = (text: string) => new Planner('labels').take(Buffer.from(text));
    take(`${longest}\n`);
    take(longest);
    expect(() => take(`${longest}x`)).toThrow('line 1 is longer');
    expect(() => take(`a\n${longest}x\n`)).toThrow('line 2 is longer');
  });

  it('finds every line break, wherever it is in memory and whatever is beside it', () => {
    const next = seededUint32(3);
    const near = [0x0a, 0x09, 0x0b, 0x8a, 0x0a ^ 0x80, 0x00, 0xff, 0x61];
    for (let round = 0; round < 500; round++) {
      const bytes = Uint8Array.from({ length: next() % 40 }, () => near[next() % near.length] as number);
      const memory = new Uint8Array(bytes.length + 8).fill(0x0a);
      const planner = new Planner('labels', { lines: 1, bytes: 1_000 });
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + (next() % 20);
        const piece = bytes.subarray(at, at + size);
        const start = next() % 8;
        memory.set(piece, start);
        planner.take(memory.subarray(start, start + piece.length));
        at += size;
      }
      const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
      if ((ends.at(-1) ?? 0) < bytes.length) ends.push(bytes.length);
      const plan = planner.finish();
      expect(parts(plan).map(([, end]) => end)).toEqual(ends);
    }
  });

  it('accepts up to the maximum number of lines', () => {
    const planner = new Planner('screening');
    const lines = Buffer.from('\n'.repeat(JOB_LIMITS.jobGraphLinesMax));
    planner.take(lines);
    expect(() => planner.take(Buffer.from('\n'))).toThrow(`more than ${JOB_LIMITS.jobGraphLinesMax} lines`);
    expect(planner.finish().lines).toBe(JOB_LIMITS.jobGraphLinesMax);
  });

  it('covers the received bytes without the header', async () => {
    const receive = async (text: string, format: 'csv' | 'ndjson') => {
      const input = await openInput(
        { path: join(folder.path, `in${Math.random()}`), kind: 'labels', format },
        { checkRoom: async () => {} },
      );
      try {
        await input.write(Buffer.from(text));
        const { items, columns, headBytes, bytes } = await input.finish();
        return { items, columns, headBytes, bytes };
      } finally {
        await input.close();
      }
    };
    expect(await receive('\uFEFFaddress,chain\n1,ETH', 'csv')).toEqual({
      items: 1,
      columns: ['address', 'chain'],
      headBytes: 17,
      bytes: 22,
    });
    expect(await receive('x\ny', 'csv')).toMatchObject({ items: 2, columns: null, headBytes: 0 });
    expect(await receive('address\n', 'ndjson')).toMatchObject({ items: 1, columns: null });
    await expect(receive('address\n', 'csv')).rejects.toThrow('no lines to process');
    await expect(receive('address', 'csv')).rejects.toThrow('no lines to process');
    await expect(receive('', 'ndjson')).rejects.toThrow('no lines to process');
    expect((await receive(`${'a\n'.repeat(1_500_000)}`, 'ndjson')).bytes).toBe(3_000_000);
  });

  it('is refused as soon as the disk has no room, which is looked at every 64 MB', async () => {
    let looks = 0;
    const room = 1;
    const input = await openInput(
      { path: join(folder.path, 'in'), kind: 'labels', format: 'ndjson' },
      {
        async checkRoom() {
          looks++;
          if (looks > room) throw new AssayError('OVERLOADED', 'The disk is full.');
        },
      },
    );
    const megabyte = Buffer.from(`${'a'.repeat(1_023)}\n`.repeat(1_024));
    const write = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at++) await input.write(megabyte);
    };
    try {
      // A buffer is written when the next byte arrives.
      await write(64);
      expect(looks).toBe(0);
      await write(1);
      expect(looks).toBe(1);
      await write(63);
      await expect(write(1)).rejects.toThrow('The disk is full.');
      expect(looks).toBe(2);
    } finally {
      await input.close();
    }
  });
});

describe('the lines of a job', () => {
  const shape = (change: Partial<LineShape> = {}): LineShape => ({
    kind: 'labels',
    format: 'ndjson',
    columns: null,
    chain: null,
    ...change,
  });

  it('have a header if it names a subject, with a maximum of columns, each once', () => {
    expect([columnsOf('a,b'), columnsOf('"a'), columnsOf(' from , to ')]).toEqual([
      null,
      null,
      ['from', 'to'],
    ]);
    const columns = (count: number) =>
      ['address', ...Array.from({ length: count - 1 }, (_, at) => `c${at}`)].join(',');
    expect(columnsOf(columns(JOB_LIMITS.jobColumnsMax))).toHaveLength(JOB_LIMITS.jobColumnsMax);
    expect(() => columnsOf(columns(JOB_LIMITS.jobColumnsMax + 1))).toThrow('line 1 has more');
    expect(() => columnsOf('address,chain,chain')).toThrow('twice');
    expect(columnsOf('address,x,x')).toEqual(['address', 'x', 'x']);
  });

  it('are parsed from an object, a string, a row or a plain address', () => {
    expect(fieldsOf('{"address":"1","chain":"ETH","x":5}', shape())).toEqual({ address: '1', chain: 'ETH' });
    expect([fieldsOf('"1"', shape({ chain: 'BTC' })), fieldsOf('1', shape({ chain: 'BTC' }))]).toEqual(
      Array(2).fill({ address: '1', chain: 'BTC' }),
    );
    expect(fieldsOf(' 1 ,,"E""TH"', shape({ format: 'csv', columns: ['address', 'x', 'chain'] }))).toEqual({
      address: '1',
      chain: 'E"TH',
    });
    expect(fieldsOf('{"address":null,"chain":"ETH"}', shape())).toEqual({ chain: 'ETH' });
    expect(fieldsOf('{"address":"1"}', shape({ format: 'csv', chain: 'ETH' }))).toEqual({
      address: '{"address":"1"}',
      chain: 'ETH',
    });
    const screening = shape({ kind: 'screening', chain: 'ETH' });
    expect(fieldsOf('{"address":"1","maxHops":2}', screening)).toMatchObject({ maxHops: 2 });
    expect(fieldsOf('1,2', { ...screening, format: 'csv', columns: ['address', 'maxHops'] })).toMatchObject({
      maxHops: 2,
    });
    expect(() => fieldsOf('{"maxHops":"2"}', screening)).toThrow('must be a number');
    expect(() => fieldsOf('1,x', { ...screening, format: 'csv', columns: ['address', 'maxHops'] })).toThrow(
      'must be a number',
    );
    expect(() => fieldsOf('{"address":1}', screening)).toThrow('must be a string');
    expect(() => fieldsOf('1', shape())).toThrow('chain: missing');
    for (const text of ['{', '"x']) expect(() => fieldsOf(text, shape())).toThrow('not valid JSON');
    expect(() => fieldsOf('"1', shape({ format: 'csv', columns: ['address'] }))).toThrow(
      'a quote that is not closed',
    );
  });

  it('are read by the fast reader like by the full parser', () => {
    const read = (text: string, of: LineShape) => {
      const block = Buffer.from(text);
      const item = { start: 0, end: block.length, chain: null } as never as {
        start: number;
        end: number;
        chain: unknown;
      };
      lineReader(of)?.(block, item as never);
      return [
        block.toString('utf8', item.start, item.end),
        item.chain instanceof Error ? item.chain.message : item.chain,
      ];
    };
    const objects = shape();
    expect(read('{"address":"1","chain":"eth"}', objects)).toEqual(['1', 'ETH']);
    expect(read('{"chain":"BSC","address":"1" , "x":[1]}', objects)).toEqual(['1', 'BSC']);
    expect(read('{"address":"1"}', shape({ chain: 'BTC' }))).toEqual(['1', 'BTC']);
    expect(read('"1"', shape({ chain: 'BTC' }))).toEqual(['1', 'BTC']);
    expect(read('1', shape({ chain: 'BTC' }))).toEqual(['1', 'BTC']);
    expect(read('1', objects)[1]).toContain('chain: missing');
    expect(read('{"address":"1","chain":"no"}', objects)[1]).toContain('chain');
    const rows = shape({ format: 'csv', columns: ['x', 'address', 'chain'] });
    expect([read('9, 1 ,eth', rows), read('9,1,"eth"', rows), read('"9",1,eth,more', rows)]).toEqual(
      Array(3).fill(['1', 'ETH']),
    );
    expect(read('9,1', { ...rows, chain: 'BTC' })).toEqual(['1', 'BTC']);
    expect(read('9,1,', { ...rows, chain: 'BTC' })).toEqual(['1', 'BTC']);
    expect(read('9', { ...rows, chain: 'BTC' })[0]).toBe('');
    expect(lineReader(shape({ format: 'csv' }))).toBeNull();
    expect([sharedChain(shape({ chain: 'BTC' })), (sharedChain(shape()) as Error).message]).toEqual([
      'BTC',
      expect.stringContaining('missing'),
    ]);
  });
});

const recordOf = (id: string, lines: number, change: Partial<JobRecord> = {}): JobRecord => ({
  id,
  accountId: 'a',
  kind: 'labels',
  format: 'ndjson',
  chain: 'ETH',
  columns: null,
  headBytes: 0,
  state: 'QUEUED',
  ending: null,
  error: null,
  createdAt: 0,
  startedAt: null,
  endedAt: null,
  changedAt: 0,
  items: lines,
  bytesReceived: 2 * lines,
  answered: 0,
  failed: 0,
  prefix: { chunks: 0, items: 0, failed: 0, bytes: 0 },
  rateFrom: null,
  unit: 'intel',
  perLine: 2,
  reserved: 2 * lines,
  spent: null,
  filesRemoved: false,
  ...change,
});

describe('a job as a client sees it', () => {
  it('has a rate after lines have been answered, and an estimate of the remaining time', () => {
    const rate = (change: Partial<JobRecord>) => {
      const { itemsPerSecond, secondsLeft } = viewOf(recordOf('j', 100, change));
      return [itemsPerSecond, secondsLeft];
    };
    const from = { rateFrom: { at: 1_000, answered: 10 } };
    expect(rate({})).toEqual([null, null]);
    expect(rate({ ...from, answered: 10, changedAt: 2_000 })).toEqual([null, null]);
    expect(rate({ ...from, answered: 11, changedAt: 1_000 })).toEqual([null, null]);
    expect(rate({ ...from, answered: 40, changedAt: 3_000 })).toEqual([15, 4]);
    expect(rate({ ...from, answered: 40, changedAt: 3_000, endedAt: 3_000 })).toEqual([15, 0]);
    expect(rate({ endedAt: 1 })).toEqual([null, 0]);
  });

  it('has a result for as long as its files are kept', () => {
    const prefix = { chunks: 1, items: 1, failed: 0, bytes: 7 };
    const open = viewOf(recordOf('j', 1, { prefix }));
    expect(open).toMatchObject({
      resultBytes: 7,
      expiresAt: null,
      endedAt: null,
      startedAt: null,
      verdict: false,
    });
    const over = viewOf(
      recordOf('j', 1, { prefix, endedAt: 0, startedAt: 0, filesRemoved: true, verdict: true }),
    );
    const start = '1970-01-01T00:00:00.000Z';
    expect(over).toMatchObject({ resultBytes: 0, endedAt: start, startedAt: start, verdict: true });
    expect(over.expiresAt).toBe(new Date(JOB_LIMITS.jobFilesKeptMs).toISOString());
  });
});

describe('expired and interrupted jobs', () => {
  const idOf = (number: number): string => String(number).padStart(28, '0');
  const NOW = Date.UTC(2026, 10, 21);

  /** Opens jobs over these records, waits until old ones are removed, and lists the remaining ones. */
  async function leftOf(
    records: readonly JobRecord[],
    { isShared = false, names = [] as readonly string[] } = {},
  ) {
    const options = {
      storePath: join(folder.path, 'jobs.mdb'),
      folder: join(folder.path, 'files'),
      isShared,
    };
    const store = openJobStore({ path: options.storePath }, {});
    await store.transaction((writer) => {
      for (const record of records) writer.add(record);
      for (const [at, ms] of [LIMITS.idempotencyMs + 1, LIMITS.idempotencyMs].entries())
        writer.putClaim(`name${at}`, { jobId: idOf(90 + at), bodyHash: '', at: NOW - ms, answer: null });
    });
    await store.close();
    for (const name of [...records.map(({ id }) => id), ...names])
      mkdirSync(join(options.folder, name), { recursive: true });
    const given: string[] = [];
    let isStarted = false;
    const jobs = openBulkJobs(options, {
      runner: { slots: 0, run: () => new Promise(() => {}), close: async () => {} },
      billing: { settle: async ({ id }: { id: string }) => void given.push(id) } as never,
      clock: { now: () => NOW, monotonic: () => 0 },
      random: systemRandom,
      log: silentLogger,
      leases: {
        states: () => [],
        look: async () => {},
        take: async () => ({
          ...{ name: 'scheduler', fence: null, previous: null, isHeld: () => true, release: async () => {} },
          lost: new AbortController().signal,
        }),
      },
    });
    const start = jobs.scheduler.start.bind(jobs.scheduler);
    jobs.scheduler.start = (fence) => {
      isStarted = true;
      start(fence);
    };
    jobs.start();
    await expect.poll(() => isStarted, { interval: 1 }).toBe(true);
    const kept = records.flatMap(({ id, accountId }) => {
      const job = jobs.get(accountId, id);
      return job === null ? [] : ([[id, job]] as const);
    });
    await jobs.close();
    const after = openJobStore({ path: options.storePath }, {});
    const claims = await after.transaction((writer) =>
      [0, 1].map((at) => writer.claim(`name${at}`) !== null),
    );
    const removed = records.filter(({ id }) => after.job(id)?.filesRemoved).map(({ id }) => id);
    await after.close();
    return {
      kept: kept.map(([id]) => id),
      removed,
      given,
      claims,
      folders: jobFoldersIn(options.folder),
    };
  }

  it('keep their files until these expire, and their records for longer', async () => {
    const ended = (number: number, agoMs: number) =>
      recordOf(idOf(number), 1, { state: 'DONE', endedAt: NOW - agoMs, createdAt: NOW - agoMs });
    const left = await leftOf([
      ended(1, JOB_LIMITS.jobKeptMs),
      ended(2, JOB_LIMITS.jobKeptMs - 1),
      ended(3, JOB_LIMITS.jobFilesKeptMs),
      ended(4, JOB_LIMITS.jobFilesKeptMs - 1),
    ]);
    expect(left).toEqual({
      kept: [2, 3, 4].map(idOf),
      removed: [2, 3].map(idOf),
      given: [],
      claims: [false, true],
      folders: [idOf(4)],
    });
  });

  it('lose the files of an interrupted upload, and folders without a job', async () => {
    const receiving = (number: number, agoMs: number, reserved: number) =>
      recordOf(idOf(number), 1, { state: 'RECEIVING', changedAt: NOW - agoMs, reserved });
    const records = [receiving(1, 0, 2), receiving(2, 0, 0)];
    const left = await leftOf(records, { names: [idOf(8), 'notes', `${idOf(8)}0`] });
    expect(left).toMatchObject({ kept: [], given: [idOf(1)], folders: [`${idOf(8)}0`, 'notes'] });
  });

  it('keep an upload that another node may still receive, for a quarter of an hour', async () => {
    const receiving = (number: number, agoMs: number) =>
      recordOf(idOf(number), 1, { state: 'RECEIVING', changedAt: NOW - agoMs, reserved: 0 });
    const minutes = 15 * 60_000;
    const left = await leftOf([receiving(1, minutes), receiving(2, minutes - 1)], { isShared: true });
    expect(left).toMatchObject({ kept: [idOf(2)], folders: [idOf(2)] });
  });
});

describe('folders of jobs of which Redis has lost the record', () => {
  const idOf = (number: number): string => String(number).padStart(28, '0');
  const NOW = Date.UTC(2026, 10, 21);
  const MINUTES = 15 * 60_000;

  it.each([
    { isShared: true, left: [2, 3] },
    { isShared: false, left: [] },
  ])(
    'are kept as long as results if the job was accepted (shared: $isShared)',
    async ({ isShared, left }) => {
      const files = join(folder.path, 'files');
      const make = (number: number, file: string | null, agoMs: number): void => {
        const path = join(files, idOf(number));
        mkdirSync(join(path, 'answers'), { recursive: true });
        if (file !== null) writeFileSync(join(path, file), '');
        utimesSync(path, new Date(NOW - agoMs), new Date(NOW - agoMs));
      };
      make(1, 'input', MINUTES);
      make(2, 'plan', MINUTES);
      make(3, 'answers/0.ab', JOB_LIMITS.jobFilesKeptMs - 1);
      make(4, 'answers/0.ab', JOB_LIMITS.jobFilesKeptMs);
      const jobs = openBulkJobs(
        { storePath: join(folder.path, 'jobs.mdb'), folder: files, isShared },
        {
          runner: { slots: 0, run: () => new Promise(() => {}), close: async () => {} },
          billing: { settle: async () => {} } as never,
          clock: { now: () => NOW, monotonic: () => 0 },
          random: systemRandom,
          log: silentLogger,
        },
      );
      jobs.start();
      await expect.poll(() => jobFoldersIn(files), { interval: 5 }).toEqual(left.map(idOf));
      await jobs.close();
    },
  );
});

it('gives the lease of the scheduler back only when the scheduler has stopped', async () => {
  const steps: string[] = [];
  const jobs = openBulkJobs(
    { storePath: join(folder.path, 'jobs.mdb'), folder: join(folder.path, 'files'), isShared: true },
    {
      runner: { slots: 0, run: () => new Promise(() => {}), close: async () => {} },
      billing: { settle: async () => {} } as never,
      clock: { now: () => 0, monotonic: () => 0 },
      random: systemRandom,
      log: silentLogger,
      leases: {
        states: () => [],
        look: async () => {},
        take: async () => ({
          ...{ name: 'scheduler', fence: null, previous: null, isHeld: () => true },
          release: async () => void steps.push('lease given back'),
          lost: new AbortController().signal,
        }),
      },
    },
  );
  const { scheduler } = jobs;
  const [start, stop] = [scheduler.start.bind(scheduler), scheduler.stop.bind(scheduler)];
  scheduler.start = (fence) => {
    steps.push('started');
    start(fence);
  };
  scheduler.stop = async () => {
    steps.push('stopping');
    await stop();
    await new Promise((resolve) => setImmediate(resolve));
    steps.push('stopped');
  };
  jobs.start();
  await expect.poll(() => steps, { interval: 1 }).toEqual(['started']);
  await jobs.close();
  expect(steps).toEqual(['started', 'stopping', 'stopped', 'lease given back']);
});

it('rejects writes to jobs by an earlier holder of the lease', async () => {
  const taken = new AssayError('STORE_BUSY', 'taken');
  const store = openJobStore(
    { path: join(folder.path, 'jobs.mdb') },
    {
      openStore: (path, version, options) => {
        const live = openLiveStore(path, version, options);
        const root = new Proxy<LiveRoot>(live.root, {
          get(target, name) {
            const value: unknown = Reflect.get(target, name);
            if (name !== 'childTransaction') return typeof value === 'function' ? value.bind(target) : value;
            return (work: () => unknown, fence: Fence | null = null) =>
              fence?.token === 4 ? Promise.reject(taken) : target.childTransaction(work, fence);
          },
        });
        return { ...live, root };
      },
    },
  );
  const add = (id: string, fence?: Fence) =>
    store.transaction((writer) => writer.add(recordOf(id, 1)), fence);
  await expect(add('a', { name: 'scheduler', token: 4 })).rejects.toBe(taken);
  await add('b', { name: 'scheduler', token: 5 });
  await add('c');
  expect(store.openIds()).toEqual(['b', 'c']);
  await store.close();
});

/** The message of a log line, with its reason if it has one. */
function textOf(line: readonly unknown[]): string {
  const { reason } = Object(line[0]) as { readonly reason?: string };
  return reason === undefined ? String(line.at(-1)) : `${line.at(-1)}: ${reason}`;
}

describe('the scheduler', () => {
  const realTimeout = setTimeout;
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const NONE = recordOf('none', 0).prefix;

  /** A scheduler over records in memory and plans of one line per chunk. Its chunks end when the test says so. */
  function world(slots: number) {
    const places = jobPlaces(folder.path);
    const records = new Map<string, JobRecord>();
    const chunks = new Map<string, ChunkRecord>();
    const logged: string[] = [];
    const settled: string[] = [];
    const faults = { write: [] as Error[], settle: [] as Error[] };
    const fences: (Fence | null)[] = [];
    const state = { hasRoom: true as boolean | Error };
    const under = new Map<string, (done: Partial<ChunkDone> | Error) => void>();
    const tasks: ChunkTask[] = [];
    const writer = {
      job: (id: string) => records.get(id) ?? null,
      chunk: (id: string, chunk: number) => chunks.get(`${id} ${chunk}`) ?? null,
      put: (job: JobRecord) => void records.set(job.id, job),
      putChunk: (id: string, chunk: number, record: ChunkRecord) => void chunks.set(`${id} ${chunk}`, record),
    } as unknown as JobWriter;
    const store = {
      job: writer.job,
      chunk: writer.chunk,
      openIds: () => [...records.values()].filter(({ endedAt }) => endedAt === null).map(({ id }) => id),
      async transaction<T>(work: (writer: JobWriter) => T, fence: Fence | null = null): Promise<T> {
        fences.push(fence);
        const fault = faults.write.shift();
        if (fault !== undefined) throw fault;
        return work(writer);
      },
      lost: async () => null,
    } as unknown as JobStore;
    const runner: ChunkRunner = {
      slots,
      close: async () => {},
      run(task) {
        tasks.push(task);
        return new Promise((resolve, reject) => {
          under.set(`${task.jobId} ${task.chunk}`, (done) => {
            under.delete(`${task.jobId} ${task.chunk}`);
            if (done instanceof Error) reject(done);
            else resolve({ items: 1, failed: 0, bytes: 10, ...done });
          });
        });
      },
    };
    const scheduler = createScheduler({
      store,
      places,
      runner,
      billing: {
        priceOf: () => ({ unit: 'intel', perLine: 2 }),
        async settle({ id }: { id: string }, units: number) {
          const fault = faults.settle.shift();
          if (fault !== undefined) throw fault;
          settled.push(`${id} ${units}`);
        },
      } as never,
      clock: { now: () => Date.now(), monotonic: () => performance.now() },
      random: systemRandom,
      log: {
        ...silentLogger,
        warn: (...line: unknown[]) => void logged.push(textOf(line)),
        error: (...line: unknown[]) => void logged.push(textOf(line)),
      } as Logger,
      hasRoom: async () => {
        if (state.hasRoom instanceof Error) throw state.hasRoom;
        return state.hasRoom;
      },
      checkFolder: async () => null,
    });
    const add = (id: string, lines: number, change: Partial<JobRecord> = {}): void => {
      mkdirSync(places.answers(id), { recursive: true });
      const planner = new Planner('labels', { lines: 1, bytes: 1_000 });
      planner.take(Buffer.from('x\n'.repeat(lines)));
      writeFileSync(places.plan(id), planner.finish().fileBytes);
      writeFileSync(places.input(id), 'x');
      records.set(id, recordOf(id, lines, change));
    };
    /** Waits for the disk too. */
    const until = async (isDone: () => boolean): Promise<void> => {
      for (let look = 0; look < 10_000 && !isDone(); look++)
        await new Promise((resolve) => realTimeout(resolve, 1));
      expect(isDone()).toBe(true);
    };
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
    const end = async (name: string, done: Partial<ChunkDone> | Error = {}): Promise<void> => {
      under.get(name)?.(done);
      await turns();
    };
    const job = (id: string): JobRecord => records.get(id) as JobRecord;
    const names = () => tasks.map(({ jobId, chunk }) => `${jobId} ${chunk}`);
    const isEnded = (id: string) => () => job(id).endedAt !== null;
    const over = { scheduler, records, chunks, fences, logged, settled, faults, state, under, tasks, places };
    return { ...over, add, until, turns, end, job, names, isEnded };
  }

  it('takes turns between accounts and between the jobs of an account, with one chunk per slot', async () => {
    const { scheduler, add, until, names, under, end, isEnded, settled } = world(2);
    add('j1', 2);
    add('j2', 2);
    add('k1', 3, { accountId: 'b' });
    scheduler.start(null);
    expect([scheduler.jobs, scheduler.chunks]).toEqual([3, 2]);
    while (names().length < 7) {
      const before = names().length;
      const [first] = under.keys();
      await end(first as string);
      await until(() => names().length > before);
      expect(under.size).toBe(2);
    }
    expect(names()).toEqual(['j1 0', 'k1 0', 'j2 0', 'k1 1', 'j1 1', 'k1 2', 'j2 1']);
    const ended = scheduler.whenEnded('j2');
    for (const name of [...under.keys()]) await end(name);
    await until(() => ['j1', 'j2', 'k1'].every((id) => isEnded(id)()));
    await ended;
    expect([settled.sort(), scheduler.jobs]).toEqual([['j1 4', 'j2 4', 'k1 6'], 0]);
    await scheduler.stop();
  });

  it('starts no chunk while twice as many chunks as slots wait for the store', async () => {
    const { scheduler, add, faults, names, end, until, isEnded, logged } = world(1);
    add('j', 5);
    scheduler.start(null);
    await until(() => names().length === 1);
    // The start is written; then writes to the disk fail for a second.
    const fault = new Error('no');
    faults.write.push(...Array.from({ length: 100 }, () => fault));
    await end('j 0');
    await until(() => logged.length > 0);
    expect(logged[0]).toBe('chunks of bulk jobs not recorded: no');
    await end('j 1');
    await end('j 2');
    expect(names()).toEqual(['j 0', 'j 1', 'j 2']);
    faults.write.length = 0;
    await vi.advanceTimersByTimeAsync(15_000);
    for (const chunk of [3, 4]) {
      await until(() => names().length === chunk + 1);
      await end(`j ${chunk}`);
    }
    await until(isEnded('j'));
    await scheduler.stop();
  });

  it('fails a job after three answers of a chunk with too few lines, and logs the reason', async () => {
    const { scheduler, add, until, names, end, isEnded, job, settled, logged } = world(1);
    add('j', 2);
    scheduler.start(null);
    await end('j 0', { failed: 1 });
    await until(() => job('j').answered === 1);
    for (let attempt = 1; attempt <= JOB_LIMITS.jobChunkAttempts; attempt++) {
      await until(() => names().filter((name) => name === 'j 1').length === attempt);
      await end('j 1', { items: 2 });
    }
    await until(isEnded('j'));
    expect(job('j')).toMatchObject({ state: 'FAILED', answered: 1, failed: 1, spent: 0 });
    expect(job('j').error).toContain('could not be processed');
    expect([settled, logged.length]).toEqual([['j 0'], JOB_LIMITS.jobChunkAttempts]);
    expect(logged[0]).toContain('chunk 1 has 2 answers for 1 lines');
    await scheduler.stop();
  });

  it('expects no answer for a header line, and fails at once if no retry can help', async () => {
    const { scheduler, add, until, end, fences, isEnded, job, tasks } = world(4);
    const fence = { name: 'scheduler', token: 7 };
    add('head', 2, { headBytes: 2, items: 1 });
    add('bad', 2, { accountId: 'b' });
    scheduler.start(fence);
    await until(() => tasks.length === 4);
    expect(tasks.find(({ jobId }) => jobId === 'head')).toMatchObject({ firstLine: 2, input: { start: 2 } });
    await end('head 0', { items: 0 });
    await until(() => job('head').prefix.chunks === 1);
    await end('head 1');
    await until(isEnded('head'));
    expect(job('head')).toMatchObject({ state: 'DONE', answered: 1, spent: 2 });
    await end('bad 1', new AssayError('INVALID_REQUEST', 'Nobody may ask for it.'));
    await until(isEnded('bad'));
    expect(job('bad')).toMatchObject({ state: 'FAILED', error: 'Nobody may ask for it.' });
    await scheduler.stop();
    // Starts, chunks, failures and ends all carry this fence: an earlier scheduler wrote none of them.
    expect(new Set(fences)).toEqual(new Set([fence]));
  });

  it('retries chunks that cannot run now, with a doubling delay and without counting an attempt', async () => {
    const { scheduler, add, until, end, isEnded, names, logged } = world(1);
    add('j', 1);
    scheduler.start(null);
    for (const [at, code] of (['NOT_READY', 'OVERLOADED', 'STORAGE_FULL', 'NOT_READY'] as const).entries()) {
      await until(() => names().length === at + 1);
      await end('j 0', new AssayError(code, 'later'));
      await vi.advanceTimersByTimeAsync(250 * 2 ** at - 1);
      expect(names()).toHaveLength(at + 1);
      await vi.advanceTimersByTimeAsync(1);
    }
    await until(() => names().length === 5);
    await end('j 0');
    await until(isEnded('j'));
    expect(logged).toEqual([]);
    await scheduler.stop();
  });

  it('resumes running jobs, completes jobs that were ending, and fails jobs without a plan', async () => {
    const { scheduler, add, chunks, until, names, end, isEnded, job, settled, places } = world(4);
    const answered = { file: 'f', items: 1, failed: 0, bytes: 10 };
    add('receiving', 1, { state: 'RECEIVING' });
    add('ended', 1, { endedAt: 5 });
    add('ending', 3, { ending: 'CANCELLED', answered: 2, prefix: { ...NONE, chunks: 1, items: 1 } });
    add('unplanned', 1);
    writeFileSync(places.plan('unplanned'), 'torn');
    // Chunks 0 and 2 are answered: 1 is the gap.
    add('half', 4, { answered: 2, prefix: { ...NONE, chunks: 1, items: 1, bytes: 10 } });
    for (const chunk of [0, 2]) chunks.set(`half ${chunk}`, answered);
    scheduler.start(null);
    await until(() => isEnded('ending')() && isEnded('unplanned')());
    expect(job('ending')).toMatchObject({ state: 'CANCELLED', answered: 1, spent: 2 });
    expect(job('unplanned')).toMatchObject({
      state: 'FAILED',
      error: 'The input of the job is missing or damaged.',
    });
    expect(existsSync(places.input('ending'))).toBe(false);
    expect(names()).toEqual(['half 1', 'half 3']);
    await end('half 3', { bytes: 5 });
    await until(() => job('half').answered === 3);
    expect(job('half').prefix).toMatchObject({ chunks: 1 });
    await end('half 1');
    await until(isEnded('half'));
    expect(job('half')).toMatchObject({
      state: 'DONE',
      answered: 4,
      prefix: { chunks: 4, items: 4, bytes: 35 },
    });
    expect(settled.sort()).toEqual(['ending 2', 'half 8', 'unplanned 0']);
    await scheduler.stop();
  });

  it('counts a chunk once if another node answered it, and ignores answers for an ended job', async () => {
    const { scheduler, add, chunks, records, until, end, isEnded, job, turns } = world(2);
    const other = { file: 'of another', items: 1, failed: 0, bytes: 7 };
    add('j', 2);
    scheduler.start(null);
    await turns();
    chunks.set('j 0', other);
    records.set('j', { ...job('j'), answered: 1 });
    await end('j 0');
    expect([job('j').answered, chunks.get('j 0')]).toEqual([1, other]);
    await end('j 1');
    await until(isEnded('j'));
    expect(job('j')).toMatchObject({ answered: 2, prefix: { chunks: 2, bytes: 17 } });
    add('stopped', 1);
    scheduler.wake();
    await turns();
    records.set('stopped', { ...job('stopped'), ending: 'CANCELLED' });
    await end('stopped 0');
    scheduler.wake();
    await until(isEnded('stopped'));
    expect(job('stopped')).toMatchObject({ answered: 0, state: 'CANCELLED' });
    expect(chunks.has('stopped 0')).toBe(false);
    await scheduler.stop();
  });

  it('starts no chunk while the disk is full, logs it once, and forgets deleted jobs', async () => {
    const { scheduler, add, state, names, end, logged, records, turns } = world(1);
    add('j', 3);
    scheduler.start(null);
    await turns();
    state.hasRoom = false;
    await vi.advanceTimersByTimeAsync(2_000);
    await end('j 0');
    await vi.advanceTimersByTimeAsync(2_000);
    expect([names(), logged]).toEqual([['j 0'], ['bulk jobs paused: too little disk space']]);
    state.hasRoom = new Error('no device');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(logged.at(-1)).toContain('unknown: no device');
    state.hasRoom = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(names()).toEqual(['j 0', 'j 1']);
    const gone = scheduler.whenEnded('j');
    records.delete('j');
    scheduler.wake();
    await gone;
    expect(scheduler.jobs).toBe(0);
    await scheduler.stop();
  });

  it('retries a failed settlement, and stops within five seconds of the request', async () => {
    const { scheduler, add, faults, until, end, isEnded, logged, names, under, turns } = world(1);
    add('j', 1);
    faults.settle.push(new Error('away'), new Error('away'));
    scheduler.start(null);
    await until(() => names().length === 1);
    await end('j 0');
    await until(() => logged.length === 1);
    expect(logged[0]).toBe('charge of a bulk job not settled: away');
    await vi.advanceTimersByTimeAsync(250);
    await until(() => logged.length === 2);
    await vi.advanceTimersByTimeAsync(500);
    await until(isEnded('j'));
    add('slow', 2);
    scheduler.wake();
    await until(() => under.size === 1);
    let isStopped = false;
    void scheduler.stop().then(() => (isStopped = true));
    await vi.advanceTimersByTimeAsync(4_999);
    await turns();
    expect(isStopped).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await until(() => isStopped);
    expect([scheduler.jobs, names()]).toEqual([0, ['j 0', 'slow 0']]);
  });
});
