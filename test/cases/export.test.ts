/** The export of a case: the same bytes for the same version, hashes that are right, and hostile text that is inert in every format. */

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { csvCell } from '../../src/cases/export.ts';
import { escapeHtml } from '../../src/cases/export-html.ts';
import type { CaseService } from '../../src/cases/service.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { zipOf } from '../../src/cases/zip.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { openedCases } from './opened.ts';

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "javascript:alert('1')`{1}`",
  '=HYPERLINK("http://evil.example","x")',
  '＝1+1',
  ' \t@SUM(1)',
  '-2+3|cmd',
  'abc\u202eexe.fdp',
  'harmless;=cmd|x!A1',
  'harmless\n=cmd|x!A1',
  'ع'.repeat(50),
  'x'.repeat(10_000).slice(0, 8_000),
];

const archiveOf = (service: CaseService, id: string): Buffer => {
  const { archive } = service.export('a', id);
  const bytes = Buffer.concat([...archive.parts()]);
  expect(bytes.length).toBe(archive.bytes);
  return bytes;
};

async function entriesOf(bytes: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const zip = await fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true });
  const found = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    const parts: Buffer[] = [];
    for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer);
    const content = Buffer.concat(parts);
    expect(entry.crc32).toBe(crc32(content));
    found.set(entry.fileName, content);
  }
  return found;
}

