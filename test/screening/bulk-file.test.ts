import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { currentSnapshot, leaseCurrent } from '../../src/labels/index/folder.ts';
import {
  type BulkFileDeps,
  type BulkFileOptions,
  type BulkFileResult,
  runBulkFile,
} from '../../src/screening/bulk-file.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { type LabelFolder, labelFolder } from '../jobs/label-folder.ts';

const EXCHANGE = '0x28c6c06298d514db089934071355e5743bf21d60';

let world: LabelFolder;
let deps: BulkFileDeps;

beforeAll(async () => {
  world = labelFolder();
  await world.publish({ [EXCHANGE]: 'Binance' });
  deps = {
    snapshotsFolder: world.snapshotsFolder,
    labelsFolder: world.path,
    listMaxAgeDays: 7,
    clock: systemClock,
  };
});
afterAll(() => world.remove());

/** Writes a file of the world and gives its path. */
function file(name: string, text: string | Buffer): string {
  const path = join(world.path, name);
  writeFileSync(path, text);
  return path;
}

const wallet = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

interface Line {
  readonly address: string;
  readonly sanctioned?: boolean;
  readonly reasonCodes?: readonly string[];
  readonly labels?: readonly { name: string }[];
  readonly error?: string;
  readonly line?: number;
}

