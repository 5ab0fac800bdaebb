import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAddressKey } from '../../src/chains/address/parse.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import { type FastImportStats, importPlainCsv } from '../../src/labels/fast-import.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import { openSnapshot } from '../../src/labels/index/snapshot.ts';
import { build, template } from './index/world.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-fast-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const COLUMNS = { count: 5, address: 0, firstSeen: 3, lastSeen: 4 };
const address = (number: number): string => `0xf${(number + 1).toString(16).padStart(39, '0')}`;

interface Outcome extends FastImportStats {
  readonly slow: (readonly [row: string, line: number])[];
  readonly resolved: string[];
  readonly labels: (text: string) => { name: string; firstSeen: string | null; lastSeen: string | null }[];
}

async function run(csv: string): Promise<Outcome> {
  const path = join(folder, 'labels.csv');
  writeFileSync(path, csv);
  const segment = createSegmentWriter(join(folder, 'segment'));
  const slow: [string, number][] = [];
  const resolved: string[] = [];
  const stats = await importPlainCsv(
    {
      path,
      columns: COLUMNS,
      resolve: (fields) => {
        resolved.push(fields.join('|'));
        return fields[2] === 'refused' || fields[1] !== 'ETH'
          ? null
          : { chain: fields[1] as ChainId, template: template(fields[2] as string) };
      },
      slowRow: (row, line) => slow.push([row, line]),
    },
    { segment },
  );
  // One extra label, so that there is always something to build.
  const padding = new Uint8Array(22).fill(9);
  segment.add(padding, 0, 22, segment.template(template('padding')), 0, 0);
  await segment.close();
  await build(join(folder, 'snapshots'), [join(folder, 'segment')]);
  const reader = openSnapshot(currentSnapshot(join(folder, 'snapshots')) as string);
  return {
    ...stats,
    slow,
    resolved,
    labels: (text) => {
      const key = new Uint8Array(512);
      const length = writeAddressKey('ETH', Buffer.from(text), 0, text.length, key, 0);
      return reader
        .lookup(key.slice(0, length), 'ETH')
        .map(({ entity, firstSeen, lastSeen }) => ({ name: entity.name, firstSeen, lastSeen }));
    },
  };
}

const HEADER = 'address,chain,name,first_seen,last_seen\n';

it.each([0, 2])('stops within a window of slow rows if it is interrupted, %i threads', async (threads) => {
  const path = join(folder, 'slow.csv');
  const rows = 20_000;
  writeFileSync(
    path,
    HEADER + Array.from({ length: rows }, (_, n) => `no address ${n},ETH,name,,\n`).join(''),
  );
  const interrupt = new AbortController();
  let taken = 0;
  await expect(
    importPlainCsv(
      {
        path,
        columns: COLUMNS,
        resolve: () => null,
        // Like a system signal, which the event loop delivers.
        slowRow: () => {
          if (taken++ === 0) setImmediate(() => interrupt.abort());
        },
        signal: interrupt.signal,
        threads,
      },
      { segment: createSegmentWriter(join(folder, 'slow')) },
    ),
  ).rejects.toThrow('aborted');
  expect(taken).toBeLessThan(rows);
});

describe('the fast import of CSV on several threads', () => {
  let kept = '';
  /** Four and a half windows: rows that share, rows of their own, quotes with line feeds, faults, late rests, CR LF. */
  const mixed = (): string => {
    if (kept !== '') return kept;
    let csv = HEADER;
    for (let n = 0; csv.length < 18 * 1024 * 1024; n++) {
      const name = n % 7 === 0 ? `Own ${n % 20_011}` : `Exchange ${n % 3}`;
      if (n % 1_009 === 0) csv += `${address(n)},ETH,"Quoted,\n${n}",,\r\n`;
      else if (n % 1_013 === 0) csv += `${address(n)},ETH,${name},2020-02-30,\n`;
      else if (n % 1_019 === 0) csv += `no address ${n},ETH,${name},,\n`;
      else if (n % 1_021 === 0) csv += `${address(n)},ETH,refused,,\n`;
      else csv += `${address(n)},ETH,${name},2020-01-0${1 + (n % 9)},${n % 2 === 0 ? '' : '2021-03-04'}\n`;
    }
    kept = csv;
    return csv;
  };

  async function segmentOf(path: string, threads: number) {
    const segment = createSegmentWriter(join(folder, `threads-${threads}`));
    const slow: string[] = [];
    const stats = await importPlainCsv(
      {
        path,
        columns: COLUMNS,
        threads,
        resolve: (fields) =>
          fields[2] === 'refused' ? null : { chain: 'ETH', template: template(fields[2] as string) },
        slowRow: (row, line) => slow.push(`${line} ${row}`),
      },
      { segment },
    );
    const { recordsSha256, labels } = await segment.close();
    return {
      stats,
      slow,
      labels,
      recordsSha256,
      templates: readFileSync(join(folder, `threads-${threads}.templates`), 'utf8'),
    };
  }

  it('gives the same bytes as one thread', async () => {
    const path = join(folder, 'mixed.csv');
    writeFileSync(path, mixed());
    const alone = await segmentOf(path, 0);
    expect(alone.slow.length).toBeGreaterThan(500);
    expect(alone.labels).toBe(alone.stats.rows - alone.stats.slowRows);
    const lines = readFileSync(path, 'utf8').split('\n');
    for (const reject of alone.slow) {
      const line = Number(reject.split(' ', 1)[0]);
      const text = reject.slice(`${line} `.length);
      expect(lines.slice(line - 1, line - 1 + text.split('\n').length).join('\n')).toBe(
        text.includes('Quoted') ? `${text}\r` : text,
      );
    }
    expect(await segmentOf(path, 1)).toEqual(alone);
    expect(await segmentOf(path, 3)).toEqual(alone);
  });

  it('ends with the error of the caller, and with the error of an unterminated row', async () => {
    const path = join(folder, 'broken.csv');
    writeFileSync(path, `${mixed()}${'x'.repeat(5 * 1024 * 1024)}`);
    await expect(segmentOf(path, 2)).rejects.toMatchObject({ code: 'INVALID_FILE' });
    const segment = createSegmentWriter(join(folder, 'refusing'));
    const refusing = importPlainCsv(
      {
        path,
        columns: COLUMNS,
        threads: 2,
        resolve: () => {
          throw new Error('no such thing');
        },
        slowRow: () => undefined,
      },
      { segment },
    );
    await expect(refusing).rejects.toThrow('no such thing');
    segment.abort();
  });
});

