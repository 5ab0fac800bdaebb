/** Files of another kind: every importer and every ingest format refuses them, says why, and changes nothing. */
import { createHash, randomFillSync } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importIds } from '../../src/sources/index.ts';
import { runCommand } from './run-command.ts';

const LONG = process.env.ASSAY_TEST_LONG === '1';
const folder = mkdtempSync(join(tmpdir(), 'assay-garbage-'));
const dataDir = join(folder, 'store');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

const ADDRESS = '0x28C6c06298d514Db089934071355E5743bf21d60';
const UN_LIST = `<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="2026-10-01T00:00:00.000Z"><INDIVIDUALS></INDIVIDUALS><ENTITIES></ENTITIES></CONSOLIDATED_LIST>`;
const REGISTER =
  'register,jurisdiction,authority,legal_name,status,registered_as,registered_at\nhk-sfc,HK,SFC,One Limited,AUTHORISED,Platform,2022-11\n';

const GARBAGE = {
  'empty.csv': '',
  'random.bin': randomFillSync(Buffer.alloc(20_000)),
  'letter.txt': 'Dear all,\nplease find attached the minutes.\n\nKind regards\nAnn\n',
  'stock.csv': 'sku,colour,price,stock\nA-1,red,10.5,3\nA-2,blue,11,0\n',
  'un.xml': UN_LIST,
  'hk-2026-10-01.csv': REGISTER,
};
/** Importers of the last two. */
const OWN_FILE: Readonly<Record<string, string>> = { 'un.xml': 'un', 'hk-2026-10-01.csv': 'registers' };

/** Digest of every file of the store; lock files come and go, and a refused import is in the log of runs. */
function contentOf(path: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/lock|^runs\.json$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((name) => [name, createHash('sha256').update(readFileSync(name)).digest('hex')]),
  );
}

beforeAll(async () => {
  mkdirSync(join(folder, 'good'));
  const own = file('good/own.csv', `address,chain,entity,category\n${ADDRESS},ETH,binance,EXCHANGE\n`);
  expect(await runCommand(dataDir, ['import', 'own', own])).toMatchObject({ code: 0 });
  const register = file('good/hk-2026-09-01.csv', REGISTER);
  expect(await runCommand(dataDir, ['import', 'registers', register])).toMatchObject({ code: 0 });
  // The next command records the catalogue of registers as a store of the installation.
  expect(await runCommand(dataDir, ['lists'])).toMatchObject({ code: 0 });
  for (const [name, content] of Object.entries(GARBAGE)) file(name, content);
});

/**
 * Files that an importer is given. The short suite gives each importer three of the six in turn, and so each file to thirty importers, which
 * read five formats.
 */
const filesFor = (source: string): readonly string[] => {
  const place = importIds().indexOf(source);
  return Object.keys(GARBAGE).filter(
    (name, at) => OWN_FILE[name] !== source && (LONG || (at + place) % 2 === 0),
  );
};

describe.each(importIds())('assay import %s', (source) => {
  it.each(filesFor(source))('refuses %s and changes nothing', async (name) => {
    const before = contentOf(dataDir);
    // Without the flag, sources with a restricted licence are refused before the file is read.
    const args = ['import', source, join(folder, name), '--accept-licence'];
    const { code, out, err } = await runCommand(dataDir, args);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^assay: [^\n]+\n$/);
    expect(err).toContain(name);
    expect(err).not.toContain('unexpected error');
    expect(contentOf(dataDir)).toEqual(before);
  });
});

describe.each(['ethereum-etl', 'ndjson', 'bitcoin-blk', 'bitcoin-etl', 'bitcoin-resolved'])(
  'assay ingest %s',
  (format) => {
    const chain = format.startsWith('bitcoin') ? 'BTC' : 'ETH';
    it.each(Object.keys(GARBAGE))('refuses %s and stores nothing', async (name) => {
      const command = ['ingest', format, join(folder, name), '--chain', chain];
      const { code, out, err } = await runCommand(dataDir, command);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(/^assay: [^\n]+\n$/);
      expect(err).toContain(name);
      const stats = await runCommand(dataDir, ['stats', chain]);
      expect(stats.err).toContain(`No transfer of ${chain} is stored`);
    });
  },
);

const BLOCK_TIME = '2023-05-02T12:19:59Z';
const TRANSFERS = 'txHash,position,blockNumber,timestamp,from,to,asset,amount\n';
const transferRow = (amount: string): string =>
  `0x${'1'.repeat(64)},value,1,${BLOCK_TIME},${ADDRESS},${ADDRESS},ETH,${amount}\n`;