describe('the export of a case', () => {
  const folder = tempFolder();
  let store: CaseStore;
  let cases: CaseService;
  let id: string;
  /** 42.zip in miniature: an archive in an archive. It must be stored as it is. */
  const bomb = Buffer.concat([
    ...zipOf([{ name: 'a', bytes: 3, crc32: crc32('abc'), read: () => Buffer.from('abc') }]).parts(),
  ]);

  beforeAll(async () => {
    ({ store, cases } = openedCases(folder.path));
    const ann = { accountId: 'a', savedKinds: [], who: 'key_ann', identity: 'ann' };
    const answer = {
      address: `0x${'1'.padStart(40, '0')}`,
      chain: 'ETH',
      dataVersion: 'v1',
      name: HOSTILE[0],
    };
    const created = await cases.create(
      ann,
      {
        title: HOSTILE[0] ?? '',
        assignee: HOSTILE[1] ?? '',
        links: [{ type: 'SCREENING', answer, label: '=1+1' }],
      },
      null,
    );
    id = (JSON.parse(created.answer) as { case: { id: string } }).case.id;
    for (const note of HOSTILE) await cases.addEvent(ann, id, { type: 'NOTE', note }, null);
    const upload = cases.receiveFile(ann, id, { name: "evil'%&;.zip", contentType: 'application/zip' });
    upload.write(bomb);
    await upload.end(() => null);
  });
  afterAll(async () => {
    await store.close();
    folder.remove();
  });

  it('has the same bytes for the same version, and others after a change', async () => {
    const first = archiveOf(cases, id);
    expect(archiveOf(cases, id).equals(first)).toBe(true);
  });

  it('has a manifest with the size and SHA-256 of every other entry', async () => {
    const entries = await entriesOf(archiveOf(cases, id));
    const manifest = JSON.parse(entries.get('manifest.json')?.toString() ?? '') as {
      files: { name: string; bytes: number; sha256: string }[];
    };
    expect([...entries.keys()].filter((name) => name !== 'manifest.json')).toEqual(
      manifest.files.map(({ name }) => name),
    );
    for (const { name, bytes, sha256 } of manifest.files) {
      const content = entries.get(name) ?? Buffer.alloc(0);
      expect([name, content.length, createHash('sha256').update(content).digest('hex')]).toEqual([
        name,
        bytes,
        sha256,
      ]);
    }
    expect(entries.get(`files/15-evil'%&;.zip`)?.equals(bomb)).toBe(true);
    expect(JSON.parse(entries.get('answers/2.json')?.toString() ?? '')).toMatchObject({ dataVersion: 'v1' });
  });

  it('keeps hostile text inert in the page, the tables and the JSON', async () => {
    const entries = await entriesOf(archiveOf(cases, id));
    const html = entries.get('case.html')?.toString() ?? '';
    expect(html).not.toMatch(/<script|<img|\u202e/i);
    expect(html).toContain('&lt;script&gt;');
    expect(html).toMatch(
      /http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-[^']+'"/,
    );
    expect(
      [...html.matchAll(/<(\w+)/g)]
        .map(([, tag]) => tag)
        .filter((tag) => /script|img|a|iframe|link/.test(`^${tag}$`)),
    ).not.toContain('script');
    const rows = parse(entries.get('events.csv') ?? '', { columns: true }) as { note: string }[];
    const notes = rows.filter(({ note }) => note !== '').map(({ note }) => note);
    expect(notes).toHaveLength(HOSTILE.length);
    for (const note of notes) expect(note).not.toMatch(/(^|[;\n])\s*[=+\-@＝]/);
    const links = parse(entries.get('links.csv') ?? '', { columns: true }) as { label: string }[];
    expect(links[0]?.label).toBe("'=1+1");
    const json = JSON.parse(entries.get('case.json')?.toString() ?? '') as {
      events: { note: string | null }[];
    };
    expect(json.events.flatMap(({ note }) => note ?? [])).toEqual(HOSTILE);
  });
});

it.runIf(chromiumProgram !== null)(
  'runs nothing in a browser, requests nothing, and fits narrow screens',
  async () => {
    const folder = tempFolder();
    const { store, cases } = openedCases(folder.path);
    const browser = await startChromium();
    try {
      const ann = { accountId: 'a', savedKinds: [], who: 'key_ann', identity: 'ann' };
      const title = '<script>document.title="ran"</script>';
      const created = await cases.create(ann, { title, assignee: 'y'.repeat(128) }, null);
      const { id } = (JSON.parse(created.answer) as { case: { id: string } }).case;
      for (const note of HOSTILE) await cases.addEvent(ann, id, { type: 'NOTE', note }, null);
      await cases.change(ann, id, { title: 'x'.repeat(200) });
      const path = join(folder.path, 'case.html');
      writeFileSync(path, (await entriesOf(archiveOf(cases, id))).get('case.html') ?? '');
      const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
      const events: string[] = [];
      for (const name of ['pageerror', 'console', 'dialog'] as const)
        page.on(name as 'dialog', () => events.push(name));
      page.on('request', (request) => events.push(request.url()));
      await page.goto(`file://${path}`);
      expect(events).toEqual([`file://${path}`]);
      expect(await page.title()).toBe(`Case 1: ${'x'.repeat(200)}`);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    } finally {
      await browser.close();
      await store.close();
      folder.remove();
    }
  },
);

it('tells each event of a case in the page and the table', async () => {
  const folder = tempFolder();
  const { store, cases } = openedCases(folder.path);
  const ann = { accountId: 'a', savedKinds: [], who: 'key_ann', identity: 'ann' };
  const address = `0x${'1'.padStart(40, '0')}`;
  const created = await cases.create(ann, { title: 'First' }, null);
  const { id } = (JSON.parse(created.answer) as { case: { id: string } }).case;
  await cases.change(ann, id, { assignee: 'bob' });
  const link = { type: 'ADDRESS', address, chain: 'ETH', label: 'home' } as const;
  await cases.addEvent(ann, id, { type: 'LINK', link, note: 'why' }, null);
  const upload = cases.receiveFile(ann, id, { name: 'a.txt', contentType: 'text/plain' });
  upload.write(Buffer.from('a'));
  await upload.end(() => null);
  const decision = { action: 'PROPOSE', disposition: 'REPORTED', reasonCode: 'SAR' } as const;
  await cases.addEvent(ann, id, { type: 'DECISION', decision }, null);
  const entries = await entriesOf(archiveOf(cases, id));
  const html = entries.get('case.html')?.toString() ?? '';
  const details = html.split('<h2>History</h2>')[1] ?? '';
  const sha256 = createHash('sha256').update('a').digest('hex');
  expect(
    [...details.matchAll(/<td>([\s\S]*?)<\/td><\/tr>/g)].map((row) => row[1]?.split('<td>').at(-1)),
  ).toEqual([
    '',
    'assignee: – → <bdi>bob</bdi>',
    `ADDRESS: <bdi>ETH ${address}</bdi><br><div class="note"><bdi>why</bdi></div>`,
    `<bdi>a.txt</bdi> (text/plain, 1 bytes, SHA-256 ${sha256})`,
    'status: <bdi>OPEN</bdi> → <bdi>CLOSED</bdi><br>PROPOSE REPORTED <bdi>SAR</bdi> (event 5)',
  ]);
  const rows = parse(entries.get('events.csv') ?? '', { columns: true }) as Record<string, string>[];
  const filled = rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(([name, text]) => text !== '' && !['sequence', 'at', 'by'].includes(name)),
    ),
  );
  expect(filled).toEqual([
    { type: 'CREATED' },
    { type: 'ASSIGNEE', field: 'assignee', to: 'bob' },
    {
      ...{ type: 'LINK', note: 'why', link_type: 'ADDRESS', link_chain: 'ETH', link_address: address },
      link_label: 'home',
    },
    { type: 'FILE', file: 'a.txt' },
    {
      ...{
        type: 'DECISION',
        field: 'status',
        from: 'OPEN',
        to: 'CLOSED',
        action: 'PROPOSE',
        disposition: 'REPORTED',
        reason_code: 'SAR',
      },
      is_final: 'true',
    },
  ]);
  await store.close();
  folder.remove();
});