describe('the fast import of CSV', () => {
  it('reads every row, and resolves shared values once', async () => {
    const rows = Array.from(
      { length: 30_000 },
      (_, n) => `${address(n)},ETH,Exchange ${n % 3},2020-02-29,\n`,
    );
    const outcome = await run(HEADER + rows.join(''));
    expect(outcome).toMatchObject({ rows: 30_000, slowRows: 0, distinctRests: 3 });
    expect(outcome.resolved).toEqual(['|ETH|Exchange 0||', '|ETH|Exchange 1||', '|ETH|Exchange 2||']);
    for (const number of [0, 1, 14_999, 29_999]) {
      expect(outcome.labels(address(number))).toEqual([
        { name: `Exchange ${number % 3}`, firstSeen: '2020-02-29', lastSeen: null },
      ]);
    }
    expect(outcome.labels(address(30_000))).toEqual([]);
  });

  it('accepts CR LF, empty lines, and a last line without a line break', async () => {
    const outcome = await run(
      `${HEADER.trimEnd()}\r\n${address(1)},ETH,A,,2021-01-02\r\n\r\n${address(2)},ETH,A,,\r\n${address(3)},ETH,A,2020-01-01,2021-01-02`,
    );
    expect(outcome).toMatchObject({ rows: 3, slowRows: 0 });
    expect(outcome.labels(address(1))).toEqual([{ name: 'A', firstSeen: null, lastSeen: '2021-01-02' }]);
    expect(outcome.labels(address(2))).toEqual([{ name: 'A', firstSeen: null, lastSeen: null }]);
    expect(outcome.labels(address(3))).toEqual([
      { name: 'A', firstSeen: '2020-01-01', lastSeen: '2021-01-02' },
    ]);
  });

  it('passes unusual rows to the slower path, with their line numbers', async () => {
    const odd = [
      `${address(1)},ETH,"Quoted, name",,`,
      `${address(2)},ETH,"two\nlines",,`,
      `${address(3)},ETH,A,2020-02-30,`,
      `${address(4)},ETH,A,,2020`,
      `${address(5)},ETH,A,`,
      `${address(6)},ETH,A,,,`,
      `not an address,ETH,A,,`,
      `0x${'0'.repeat(40)},ETH,A,,`,
      `${address(7)},ETH,refused,,`,
      `${address(8)},ETH,refused,,`,
    ];
    const outcome = await run(`${HEADER}${address(0)},ETH,A,,\n${odd.join('\n')}\n${address(9)},ETH,A,,\n`);
    expect(outcome.slow.map(([row]) => row)).toEqual(odd);
    expect(outcome.slow.map(([, line]) => line)).toEqual([3, 4, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect(outcome).toMatchObject({ rows: 12, slowRows: 10 });
    expect(outcome.labels(address(0))).toHaveLength(1);
    expect(outcome.labels(address(9))).toHaveLength(1);
  });

  it('distinguishes rows that differ only in the position of a comma', async () => {
    const outcome = await run(`${HEADER}${address(1)},ETH,A,,\n${address(2)},ET,HA,,\n`);
    expect(outcome.resolved).toEqual(['|ETH|A||', '|ET|HA||']);
  });

  it('ends with an error for an unterminated row', async () => {
    await expect(run(`${HEADER}${'x'.repeat(5 * 1024 * 1024)}`)).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
    const open = await run(`${HEADER}${address(1)},ETH,"never closed,,\n${address(2)},ETH,A,,\n`);
    expect(open).toMatchObject({ rows: 1, slowRows: 1 });
  });
});