describe('several files of which one is of another kind', () => {
  const GOOD: Readonly<Record<string, readonly [name: string, content: string]>> = {
    own: ['second.csv', `address,chain,entity,category\n${ADDRESS},ETH,kraken,EXCHANGE\n`],
    exchanges: ['cex.csv', `exchange,chain,address\nKraken,ETH,${ADDRESS}\n`],
    graphsense: [
      'good.yaml',
      `title: t\ntags:\n  - label: x\n    address: "${ADDRESS}"\n    currency: ETH\n    category: exchange\n`,
    ],
    people: ['good-people.csv', 'name,list\nAnn Example,pep\n'],
    registers: ['hk-2026-10-02.csv', `${REGISTER}hk-sfc,HK,SFC,Two Limited,AUTHORISED,Platform,2022-11\n`],
  };
  const BAD = ['empty.csv', 'random.bin', 'letter.txt', 'stock.csv'];

  it.each(
    Object.keys(GOOD).flatMap((source) =>
      BAD.flatMap((bad, at) =>
        ([0, 1] as const)
          .filter((place) => LONG || place === at % 2)
          .map((place) => [source, bad, place] as const),
      ),
    ),
  )('import %s: refuses %s at place %i, and imports none', async (source, bad, place) => {
    const [name, content] = GOOD[source] ?? ['', ''];
    const files = [file(name, content)];
    files.splice(place === 0 ? 0 : 1, 0, join(folder, bad));
    const before = contentOf(dataDir);
    const { code, out, err } = await runCommand(dataDir, ['import', source, ...files]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^assay: [^\n]+\n$/);
    expect(err).toContain(bad);
    expect(contentOf(dataDir)).toEqual(before);
  });

  it('import own: refuses a file of which every row is rejected, and imports none', async () => {
    const good = file('third.csv', `address,chain,entity,category\n${ADDRESS},ETH,okx,EXCHANGE\n`);
    const bad = file('rejected.csv', 'address,chain,entity,category\nnowhere,ETH,x,EXCHANGE\n');
    const before = contentOf(dataDir);
    const { code, err } = await runCommand(dataDir, ['import', 'own', good, bad]);
    expect(code).toBe(1);
    expect(err).toMatch(/rejected\.csv has no usable row.*No file of this call was imported\.\n$/);
    expect(contentOf(dataDir)).toEqual(before);
  });

  it.each([...BAD, 'bad.csv'])('ingest ndjson: refuses %s, and stores none', async (bad) => {
    file('bad.csv', TRANSFERS + transferRow('-1'));
    const good = file('good.csv', TRANSFERS + transferRow('1'));
    const command = ['ingest', 'ndjson', good, join(folder, bad), '--chain', 'ETH'];
    const { code, out, err } = await runCommand(dataDir, command);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(bad);
    expect((await runCommand(dataDir, ['stats', 'ETH'])).err).toContain('No transfer of ETH is stored');
  });
});

describe('a file with the right header of which every row is rejected', () => {
  it.each([
    [
      'own',
      'own.csv',
      `address,chain,entity,category\nnowhere,ETH,x,EXCHANGE\n`,
      "line 2: address: .*'ETH nowhere x'",
    ],
    ['exchanges', 'cex.csv', 'exchange,chain,address\nX,no-chain,nowhere\n', "line 2: .*\\('.*nowhere"],
    [
      'graphsense',
      'pack.yaml',
      'title: t\ntags:\n  - label: x\n    currency: BTC\n',
      'line 3: address: the tag has none',
    ],
    ['seed', 'facts.ndjson', '{"chain":"ETH"}\n', 'line 1: entity: is required'],
    [
      'un',
      'entries.xml',
      UN_LIST.replace('<INDIVIDUALS>', '<INDIVIDUALS><INDIVIDUAL><FIRST_NAME>Ann</FIRST_NAME></INDIVIDUAL>'),
      'line 2: The entry has no DATAID or no name',
    ],
    ['people', 'people.csv', 'name,list\nSomebody,no-such-list\n', "line 2: .*'Somebody,no-such-list'"],
    [
      'registers',
      'xx-2026-10-01.csv',
      `${REGISTER.split('\n')[0]}\nhk-sfc,HK,SFC,,AUTHORISED,Platform,2022\n`,
      'line 2: ',
    ],
  ])('%s: is refused at its first import, with examples', async (source, name, content, example) => {
    const before = contentOf(dataDir);
    const path = file(name, content);
    const { code, err } = await runCommand(dataDir, ['import', source, path, '--published', '2026-10-01']);
    expect(code).toBe(1);
    expect(err).toMatch(
      new RegExp(`file: ${name} has no usable row: 1 rejected\\..*First: ${name}, ${example}`),
    );
    expect(contentOf(dataDir)).toEqual(before);
  });

  it('ndjson: a packed CSV that was cut off is one error with its name', async () => {
    const hash = `0x${'2'.repeat(64)}`;
    const rows = Array.from(
      { length: 20_000 },
      (_, n) => `${hash},p${n},1,2023-05-02T12:19:59Z,${ADDRESS},${ADDRESS},ETH,${n}\n`,
    );
    const packed = gzipSync(`txHash,position,blockNumber,timestamp,from,to,asset,amount\n${rows.join('')}`);
    const path = file('cut.csv.gz', packed.subarray(0, packed.length / 2));
    const { code, err } = await runCommand(dataDir, ['ingest', 'ndjson', path, '--chain', 'ETH']);
    expect(code).toBe(1);
    expect(err).toMatch(/^assay: cut\.csv\.gz: cannot be read to its end [^\n]+\n$/);
  });

  it.runIf(process.platform === 'linux')('no refused file stays open', async () => {
    const long = file('long.yaml', 'x: y\n'.repeat(200_000));
    const { err } = await runCommand(dataDir, ['import', 'graphsense', long]);
    expect(err).toContain('long.yaml');
    // Only files of this test: other files share the process.
    const descriptors = `/proc/${process.pid}/fd`;
    const open = (): string[] =>
      readdirSync(descriptors).flatMap((fd) => {
        try {
          const path = readlinkSync(join(descriptors, fd));
          return path.startsWith(folder) && !path.startsWith(dataDir) ? [path] : [];
        } catch {
          return [];
        }
      });
    // A stream closes its file a moment after it was destroyed.
    await expect.poll(open).toEqual([]);
  });

  it('ndjson: a CSV with its header alone is not garbage', async () => {
    const none = file('none.csv', 'txHash,position,blockNumber,timestamp,from,to,asset,amount\n');
    expect(await runCommand(dataDir, ['ingest', 'ndjson', none, '--chain', 'ETH'])).toMatchObject({
      code: 0,
    });
  });
});
