import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listParts, openBytes, openLines, openText } from '../../src/sources/open.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-open-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface ZipInput {
  readonly name: string;
  readonly data: Uint8Array;
  readonly crc?: number;
  readonly size?: number;
  readonly encrypted?: boolean;
}

/** Builds a zip archive by hand (APPNOTE 6.3), so that its headers can be wrong. */
function zip(entries: readonly ZipInput[], claimedCount = entries.length): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const packed = deflateRawSync(entry.data);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.encrypted ? 1 : 0, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(entry.crc ?? crc32(entry.data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.size ?? entry.data.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(claimedCount, 8);
  end.writeUInt16LE(claimedCount, 10);
  end.writeUInt32LE(directoryBytes.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directoryBytes, end]);
}

async function text(path: string, options?: Parameters<typeof openText>[1]): Promise<string> {
  let all = '';
  for await (const chunk of openText(path, options)) all += chunk;
  return all;
}

async function byteCount(path: string): Promise<number> {
  let count = 0;
  for await (const chunk of openBytes(path)) count += chunk.length;
  return count;
}

const utf16be = (value: string): Buffer => Buffer.from(value, 'utf16le').swap16();

describe('opening a source file', () => {
  const list = 'name,address\n"Żółw",0xabc\n';

  it('reads the same text from every container, whatever the name of the file', async () => {
    expect(await text(file('plain.zip', list))).toBe(list);
    expect(await text(file('packed.csv', gzipSync(list)))).toBe(list);
    expect(await text(file('archive.xml', zip([{ name: 'a/list.csv', data: Buffer.from(list) }])))).toBe(
      list,
    );
    expect(await text(file('both.bin', zip([{ name: 'list.csv.gz', data: gzipSync(list) }])))).toBe(list);
  });

  it('reads every Unicode form, with and without a byte order mark', async () => {
    const xml = '<?xml version="1.0"?><a>Żółw 🐢</a>';
    expect(await text(file('a', `\ufeff${xml}`))).toBe(xml);
    expect(await text(file('b', Buffer.from(`\ufeff${xml}`, 'utf16le')))).toBe(xml);
    expect(await text(file('c', utf16be(`\ufeff${xml}`)))).toBe(xml);
    expect(await text(file('d', Buffer.from(xml, 'utf16le')))).toBe(xml);
    expect(await text(file('e', utf16be(xml)))).toBe(xml);
  });

  it('keeps characters that are split between two chunks', async () => {
    const long = 'ż€🐢'.repeat(200_000);
    expect((await text(file('long', `a${long}`))) === `a${long}`).toBe(true);
    expect((await text(file('long.gz', gzipSync(`abc${long}`)))) === `abc${long}`).toBe(true);
  });

  it('uses the encoding that an XML declaration names', async () => {
    const path = file('l1.xml', Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', 'latin1'));
    expect(await text(path)).toContain('<a>é</a>');
    await expect(text(file('x.xml', '<?xml version="1.0" encoding="klingon"?><a/>'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining("'klingon'"),
    });
  });

  it('decides by the first bytes beyond ASCII if a publisher does not always use Unicode', async () => {
    const ascii = 'x'.repeat(600_000);
    const latin = file('latin.csv', Buffer.from(`${ascii}é;`, 'latin1'));
    expect((await text(latin, { legacyEncoding: 'windows-1252' })).endsWith('xé;')).toBe(true);
    const modern = file('modern.csv', `${ascii}é;`);
    expect((await text(modern, { legacyEncoding: 'windows-1252' })).endsWith('xé;')).toBe(true);
  });

  it('rejects invalid bytes with their position, or replaces them if the reader requests that', async () => {
    const path = file('broken.csv', Buffer.from([0x61, 0xff, 0x62]));
    await expect(text(path)).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringMatching(/^broken\.csv: bytes 0–3 are not valid utf-8/),
    });
    expect(await text(path, { lenient: true })).toBe('a\ufffdb');
  });

  it('rejects a missing file and a folder', async () => {
    await expect(text(join(folder, 'none.csv'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('none.csv'),
    });
    await expect(text(folder)).rejects.toMatchObject({ code: 'INVALID_FILE' });
  });

  it('reads an empty file as no text', async () => {
    expect(await text(file('empty', ''))).toBe('');
  });
});

describe('hostile containers', () => {
  const list = Buffer.from('some,list\n'.repeat(5_000));

  it('rejects a truncated or corrupted gzip file', async () => {
    const packed = gzipSync(Buffer.from(Array.from({ length: 50_000 }, (_, i) => `${i * 7919}`).join(',')));
    await expect(byteCount(file('cut.gz', packed.subarray(0, packed.length - 20)))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('cut.gz'),
    });
    const flipped = Buffer.from(packed);
    flipped[packed.length - 6]! ^= 1;
    await expect(byteCount(file('flipped.gz', flipped))).rejects.toMatchObject({ code: 'INVALID_FILE' });
  });

  it('rejects a truncated zip file, a false size and a wrong checksum', async () => {
    const whole = zip([{ name: 'a.csv', data: list }]);
    await expect(byteCount(file('cut.zip', whole.subarray(0, 60)))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
    const lying = zip([{ name: 'a.csv', data: list, size: list.length - 100 }]);
    await expect(byteCount(file('lying.zip', lying))).rejects.toMatchObject({ code: 'INVALID_FILE' });
    const wrong = zip([{ name: 'a.csv', data: list, crc: 1 }]);
    await expect(byteCount(file('wrong.zip', wrong))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('CRC-32'),
    });
  });

  it('rejects decompression bombs before they fill the memory', async () => {
    const zeros = Buffer.alloc(64 * 1024 * 1024);
    await expect(byteCount(file('bomb.gz', gzipSync(zeros)))).rejects.toMatchObject({
      message: expect.stringContaining('decompression bomb'),
    });
    await expect(byteCount(file('bomb.zip', zip([{ name: 'a', data: zeros }])))).rejects.toMatchObject({
      message: expect.stringContaining('decompression bomb'),
    });
    // A gzip inside a zip: the inner one grows.
    await expect(
      byteCount(file('nested.zip', zip([{ name: 'a.gz', data: gzipSync(zeros) }]))),
    ).rejects.toMatchObject({ message: expect.stringContaining('decompression bomb') });
  });

  it('rejects an archive that is too large, empty, encrypted or ambiguous', async () => {
    const many = zip(Array.from({ length: 1_001 }, (_, i) => ({ name: `${i}`, data: Buffer.from('x') })));
    await expect(byteCount(file('many.zip', many))).rejects.toMatchObject({
      message: expect.stringContaining('1001 entries'),
    });
    await expect(byteCount(file('empty.zip', zip([])))).rejects.toMatchObject({
      message: expect.stringContaining('empty'),
    });
    const locked = zip([{ name: 'a', data: list, encrypted: true }]);
    await expect(byteCount(file('locked.zip', locked))).rejects.toMatchObject({ code: 'INVALID_FILE' });
    const two = zip([
      { name: 'a.csv', data: list },
      { name: 'b.csv', data: list },
    ]);
    await expect(byteCount(file('two.zip', two))).rejects.toMatchObject({
      message: expect.stringContaining('a.csv, b.csv'),
    });
  });

  it('lists the files of an archive and opens each', async () => {
    const path = file(
      'set.zip',
      zip([
        { name: 'x/', data: Buffer.alloc(0) },
        { name: '__MACOSX/x', data: Buffer.from('junk') },
        { name: 'x/sdn.csv', data: Buffer.from('sdn') },
        { name: 'x/add.csv', data: Buffer.from('add') },
      ]),
    );
    const parts = await listParts(path);
    expect(parts.map((part) => part.name)).toEqual(['sdn.csv', 'add.csv']);
    const texts: string[] = [];
    for (const part of parts) for await (const chunk of openText(part)) texts.push(chunk);
    expect(texts).toEqual(['sdn', 'add']);
    const plain = file('plain.csv', 'x');
    expect(await listParts(plain)).toEqual([{ path: plain, entry: null, name: 'plain.csv' }]);
  });

  it('can be closed before the end', async () => {
    const path = file('long.gz', gzipSync(Buffer.from('0123456789'.repeat(300_000))));
    for await (const chunk of openBytes(path)) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
  });
});

describe('lines', () => {
  it('numbers lines from 1 and accepts both line ends', async () => {
    const lines: unknown[] = [];
    for await (const line of openLines(file('a', 'one\r\ntwo\n\nfour'))) lines.push(line);
    expect(lines).toEqual([
      { line: 1, text: 'one' },
      { line: 2, text: 'two' },
      { line: 3, text: '' },
      { line: 4, text: 'four' },
    ]);
  });

  it('rejects a line beyond the limit by its number', async () => {
    const path = file('a', `short\n${'x'.repeat(5 * 1024 * 1024)}`);
    await expect(
      (async () => {
        for await (const _ of openLines(path));
      })(),
    ).rejects.toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining('line 2') });
  });
});