const linesOf = (text: string): Line[] => {
  expect(text === '' || text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
};

async function run(
  text: string | Buffer,
  more: Partial<BulkFileOptions> = {},
): Promise<{ lines: Line[]; result: BulkFileResult }> {
  const input = file('in.txt', text);
  const output = join(world.path, 'out.ndjson');
  const result = await runBulkFile({ input, output, chain: 'ETH', threads: 2, ...more }, deps);
  return { lines: linesOf(readFileSync(output, 'utf8')), result };
}

describe('a bulk file', () => {
  it('answers every line in its place, with several threads and blocks', async () => {
    const count = 150_000;
    const bad = new Set([0, 7, 24_000, 25_000, 99_999, count - 1]);
    const text = Array.from({ length: count }, (_, index) =>
      bad.has(index) ? `bad ${index}` : index % 1000 === 1 ? EXCHANGE : wallet(index),
    ).join('\n');
    expect(text.length).toBeGreaterThan(4 * SCREENING_LIMITS.bulkBlockBytes);
    const counts: number[] = [];
    const { lines, result } = await run(`${text}\n`, { onProgress: ({ count: done }) => counts.push(done) });
    expect(result).toMatchObject({
      lines: count,
      failed: bad.size,
      complete: true,
      bytesRead: text.length + 1,
    });
    expect(lines.length).toBe(count);
    for (const [index, line] of lines.entries()) {
      if (bad.has(index)) {
        expect(line).toMatchObject({ address: `bad ${index}`, line: index + 1 });
        expect(line.error).toBeTypeOf('string');
        continue;
      }
      const labelled = index % 1000 === 1;
      if (line.address !== (labelled ? EXCHANGE : wallet(index)))
        throw new Error(`line ${index + 1} is in the wrong place`);
      if (line.labels?.[0]?.name !== (labelled ? 'Binance' : undefined))
        throw new Error(`line ${index + 1}: labels`);
    }
    expect(counts.at(-1)).toBe(count);
  });

  it('never reports an address as not sanctioned without a reason while lists are missing', async () => {
    const { lines, result } = await run(`${EXCHANGE}\n${wallet(1)}\nbad\n`);
    expect(result.staleReason?.message).toContain('OFAC_SDN (never loaded)');
    const codes = lines.map(({ sanctioned, reasonCodes }) => ({ sanctioned, reasonCodes }));
    const qualified = { sanctioned: false, reasonCodes: ['STALE_OR_MISSING_DATA'] };
    expect(codes).toEqual([qualified, qualified, {}]);
  });

  it('has the same bytes with one and with four threads', async () => {
    const text = Array.from({ length: 60_000 }, (_, index) => (index % 97 === 0 ? 'x' : wallet(index))).join(
      '\n',
    );
    const one = await run(text, { threads: 1 });
    const four = await run(text, { threads: 4 });
    expect(four.lines).toEqual(one.lines);
  });

  it('accepts blanks, CRLF, a byte order mark, empty lines and a last line without a line break', async () => {
    const { lines } = await run(`\ufeff  ${EXCHANGE.toUpperCase().replace('X', 'x')}\t\r\n\r\n${wallet(1)}`);
    expect(lines.map(({ address, line }) => [address, line])).toEqual([
      [EXCHANGE, undefined],
      ['', 2],
      [wallet(1), undefined],
    ]);
  });

  it('reports one error for a line of any length, in bounded memory', async () => {
    const { lines } = await run(
      `${wallet(1)}\n${'y'.repeat(3 * SCREENING_LIMITS.bulkBlockBytes)}\n${wallet(2)}\n`,
    );
    expect(lines.length).toBe(3);
    expect(lines[1]).toMatchObject({ line: 2 });
    expect(lines[1]!.address.length).toBeLessThan(600);
    expect(lines[2]!.address).toBe(wallet(2));
  });

  it('is empty for an empty input', async () => {
    expect((await run('')).lines).toEqual([]);
  });

  it('shows other chains in their canonical form', async () => {
    const { lines } = await run(`1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n${EXCHANGE}\n`, { chain: 'BTC' });
    expect(lines.map((line) => line.error === undefined)).toEqual([true, false]);
  });

  it('stops on request with whole lines written', async () => {
    const stop = new AbortController();
    stop.abort();
    const { lines, result } = await run(`${wallet(1)}\n`, { signal: stop.signal });
    expect(lines).toEqual([]);
    expect(result.complete).toBe(false);
  });

  it('names a file that cannot be opened or written', async () => {
    await expect(run('', { input: '/nowhere/in' })).rejects.toMatchObject({
      code: 'INVALID_FILE',
      field: 'input',
    });
    await expect(run('', { output: '/nowhere/out' })).rejects.toMatchObject({
      code: 'INVALID_FILE',
      field: 'output',
    });
    const readOnly = openSync(file('ro', ''), 'r');
    await expect(run(`${wallet(1)}\n`, { output: readOnly })).rejects.toThrow(/output cannot be written/);
    closeSync(readOnly);
  });

  it('leaves its input unchanged if it is also the output, by whatever path', async () => {
    const input = file('same.txt', `${wallet(1)}\n`);
    const link = join(world.path, 'link.txt');
    symlinkSync(input, link);
    for (const output of [input, join(world.path, '.', '..', basename(world.path), 'same.txt'), link])
      await expect(run('', { input, output })).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: `output: '${output}' is the input; give another file.`,
      });
    expect(readFileSync(input, 'utf8')).toBe(`${wallet(1)}\n`);
  });

  it('reports a missing index', async () => {
    const input = file('one.txt', `${wallet(1)}\n`);
    await expect(
      runBulkFile(
        { input, output: join(world.path, 'o'), chain: 'ETH', threads: 2 },
        { ...deps, snapshotsFolder: join(world.path, 'none') },
      ),
    ).rejects.toMatchObject({ code: 'NOT_READY' });
  });

  it('reads one snapshot, whatever is published while its threads start', async () => {
    const own = labelFolder();
    try {
      await own.publish({ [EXCHANGE]: 'Earlier' });
      const mark = join(own.snapshotsFolder, 'CURRENT');
      const earlier = readFileSync(mark);
      const leased = leaseCurrent(own.snapshotsFolder);
      await own.publish({ [EXCHANGE]: 'Later' });
      const later = readFileSync(mark);
      expect(later.equals(earlier)).toBe(false);
      const input = file('pinned.txt', `${EXCHANGE}\n`.repeat(20_000));
      const output = join(world.path, 'pinned.ndjson');
      writeFileSync(mark, earlier);
      const running = runBulkFile(
        { input, output, chain: 'ETH', threads: 2 },
        { ...deps, snapshotsFolder: own.snapshotsFolder, labelsFolder: own.path },
      );
      // No thread has started yet: each of them would open the later snapshot.
      writeFileSync(mark, later);
      await running;
      leased?.lease.release();
      const names = new Set(linesOf(readFileSync(output, 'utf8')).map(({ labels }) => labels?.[0]?.name));
      expect([...names]).toEqual(['Earlier']);
    } finally {
      own.remove();
    }
  });

  it('locks its snapshot while it runs, and releases it at the end', async () => {
    const own = labelFolder();
    try {
      await own.publish({ [EXCHANGE]: 'Earlier' });
      const held = currentSnapshot(own.snapshotsFolder) as string;
      const input = file('held.txt', `${EXCHANGE}\n`);
      const running = runBulkFile(
        { input, output: join(world.path, 'held.ndjson'), chain: 'ETH', threads: 1 },
        { ...deps, snapshotsFolder: own.snapshotsFolder, labelsFolder: own.path },
      );
      expect(readdirSync(join(held, 'leases')).length).toBe(1);
      await running;
      expect(readdirSync(join(held, 'leases'))).toEqual([]);
    } finally {
      own.remove();
    }
  });

  it('leaves the output file unchanged if no index was built', async () => {
    const output = file('kept.ndjson', 'of an earlier run\n');
    await expect(
      runBulkFile(
        { input: file('two.txt', `${wallet(1)}\n`), output, chain: 'ETH', threads: 1 },
        { ...deps, snapshotsFolder: join(world.path, 'none') },
      ),
    ).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(readFileSync(output, 'utf8')).toBe('of an earlier run\n');
  });

  it('streams from pipe to pipe: the first answer comes before the input ends', async () => {
    const script = `
      import { runBulkFile } from ${JSON.stringify(`${projectRoot}/dist/src/screening/bulk-file.js`)};
      import { systemClock } from ${JSON.stringify(`${projectRoot}/dist/src/base/clock.js`)};
      const deps = { ...JSON.parse(process.argv[2]), clock: systemClock };
      const { lines } = await runBulkFile({ input: 0, output: 1, chain: 'ETH', threads: 2 }, deps);
      process.stderr.write(String(lines));`;
    const child = spawn(process.execPath, [file('pipe.mjs', script), JSON.stringify(deps)]);
    let out = '';
    let err = '';
    const answered = new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        if (out.includes('\n')) resolve();
      });
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString();
    });
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    child.stdin.write(`${EXCHANGE}\n${wallet(5).slice(0, 10)}`);
    await answered;
    expect(linesOf(out)[0]!.address).toBe(EXCHANGE);
    child.stdin.end(
      `${wallet(5).slice(10)}\n${Array.from({ length: 50_000 }, (_, index) => wallet(index)).join('\n')}`,
    );
    expect(await ended).toBe(0);
    const lines = linesOf(out);
    expect(lines.length).toBe(50_002);
    expect(lines[1]!.address).toBe(wallet(5));
    expect(lines.at(-1)!.address).toBe(wallet(49_999));
    expect(err).toBe('50002');
  });
});
