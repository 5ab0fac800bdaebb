import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/base/kernel.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { REFUSED } from '../../src/labels/csv-rests.ts';
import { type FastColumns, WINDOW_SLACK_BYTES, WindowReader } from '../../src/labels/csv-window.ts';

const ETH = 1;

/** What readers with and without the kernel make of windows, of which the first begins with a header. */
function read(columns: FastColumns, windows: readonly string[], useKernel: boolean) {
  const reader = new WindowReader(columns, useKernel);
  const known = new Map<string, number>();
  return windows.map((text, number) => {
    const bytes = Buffer.alloc(Buffer.byteLength(text) + WINDOW_SLACK_BYTES, ',');
    reader.begin(bytes, bytes.write(text), number === 0);
    const fresh = reader.takeFresh();
    const rests = fresh === null ? [] : Buffer.from(fresh).toString().split('\n').slice(0, -1);
    reader.explain(
      Int32Array.from(
        rests.flatMap((rest) => {
          known.set(rest, known.size);
          return [ETH, rest.includes('refused') ? REFUSED : known.size];
        }),
      ),
    );
    const { records, count, ...others } = reader.finish();
    return {
      ...others,
      rests,
      records: Buffer.from(records.buffer, 0, count * 32).toString('base64'),
      count,
    };
  });
}

function expectSame(columns: FastColumns, windows: readonly string[]) {
  const kernel = read(columns, windows, true);
  expect(kernel).toEqual(read(columns, windows, false));
  return kernel;
}

const next = seededUint32(7);
const pick = <T>(values: readonly T[]): T => values[next() % values.length] as T;
const address = (): string => `0x${Array.from({ length: 40 }, () => (next() % 16).toString(16)).join('')}`;
const text = (): string =>
  'abcdefghijklmnopqrstuvwxyz é0123456789'.repeat(3).slice(next() % 30, 30 + (next() % 60));
const day = (): string => pick(['', '2020-01-05', '2021-12-31', '2020-02-30', '2020']);
const end = (): string => pick(['\n', '\n', '\n', '\n', '\r\n', '\n\n', '\n\r\n']);

/** A row that is not plain, or almost. */
const odd = (): string =>
  pick([
    `${address()},A,"quoted, ${text()}",,`,
    `${address()},A,"two\nlines",,`,
    `${address()},A,${text()}`,
    `${address()},A,${text()},,,,`,
    `no address,A,${text()},,`,
    `${address()},A,refused,,`,
    ',,,,',
    '"',
    `${address()},A,half "quoted",,`,
  ]).replace(/^"$/, '""');

describe('the kernel that reads rows of a CSV', () => {
  it('is built', () => expect(loadKernel('label-rows')).not.toBeNull());

  it('gives the same records, rests and rows that are not plain', () => {
    const names = Array.from({ length: 40 }, text);
    const windows = Array.from({ length: 12 }, (_, number) => {
      let rows = number === 0 ? 'address,chain,name,first_seen,last_seen\n' : '';
      for (let row = 0; row < 700; row++) {
        const name = next() % 3 === 0 ? `${text()}${next()}` : pick(names);
        rows +=
          next() % 20 === 0 ? odd() : `${address()},${pick(['A', '', 'chain'])},${name},${day()},${day()}`;
        rows += end();
      }
      return `${rows}\n`;
    });
    const columns = { count: 5, address: 0, firstSeen: 3, lastSeen: 4 };
    const results = expectSame(columns, windows);
    expect(results.every(({ count, slow }) => count > 200 && slow.length > 100)).toBe(true);
    expectSame({ ...columns, latestDay: 18_300 }, windows);
    // The address and dates between other columns: the rest has several parts.
    const turned = windows.map((rows) => rows.replace(/^(0x\w+),([^,\n]*),([^,\n]*),/gm, '$2,$1,$3,'));
    expectSame({ count: 5, address: 1, firstSeen: -1, lastSeen: 3 }, turned);
  });

  it('gives the same results if the last column has commas and quotes', () => {
    const tails = ['one', 'two, more', '"quoted, more",x,y', '"a","b"', '', 'a""b'];
    const windows = Array.from({ length: 6 }, (_, number) => {
      let rows = number === 0 ? 'chain,address,tail\n' : '';
      for (let row = 0; row < 400; row++) {
        const tail = next() % 30 === 0 ? '"two\nlines"' : `${pick(tails)}${text()}`;
        rows += `chain ${next() % 3},${next() % 40 === 0 ? `"${address()}"` : address()},${tail}${end()}`;
      }
      return rows;
    });
    const columns = { count: 3, address: 1, firstSeen: -1, lastSeen: -1, hasTail: true };
    expect(expectSame(columns, windows).every(({ count }) => count > 300)).toBe(true);
  });

  it('gives the same results for rests of any length, and for so many that hashes collide', () => {
    const columns = { count: 3, address: 0, firstSeen: -1, lastSeen: 2 };
    const lengths = Array.from({ length: 400 }, (_, length) => `${address()},${'x'.repeat(length)},\n`).join(
      '',
    );
    const zeros = Array.from({ length: 40 }, (_, length) => `${address()},${'\0'.repeat(length)},\n`).join(
      '',
    );
    const many = Array.from({ length: 150_000 }, (_, n) => `${address()},#${n.toString(36)},\n`).join('');
    const results = expectSame(columns, [
      'address,name,last_seen\n',
      `${lengths}${zeros}${lengths}`,
      many,
      `${address()},${'long '.repeat(500_000)},\n${address()},${'long '.repeat(500_000)}er,\n`,
      `${many}${zeros}`,
    ]);
    expect(results.map(({ rests }) => rests.length)).toEqual([0, 439, 150_000, 2, 0]);
  });
});
