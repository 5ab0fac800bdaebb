/**
 * Opens a publisher's file as a stream of bytes or text, whatever its compression (none, gzip, a zip archive) and Unicode encoding. The
 * content decides, never the file name. The readers parse the content.
 */
import { promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { TextDecoder } from 'node:util';
import { createGunzip } from 'node:zlib';
import yauzl from 'yauzl';
import { AssayError, messageOf } from '../base/errors.ts';
import { SOURCE_LIMITS } from './limits.ts';

/** One file to read: a path, or one entry of a zip archive at that path. */
export interface SourcePart {
  readonly path: string;
  /** Name of the entry inside a zip archive; null for the file itself. */
  readonly entry: string | null;
  /** Name in provenance and errors, without folders. */
  readonly name: string;
}

export interface OpenTextOptions {
  /**
   * The publisher's encoding for a text that is not Unicode; the first bytes beyond ASCII decide. Default: the text must be Unicode.
   */
  readonly legacyEncoding?: 'windows-1252' | 'iso-8859-1';
  /**
   * Replaces invalid bytes with U+FFFD, for publishers with files that are known to contain them. Without this option they are an error.
   */
  readonly lenient?: boolean;
}

const READ_BYTES = 256 * 1024;

const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b;
/** `PK\x03\x04`, or `PK\x05\x06` for an archive without entries. */
const isZip = (head: Uint8Array): boolean =>
  head[0] === 0x50 &&
  head[1] === 0x4b &&
  ((head[2] === 3 && head[3] === 4) || (head[2] === 5 && head[3] === 6));

/** Returns the name of a file without folders, for provenance and errors. */
export const partName = (part: string | SourcePart): string =>
  typeof part === 'string' ? basename(part) : part.name;

const invalidFile = (name: string, what: string, cause?: unknown): AssayError =>
  new AssayError('INVALID_FILE', `${name}: ${what}`, {
    field: 'file',
    ...(cause === undefined ? {} : { cause }),
  });

/** Lists the parts of a path: the files in a zip archive, or the file itself. Throws INVALID_FILE. */
export async function listParts(path: string): Promise<SourcePart[]> {
  const name = basename(path);
  const handle = await openHandle(path, name);
  try {
    if (!isZip((await readHead(handle)).head)) return [{ path, entry: null, name }];
  } finally {
    await handle.close();
  }
  const zip = await openZip(path, name);
  try {
    const entries = (await zipEntries(zip, name)).map((entry) => entry.fileName);
    return entries.map((entry) => ({ path, entry, name: basename(entry) }));
  } finally {
    zip.close();
  }
}

/**
 * Streams the decompressed bytes of a file. A zip archive that is given only by its path must contain exactly one file.
 *
 * @throws INVALID_FILE if the file is missing, truncated, corrupted, or expands beyond `SOURCE_LIMITS.sourceFileBytesMax` or
 * `SOURCE_LIMITS.sourceExpansionMax`.
 */
export async function* openBytes(part: string | SourcePart): AsyncGenerator<Uint8Array, void, undefined> {
  const path = typeof part === 'string' ? part : part.path;
  const name = partName(part);
  const handle = await openHandle(path, name);
  let wrapping: 'zip' | 'gzip' | 'plain';
  let size: number;
  try {
    const { head, bytes } = await readHead(handle);
    wrapping = isZip(head) ? 'zip' : isGzip(head) ? 'gzip' : 'plain';
    size = bytes;
  } catch (error) {
    await handle.close();
    throw error;
  }
  if (wrapping === 'zip') {
    await handle.close();
    yield* unzip(path, typeof part === 'string' ? null : part.entry, name);
    return;
  }
  // autoClose is the default: when the iteration ends or is left early, it closes the handle.
  const raw = handle.createReadStream({ start: 0, highWaterMark: READ_BYTES });
  yield* guardExpansion(wrapping === 'gzip' ? gunzip(raw, name) : readAll(raw, name), size, name);
}

/** Streams a file as text. Byte order marks are removed; UTF-16 and a declared XML encoding are supported. Throws INVALID_FILE. */
export async function* openText(
  part: string | SourcePart,
  options: OpenTextOptions = {},
): AsyncGenerator<string, void, undefined> {
  const name = partName(part);
  let decoder: TextDecoder | null = null;
  let undecided = false;
  let read = 0;
  const decode = (bytes: Uint8Array | undefined): string => {
    try {
      return bytes
        ? (decoder as TextDecoder).decode(bytes, { stream: true })
        : (decoder as TextDecoder).decode();
    } catch (error) {
      throw invalidFile(
        name,
        `bytes ${read}–${read + (bytes?.length ?? 0)} are not valid ${decoder?.encoding ?? ''} text.`,
        error,
      );
    }
  };
  for await (const bytes of withWholeHead(openBytes(part), HEAD_BYTES)) {
    if (decoder === null) {
      const declared = sniffEncoding(bytes);
      undecided = declared === null && options.legacyEncoding !== undefined;
      decoder = makeDecoder(declared ?? 'utf-8', options.lenient === true && !undecided, name);
    }
    if (undecided && bytes.some((byte) => byte >= 0x80)) {
      undecided = false;
      const encoding = looksUtf8(bytes) ? 'utf-8' : (options.legacyEncoding ?? 'utf-8');
      decoder = makeDecoder(encoding, options.lenient === true, name);
    }
    const text = decode(bytes);
    read += bytes.length;
    if (text !== '') yield text;
  }
  if (decoder === null) return;
  const rest = decode(undefined);
  if (rest !== '') yield rest;
}

/** Reads the first characters of a file, by which a reader identifies the layout. Throws INVALID_FILE. */
export async function readTextHead(
  part: string | SourcePart,
  chars: number,
  options: OpenTextOptions = {},
): Promise<string> {
  let head = '';
  for await (const chunk of openText(part, options)) {
    head += chunk;
    if (head.length >= chars) break;
  }
  return head.slice(0, chars);
}

/** One line of text and its 1-based number. */
export interface TextLine {
  readonly line: number;
  readonly text: string;
}

/**
 * Streams the lines of a file (`\n`, `\r\n`), without their ends. Throws INVALID_FILE if a line exceeds `SOURCE_LIMITS.sourceLineCharsMax`.
 */
export async function* openLines(
  part: string | SourcePart,
  options: OpenTextOptions = {},
): AsyncGenerator<TextLine, void, undefined> {
  let rest = '';
  let line = 0;
  const checked = (text: string): string => {
    if (text.length <= SOURCE_LIMITS.sourceLineCharsMax) return text;
    throw invalidFile(
      partName(part),
      `line ${line} is longer than ${SOURCE_LIMITS.sourceLineCharsMax.toLocaleString('en')} characters.`,
    );
  };
  for await (const chunk of openText(part, options)) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      const raw = rest + chunk.slice(from, end);
      rest = '';
      from = end + 1;
      line++;
      yield { line, text: checked(raw.endsWith('\r') ? raw.slice(0, -1) : raw) };
    }
    rest += chunk.slice(from);
    if (rest.length > SOURCE_LIMITS.sourceLineCharsMax) {
      line++;
      checked(rest);
    }
  }
  if (rest !== '') {
    line++;
    yield { line, text: checked(rest.endsWith('\r') ? rest.slice(0, -1) : rest) };
  }
}

