/**
 * A segment: one imported dataset as an immutable pair of files, `PATH.records` (32 bytes per label: slot, template, days) and
 * `PATH.templates` (a header line, then one canonical template per line). A segment exists if its template file exists.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { wrongFormat } from '../../state/format-version.ts';
import type { LabelTemplate } from '../label.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { SLOT_WORDS, writeSlot } from './slot.ts';
import { templateToText } from './template-text.ts';

/** Words of a record: slot, template id, first and last day (16 bits each). */
export const SEGMENT_RECORD_WORDS = SLOT_WORDS + 2;
const RECORD_BYTES = SEGMENT_RECORD_WORDS * 4;
const FORMAT = 1;
/** Fields of the header. Any other name is damage, because the checksum that a damaged name belongs to would not be compared. */
const HEADER_FIELDS = new Set(['format', 'labels', 'templates', 'bytes', 'recordsSha256', 'templatesSha256']);

/**
 * Records per write: large enough that the cost of the call is negligible, small enough for many writers at the same time.
 */
const CHUNK_RECORDS = 32_768;

export interface SegmentStats {
  /** Number of `add` calls; a duplicate label counts twice here and once in a snapshot. */
  readonly labels: number;
  readonly templates: number;
  readonly bytes: number;
  /** SHA-256 of the records, hex. */
  readonly recordsSha256: string;
  /** SHA-256 of the template lines, hex; absent from segments of earlier versions. */
  readonly templatesSha256?: string;
}

export interface SegmentWriter {
  /**
   * Returns the id of a template in this segment; equal templates have one id. Throws INVALID_FILE beyond
   * `labelTemplatesMax`.
   */
  template(template: LabelTemplate): number;
  /** Adds one label of the address with the key in `key[keyOffset, keyOffset + keyLength)`; days as in days.ts. */
  add(
    key: Uint8Array,
    keyOffset: number,
    keyLength: number,
    templateId: number,
    firstSeenDay: number,
    lastSeenDay: number,
  ): void;
  /** Adds `count` whole records with slots that are already written: see SEGMENT_RECORD_WORDS. */
  addRecords(words: Int32Array, count: number): void;
  /** Flushes the segment to disk and makes it visible. It does not exist before. */
  close(): Promise<SegmentStats>;
  /** Removes everything written so far. */
  abort(): void;
}

/** Returns the paths of the two files of a segment. */
export const segmentFiles = (path: string): { records: string; templates: string } => ({
  records: `${path}.records`,
  templates: `${path}.templates`,
});

/** Starts a segment at `path` (without suffix). When it closes, it replaces an existing segment at that path. */
export function createSegmentWriter(path: string): SegmentWriter {
  const files = segmentFiles(path);
  const partial = { records: `${files.records}.partial`, templates: `${files.templates}.partial` };
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  const file = openSync(partial.records, 'w');
  const digest = createHash('sha256');
  const chunk = new Int32Array(CHUNK_RECORDS * SEGMENT_RECORD_WORDS);
  const chunkBytes = new Uint8Array(chunk.buffer);
  const byText = new Map<string, number>();
  const byIdentity = new WeakMap<LabelTemplate, number>();
  let filled = 0;
  let labels = 0;
  let open = true;

  const flush = (): void => {
    if (filled === 0) return;
    const bytes = chunkBytes.subarray(0, filled * 4);
    digest.update(bytes);
    writeWhole(file, bytes);
    filled = 0;
  };

  return {
    template(template) {
      const known = byIdentity.get(template);
      if (known !== undefined) return known;
      const text = templateToText(template);
      let id = byText.get(text);
      if (id === undefined) {
        id = byText.size;
        if (id >= LABEL_LIMITS.labelTemplatesMax) {
          throw new AssayError(
            'INVALID_FILE',
            `The dataset has more than ${LABEL_LIMITS.labelTemplatesMax} different labels, not counting addresses and dates.`,
          );
        }
        byText.set(text, id);
      }
      byIdentity.set(template, id);
      return id;
    },

    add(key, keyOffset, keyLength, templateId, firstSeenDay, lastSeenDay) {
      writeSlot(key, keyOffset, keyLength, chunk, filled);
      chunk[filled + SLOT_WORDS] = templateId;
      chunk[filled + SLOT_WORDS + 1] = firstSeenDay | (lastSeenDay << 16);
      filled += SEGMENT_RECORD_WORDS;
      labels++;
      if (filled === chunk.length) flush();
    },

    addRecords(words, count) {
      flush();
      const bytes = new Uint8Array(words.buffer, words.byteOffset, count * RECORD_BYTES);
      digest.update(bytes);
      writeWhole(file, bytes);
      labels += count;
    },

    async close() {
      flush();
      fsyncSync(file);
      closeSync(file);
      open = false;
      const stats: SegmentStats = {
        labels,
        templates: byText.size,
        bytes: labels * RECORD_BYTES,
        recordsSha256: digest.digest('hex'),
        templatesSha256: digestOfLines(byText.keys()),
      };
      writeTemplates(partial.templates, stats, byText);
      // A caller may hold the writer while it builds an index: a large one needs the memory of the texts.
      byText.clear();
      // Between the two renames, the templates of an older segment at this path would pair with the new records, so remove
      // them first.
      rmSync(files.templates, { force: true });
      renameSync(partial.records, files.records);
      renameSync(partial.templates, files.templates);
      syncFolder(dirname(path));
      return stats;
    },

    abort() {
      if (open) closeSync(file);
      open = false;
      rmSync(partial.records, { force: true });
      rmSync(partial.templates, { force: true });
    },
  };
}

