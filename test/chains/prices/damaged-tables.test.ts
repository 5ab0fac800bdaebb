/** Stored price tables with random damage are rejected with an error that names the file, or are read unchanged. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../../src/base/log.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { syncPrices } from '../../../src/chains/prices/daily.ts';
import type { PriceTable } from '../../../src/chains/prices/price.ts';
import {
  dailyFolderOf,
  importPrices,
  loadOwnPrices,
  readTableLines,
} from '../../../src/chains/prices/table.ts';
import { openPriceTable } from '../../../src/chains/prices/tables.ts';
import { dailyChart } from '../../setup/price-server.ts';

const DAY = 86_400_000;
const NOW = Date.parse('2026-10-15T12:00:00Z');
const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
const ASSETS = [
  { chain: 'ETH', asset: 'ETH' },
  { chain: 'BTC', asset: 'BTC' },
  { chain: 'ETH', asset: UNI },
] as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-prices-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Tables as the program writes them. Returns the folder and the file of the kind. */
async function write(kind: 'daily' | 'own'): Promise<{ readonly tables: string; readonly file: string }> {
  if (kind === 'daily') {
    const tables = dailyFolderOf(folder);
    const report = await syncPrices(
      { folder: tables, coins: { ETH: 'ethereum', BTC: 'bitcoin' } },
      {
        clock: { now: () => NOW, monotonic: () => 0 },
        server: {
          ask: async (_, query) => ({
            kind: 'json',
            body: JSON.parse(dailyChart(new URLSearchParams(query as Record<string, string>))) as unknown,
          }),
        },
        feeds: null,
      },
    );
    expect(report).toMatchObject({ ok: true, coins: 2 });
    return { tables, file: join(tables, 'coingecko.csv') };
  }
  const source = join(folder, 'mine.csv.source');
  const rows = Array.from(
    { length: 200 },
    (_, n) => `ETH,${UNI},${new Date(NOW - n * DAY).toISOString().slice(0, 10)},${7 + n / 100},,18`,
  );
  writeFileSync(source, `chain,asset,date,usd,max_age_days,decimals\n${rows.join('\n')}\n`);
  const tables = join(folder, 'prices');
  const { table } = importPrices({ folder: tables, file: source });
  return { tables, file: join(tables, `${table}.csv`) };
}

/** Every price of every day of the tables. */
const answersOf = (table: PriceTable): string =>
  JSON.stringify(
    ASSETS.flatMap((asset) =>
      Array.from({ length: 380 }, (_, day) => table.usdAt(asset, NOW - day * DAY + DAY / 2)),
    ),
  );

/** Damages a file: flipped bits, random bytes, a hole, a truncation, a missing or duplicated piece, or bytes after the end. */
function damaged(bytes: Buffer, random: () => number): Buffer {
  const below = (bound: number): number => random() % bound;
  const at = below(bytes.length);
  const end = Math.min(bytes.length, at + 1 + below(300));
  const flipped = Buffer.from(bytes);
  switch (below(12)) {
    case 1:
      for (let place = at; place < end; place++) flipped[place] = below(256);
      return flipped;
    case 2:
      return flipped.fill(0, at, end);
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 5:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case 6:
      return Buffer.concat([bytes, bytes.subarray(at, end)]);
    default:
      for (let flips = 1 + below(2); flips > 0; flips--) {
        const place = below(bytes.length);
        flipped[place] = (flipped[place] as number) ^ (1 << below(8));
      }
      return flipped;
  }
}

describe.each(['daily', 'own'] as const)('%s prices', (kind) => {
  it('are rejected if a byte of the line of their checksum is another one', async () => {
    const { tables, file } = await write(kind);
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.indexOf(10) + 1; at++) {
      const harmed = Buffer.from(bytes);
      harmed[at] = 0;
      writeFileSync(file, harmed);
      expect(() => readTableLines(file), `byte ${at}`).toThrow(file);
      expect(() => loadOwnPrices({ folder: tables, source: kind }), `byte ${at}`).toThrow(file);
    }
  });

  it('are rejected by file name or unchanged, for any damage to their file', async () => {
    const { tables, file } = await write(kind);
    const bytes = readFileSync(file);
    const expected = answersOf(loadOwnPrices({ folder: tables, source: kind }));
    expect(expected).toContain('"usd":');
    const random = seededUint32(20_261_122);
    let refused = 0;
    for (let round = 0; round < 200; round++) {
      writeFileSync(file, damaged(bytes, random));
      let found: string;
      try {
        found = answersOf(loadOwnPrices({ folder: tables, source: kind }));
      } catch (error) {
        expect(error).toBeInstanceOf(AssayError);
        expect((error as AssayError).message).toContain(file.split('/').at(-1));
        refused++;
        continue;
      }
      expect(found, `round ${round}`).toBe(expected);
    }
    expect(refused).toBeGreaterThan(150);
  });

  it('are rejected if their file is truncated, also at the end of a line', async () => {
    const { tables, file } = await write(kind);
    const bytes = readFileSync(file);
    const cuts = [...bytes.entries()].filter(([, byte]) => byte === 10).map(([at]) => at + 1);
    for (const at of [0, 1, 10, ...cuts.slice(0, -1)]) {
      writeFileSync(file, bytes.subarray(0, at));
      expect(() => loadOwnPrices({ folder: tables, source: kind }), String(at)).toThrow(AssayError);
    }
  });

  it('of a running program are unchanged if their file is damaged, with a warning', async () => {
    const { tables, file } = await write(kind);
    const bytes = readFileSync(file);
    const time = { ms: 0 };
    const lines: string[] = [];
    const log = { ...silentLogger, warn: (_: object, text: string) => lines.push(text) } as unknown as Logger;
    const table = openPriceTable(
      { folder: tables, source: kind },
      { clock: { now: () => NOW, monotonic: () => time.ms }, log },
    );
    const expected = answersOf(table);
    writeFileSync(file, bytes.subarray(0, bytes.length >> 1));
    // Its folder changes when another table is replaced.
    appendFileSync(join(tables, 'other'), '');
    utimesSync(tables, 1, 1);
    time.ms += 2_000;
    expect(answersOf(table)).toBe(expected);
    expect(lines).toEqual(['price tables could not be read, keeping the previous ones']);
  });
});