async function openHandle(path: string, name: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await promises.open(path, 'r');
  } catch (error) {
    throw invalidFile(name, `cannot be opened (${messageOf(error)}).`, error);
  }
  const stat = await handle.stat();
  if (stat.isFile()) return handle;
  await handle.close();
  throw invalidFile(name, 'is not a file.');
}

async function readHead(handle: FileHandle): Promise<{ head: Uint8Array; bytes: number }> {
  const head = new Uint8Array(4);
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  return { head: head.subarray(0, bytesRead), bytes: (await handle.stat()).size };
}

async function* readAll(stream: Readable, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw invalidFile(name, `cannot be read to its end (${messageOf(error)}).`, error);
  } finally {
    stream.destroy();
  }
}

async function* gunzip(raw: Readable, name: string): AsyncGenerator<Uint8Array, void, undefined> {
  const inflate = createGunzip({ chunkSize: READ_BYTES });
  // An error of the source must destroy the inflater; otherwise the iteration would wait forever.
  raw.on('error', (error) => inflate.destroy(error));
  try {
    yield* readAll(raw.pipe(inflate), name);
  } finally {
    raw.destroy();
  }
}

function openZip(path: string, name: string): Promise<yauzl.ZipFile> {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) reject(invalidFile(name, `is not a readable zip archive (${messageOf(error)}).`, error));
      else resolve(zip);
    });
  });
}

async function zipEntries(zip: yauzl.ZipFile, name: string): Promise<yauzl.Entry[]> {
  if (zip.entryCount > SOURCE_LIMITS.zipEntriesMax) {
    throw invalidFile(
      name,
      `the archive holds ${zip.entryCount} entries, more than ${SOURCE_LIMITS.zipEntriesMax.toLocaleString('en')}.`,
    );
  }
  const all = await new Promise<yauzl.Entry[]>((resolve, reject) => {
    const entries: yauzl.Entry[] = [];
    zip.on('entry', (entry: yauzl.Entry) => {
      entries.push(entry);
      zip.readEntry();
    });
    zip.once('end', () => resolve(entries));
    zip.once('error', (error: unknown) =>
      reject(invalidFile(name, `the archive's directory is damaged (${messageOf(error)}).`, error)),
    );
    zip.readEntry();
  });
  return all.filter(
    (entry) => !entry.fileName.endsWith('/') && !/(^|\/)(__MACOSX\/|\.)/.test(entry.fileName),
  );
}