function writeTemplates(path: string, stats: SegmentStats, byText: ReadonlyMap<string, number>): void {
  const file = openSync(path, 'w');
  try {
    let text = `${JSON.stringify({ format: FORMAT, ...stats })}\n`;
    for (const template of byText.keys()) {
      text += `${template}\n`;
      if (text.length < 1 << 20) continue;
      writeWhole(file, Buffer.from(text));
      text = '';
    }
    writeWhole(file, Buffer.from(text));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done);
}

/** Flushes a folder to disk, so that renames in it are durable. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

export interface Segment {
  readonly path: string;
  readonly stats: SegmentStats;
  /** Canonical texts of the templates, in id order. Each access reads the file again. Throws STORE_CORRUPT. */
  readonly templateTexts: readonly string[];
  /**
   * Yields all records in chunks: `words[0, count * SEGMENT_RECORD_WORDS)`. All chunks share one buffer.
   *
   * @param check Verifies the checksum at the end; throws STORE_CORRUPT if it differs.
   */
  chunks(check: boolean): Generator<readonly [words: Int32Array, count: number]>;
}

/** Segments are made of files that an operator or the program has. */
const REMEDY = 'Import the files of its dataset again, or restore it from a backup.';

/**
 * Opens a closed segment.
 *
 * @throws NOT_FOUND if it does not exist.
 * @throws STORE_CORRUPT or STORE_VERSION if it cannot be read.
 */
export function readSegment(path: string): Segment {
  const files = segmentFiles(path);
  if (!existsSync(files.templates)) {
    throw new AssayError('NOT_FOUND', `No label segment at ${path}. ${REMEDY}`);
  }
  const lines = readLines(files.templates);
  const stats = parseHeader(lines.next().value ?? '', path);
  lines.return(undefined);
  return {
    path,
    stats,
    get templateTexts() {
      return readTemplateTexts(files.templates, stats, path);
    },
    chunks: (check) => readRecords(files.records, stats, check ? createHash('sha256') : null),
  };
}

/** Reads a whole segment, and returns whether it is as it was written. */
export function isIntactSegment(path: string): boolean {
  try {
    const segment = readSegment(path);
    for (const _ of segment.chunks(true));
    return segment.templateTexts.length === segment.stats.templates;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'STORE_CORRUPT' || code === 'NOT_FOUND' || code === 'ENOENT') return false;
    throw error;
  }
}

/** Labels of one segment in one partition, in a file of records only. */
export interface SegmentPart {
  readonly labels: number;
  readonly templates: number;
  /** Yields all records in chunks that share one buffer. */
  chunks(): Generator<readonly [words: Int32Array, count: number]>;
}

/** Records of a part that are written at a time. */
const PART_RECORDS = 8_192;

/**
 * Splits the records of a segment into files, one for each partition.
 *
 * @param partitionOf returns the partition of the record at a position of the words
 * @param path path of the files, without suffix
 * @param visit is called with each chunk of the segment
 * @throws STORE_CORRUPT if the checksum of the segment differs
 */