it('a cell keeps harmless text, and quotes what would end it', () => {
  expect(csvCell('plain')).toBe('"plain"');
  expect(csvCell('say "hi",\n')).toBe('"say ""hi"",\n"');
  expect(csvCell('+41')).toBe('"\'+41"');
  expect(csvCell('\u00a0=1')).toBe('"\'\u00a0=1"');
  // A spreadsheet whose separator is the semicolon does not read the quotes of a cell.
  expect(csvCell('a;=1')).toBe('"a;\'=1"');
  expect(csvCell('a\n\t"=1')).toBe('"a\n\t""\'=1"');
  expect(csvCell('a; ＝1; b')).toBe('"a; \'＝1; b"');
  // Linear: a note of line breaks took minutes with a quadratic search.
  expect(csvCell(`a${'\n'.repeat(1_000_000)}`)).toHaveLength(1_000_003);
  expect(csvCell('1 - 2 = 3')).toBe('"1 - 2 = 3"');
  expect(csvCell(null)).toBe('');
  expect(csvCell(7)).toBe('7');
});

it('HTML shows direction controls by their code', () => {
  expect(escapeHtml(`a\u202eb<'"&\``)).toBe('a[U+202E]b&lt;&#39;&quot;&amp;&#96;');
});

it('an archive holds as many entries and bytes as the format can name', () => {
  const entry = { name: 'a', bytes: 0, crc32: 0, read: () => Buffer.alloc(0) };
  const archive = zipOf(Array(0xffff).fill(entry));
  const end = [...archive.parts()].at(-1) as Buffer;
  expect([end.readUInt16LE(8), end.readUInt16LE(10)]).toEqual([0xffff, 0xffff]);
  expect(() => zipOf(Array(0x10000).fill(entry))).toThrow(/ZIP64/);
  // The headers of one entry with a name of one byte, and the end record behind the directory.
  const rest = 0xffffffff - (30 + 1) - (46 + 1);
  expect(zipOf([{ ...entry, bytes: rest }]).bytes).toBe(0xffffffff + 22);
  expect(() => zipOf([{ ...entry, bytes: rest + 1 }])).toThrow(/ZIP64/);
  // An entry that begins behind the last place that the format can name.
  for (const bytes of [0xffffffff - 30, 0xffffffff - 31 + 1, 0xffffffff])
    expect(() => zipOf([{ ...entry, bytes }, entry]), `${bytes}`).toThrow(/ZIP64/);
});

it('an archive whose entry changed its length meanwhile is not completed', () => {
  const archive = zipOf([{ name: 'a', bytes: 4, crc32: 0, read: () => Buffer.from('abc') }]);
  expect(() => [...archive.parts()]).toThrow(/3 bytes, not 4/);
});