async function* unzip(
  path: string,
  wanted: string | null,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  const zip = await openZip(path, name);
  try {
    const entries = await zipEntries(zip, name);
    const chosen = wanted === null ? entries : entries.filter((entry) => entry.fileName === wanted);
    const [entry] = chosen;
    if (!entry)
      throw invalidFile(
        name,
        wanted === null ? 'the archive is empty.' : `the archive holds no '${wanted}'.`,
      );
    if (chosen.length > 1) {
      throw invalidFile(
        name,
        `the archive holds ${chosen.length} files where one was expected: ${chosen
          .slice(0, 5)
          .map((one) => one.fileName)
          .join(', ')}.`,
      );
    }
    if (entry.isEncrypted()) throw invalidFile(name, `'${entry.fileName}' is encrypted.`);
    const bytes = checkCrc(readAll(await openEntry(zip, entry, name), name), entry.crc32, name);
    const inner = withWholeHead(bytes, 4);
    const first = await inner.next();
    if (first.done) return;
    const restored = prepend(first.value, inner);
    const plain = isGzip(first.value) ? gunzip(Readable.from(restored), name) : restored;
    yield* guardExpansion(plain, entry.compressedSize, name);
  } finally {
    zip.close();
  }
}

function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry, name: string): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => {
      if (error)
        reject(invalidFile(name, `'${entry.fileName}' cannot be read (${messageOf(error)}).`, error));
      else resolve(stream);
    });
  });
}

async function* prepend(
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield first;
  yield* rest;
}

/** Joins chunks until the first holds at least `bytes`, so that checks of the head always see all of it. */
async function* withWholeHead(
  source: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let head: Uint8Array | null = new Uint8Array(0);
  for await (const chunk of source) {
    if (head === null) {
      yield chunk;
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head.length < bytes) continue;
    yield head;
    head = null;
  }
  if (head !== null && head.length > 0) yield head;
}

async function* guardExpansion(
  source: AsyncIterable<Uint8Array>,
  wrappedBytes: number,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > SOURCE_LIMITS.sourceFileBytesMax) {
      throw invalidFile(
        name,
        `is larger than ${SOURCE_LIMITS.sourceFileBytesMax.toLocaleString('en')} bytes when unpacked.`,
      );
    }
    if (
      bytes > SOURCE_LIMITS.sourceExpansionFreeBytes &&
      bytes > wrappedBytes * SOURCE_LIMITS.sourceExpansionMax
    ) {
      throw invalidFile(
        name,
        `unpacks to more than ${SOURCE_LIMITS.sourceExpansionMax} times its size: refused as a decompression bomb.`,
      );
    }
    yield chunk;
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** yauzl checks the size of an entry but not its CRC-32 (ISO 3309), so it would not detect a flipped bit. */
async function* checkCrc(
  source: AsyncIterable<Uint8Array>,
  expected: number,
  name: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let crc = 0xffffffff;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at++) {
      crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ (chunk[at] as number)) & 0xff] as number);
    }
    yield chunk;
  }
  if ((crc ^ 0xffffffff) >>> 0 !== expected >>> 0)
    throw invalidFile(name, 'the archive is corrupted (CRC-32 differs).');
}

/** Sufficient for a byte order mark and an XML declaration. */
const HEAD_BYTES = 256;

/** Returns the encoding that the head of a file declares; null if it declares none. */
function sniffEncoding(head: Uint8Array): string | null {
  const [a, b, c] = head;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  // UTF-16 without a byte order mark: ASCII letters (`<`, a digit, a quote) with a zero byte next to each.
  if (a !== undefined && a !== 0 && b === 0 && c !== 0 && head[3] === 0) return 'utf-16le';
  if (a === 0 && b !== undefined && b !== 0 && c === 0 && head[3] !== 0) return 'utf-16be';
  const start = Buffer.from(head.subarray(0, HEAD_BYTES)).toString('latin1');
  return /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(start)?.[1]?.toLowerCase() ?? null;
}

function makeDecoder(encoding: string, lenient: boolean, name: string): TextDecoder {
  try {
    return new TextDecoder(encoding, { fatal: !lenient });
  } catch (error) {
    throw invalidFile(name, `the encoding '${encoding}' is not known.`, error);
  }
}

function looksUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