export function splitSegment(
  segment: Segment,
  partitions: number,
  path: string,
  partitionOf: (words: Int32Array, at: number) => number,
): { readonly parts: readonly SegmentPart[]; readonly steps: Generator<readonly [Int32Array, number]> } {
  const files = Array.from({ length: partitions }, (_, number) => `${path}-${number}`);
  const labels = new Array<number>(partitions).fill(0);
  const parts = files.map(
    (file, number): SegmentPart => ({
      get labels() {
        return labels[number] as number;
      },
      templates: segment.stats.templates,
      chunks: () => readRecords(file, { ...segment.stats, labels: labels[number] as number }, null),
    }),
  );
  function* steps(): Generator<readonly [Int32Array, number]> {
    const handles = files.map((file) => openSync(file, 'w'));
    const buffers = files.map(() => new Int32Array(PART_RECORDS * SEGMENT_RECORD_WORDS));
    const filled = new Array<number>(partitions).fill(0);
    const flush = (number: number): void => {
      const { buffer } = buffers[number] as Int32Array<ArrayBuffer>;
      writeWhole(handles[number] as number, new Uint8Array(buffer, 0, (filled[number] as number) * 4));
      filled[number] = 0;
    };
    try {
      for (const [words, count] of segment.chunks(true)) {
        for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
          const number = partitionOf(words, at);
          const into = buffers[number] as Int32Array;
          const to = filled[number] as number;
          for (let word = 0; word < SEGMENT_RECORD_WORDS; word++)
            into[to + word] = words[at + word] as number;
          filled[number] = to + SEGMENT_RECORD_WORDS;
          labels[number] = (labels[number] as number) + 1;
          if (filled[number] === into.length) flush(number);
        }
        yield [words, count];
      }
      for (let number = 0; number < partitions; number++) flush(number);
    } finally {
      for (const handle of handles) closeSync(handle);
    }
  }
  return { parts, steps: steps() };
}

function readTemplateTexts(file: string, stats: SegmentStats, path: string): string[] {
  const [, ...texts] = readLines(file);
  if (texts.length !== stats.templates)
    throw new AssayError(
      'STORE_CORRUPT',
      `Label segment ${path} has ${texts.length} templates, but its header states ${stats.templates}. ${REMEDY}`,
    );
  if (stats.templatesSha256 !== undefined && digestOfLines(texts) !== stats.templatesSha256)
    throw new AssayError('STORE_CORRUPT', `${file} does not match its checksum. ${REMEDY}`);
  return texts;
}

function digestOfLines(lines: Iterable<string>): string {
  const digest = createHash('sha256');
  for (const line of lines) digest.update(line).update('\n');
  return digest.digest('hex');
}

const LINE_FEED = 10;

/**
 * Yields the lines of a file, which may be larger than the maximum length of a string. Each is a string of its own: a part of a larger
 * string would keep all of that in memory.
 */
function* readLines(path: string): Generator<string, undefined> {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(1 << 20);
    let rest: Uint8Array = new Uint8Array(0);
    for (let read = readSync(file, bytes); read > 0; read = readSync(file, bytes)) {
      const have = bytes.subarray(0, read);
      let from = 0;
      for (let end = have.indexOf(LINE_FEED); end >= 0; end = have.indexOf(LINE_FEED, from)) {
        yield rest.length === 0
          ? have.toString('utf8', from, end)
          : Buffer.concat([rest, have.subarray(from, end)]).toString('utf8');
        rest = rest.subarray(0, 0);
        from = end + 1;
      }
      rest = Buffer.concat([rest, have.subarray(from)]);
    }
  } finally {
    closeSync(file);
  }
}

function parseHeader(line: string, path: string): SegmentStats {
  let header: SegmentStats & { readonly format: number };
  try {
    header = JSON.parse(line) as typeof header;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `Label segment ${path} has no readable header. ${REMEDY}`, {
      cause,
    });
  }
  if (header.format !== FORMAT) throw wrongFormat(`Label segment ${path}`, header.format, FORMAT);
  const unknown = Object.keys(header).find((name) => !HEADER_FIELDS.has(name));
  if (unknown !== undefined || header.bytes !== header.labels * RECORD_BYTES)
    throw new AssayError('STORE_CORRUPT', `Label segment ${path} has a damaged header. ${REMEDY}`);
  return header;
}

function* readRecords(
  path: string,
  stats: SegmentStats,
  digest: Hash | null,
): Generator<readonly [words: Int32Array, count: number]> {
  const chunk = new Int32Array(CHUNK_RECORDS * SEGMENT_RECORD_WORDS);
  const bytes = new Uint8Array(chunk.buffer);
  const file = openSync(path, 'r');
  try {
    for (let left = stats.labels; left > 0; ) {
      const count = Math.min(left, CHUNK_RECORDS);
      const wanted = count * RECORD_BYTES;
      let have = 0;
      while (have < wanted) {
        const read = readSync(file, bytes, have, wanted - have, null);
        if (read === 0) {
          throw new AssayError(
            'STORE_CORRUPT',
            `${path} ends before its ${stats.labels} records do. ${REMEDY}`,
          );
        }
        have += read;
      }
      digest?.update(bytes.subarray(0, wanted));
      yield [chunk, count];
      left -= count;
    }
  } finally {
    closeSync(file);
  }
  if (digest && digest.digest('hex') !== stats.recordsSha256) {
    throw new AssayError('STORE_CORRUPT', `${path} does not match its checksum. ${REMEDY}`);
  }
}
