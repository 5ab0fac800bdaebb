import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { type HalvesRequest, HalvesThread } from '../../../src/graph/store/bulk-halves.ts';
import { columnMemory, RunColumns } from '../../../src/graph/store/run-columns.ts';
import {
  FLAG_LARGE,
  FLAG_PRICED,
  HALF_AMOUNT,
  HALF_CENTS,
  HALF_COUNTERPARTY,
  HALF_INDEX,
  HALF_NODE,
  HALF_TIME,
  HALF_WORDS,
  RunReader,
} from '../../../src/graph/store/runs.ts';

const FIRST = 5_000;
const COUNT = 3_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-halves-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Transfers with a missing side, to oneself, of a hub, without a price and of a large amount. */
function request(path: string): HalvesRequest {
  const memory = columnMemory(COUNT);
  const columns = new RunColumns(memory, COUNT);
  const next = seededUint32(3);
  for (let at = 0; at < COUNT; at++) {
    columns.from[at] = next() % 10 === 0 ? 0 : 1 + (next() % 900);
    columns.to[at] = next() % 3 === 0 ? 7 : 1 + (next() % 900);
    if (at % 50 === 0) columns.to[at] = columns.from[at] as number;
    columns.times[at] = 1_655_769_600_000 + at;
    columns.cents[at] = at % 4 === 0 ? -1 : 2 ** 33 + at;
    columns.amounts[at * 3] = at;
    columns.amounts[at * 3 + 2] = 9;
  }
  return {
    path,
    memory,
    capacity: COUNT,
    count: COUNT,
    firstIndex: FIRST,
    greatest: 900,
    large: new Set([17]),
  };
}

/** Node, counterparty, number, time with flags, cents and amount of each half. */
function halvesIn(path: string): number[][] {
  const reader = new RunReader(path, HALF_WORDS, 4096);
  const halves: number[][] = [];
  for (; !reader.isAtEnd; reader.next()) {
    const word = (place: number): number => reader.words[reader.at + place] as number;
    halves.push([
      word(HALF_NODE),
      word(HALF_COUNTERPARTY),
      word(HALF_INDEX),
      word(HALF_TIME) + word(HALF_TIME + 1) * 2 ** 32,
      word(HALF_CENTS) + word(HALF_CENTS + 1) * 2 ** 32,
      word(HALF_AMOUNT) + word(HALF_AMOUNT + 2) * 2 ** 64,
    ]);
  }
  reader.close();
  return halves;
}

describe('the thread that writes halves', () => {
  it('writes both sides of each transfer, in the order of addresses and then of arrival', async () => {
    const thread = new HalvesThread();
    const path = join(folder, 'halves');
    const { memory, ...rest } = request(path);
    const columns = new RunColumns(memory, COUNT);
    try {
      await thread.write({ memory, ...rest });
    } finally {
      await thread.stop();
    }
    const expected: number[][] = [];
    for (let at = 0; at < COUNT; at++) {
      const [from, to] = [columns.from[at] as number, columns.to[at] as number];
      const cents = columns.cents[at] as number;
      const flags = (cents >= 0 ? FLAG_PRICED : 0) + (at === 17 ? FLAG_LARGE : 0);
      const time = (columns.times[at] as number) + flags * 2 ** 32;
      const values = [FIRST + at, time, Math.max(cents, 0), at + 9 * 2 ** 64];
      if (from !== 0) expected.push([from * 2 + 1, to, ...values]);
      if (to !== 0 && to !== from) expected.push([to * 2, from, ...values]);
    }
    expected.sort((a, b) => (a[0] as number) - (b[0] as number));
    expect(halvesIn(path)).toEqual(expected);
  });

  it('reports an error of the file, and can be ended after it', async () => {
    const thread = new HalvesThread();
    await expect(thread.write(request(join(folder, 'missing', 'halves')))).rejects.toThrow('ENOENT');
    await thread.stop();
  });
});
