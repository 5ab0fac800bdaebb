/**
 * Reads the documents of a published tree: a `.tar.gz` of a repository, a zip archive, or single files. Each document is small and is
 * read whole; the tree is streamed.
 */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { AssayError, messageOf } from '../base/errors.ts';
import { isUrl } from '../base/url.ts';
import { rejectRow } from './csv.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { listParts, openBytes, partName, type SourcePart } from './open.ts';
import type { AttributedAddress, Reject } from './records.ts';

export interface SourceDocument {
  /** Path inside the archive, or the name of the file. */
  readonly path: string;
  readonly text: string;
}

/** Size of the first block of a tar archive, and the position of its magic word. */
const TAR_BLOCK = 512;
const TAR_MAGIC_AT = 257;

const isTar = (head: Buffer): boolean =>
  head.length >= TAR_BLOCK && head.toString('latin1', TAR_MAGIC_AT, TAR_MAGIC_AT + 5) === 'ustar';

const tooLarge = (path: string): AssayError =>
  new AssayError(
    'INVALID_FILE',
    `${path}: is larger than ${SOURCE_LIMITS.documentBytesMax.toLocaleString('en')} bytes.`,
    { field: 'file' },
  );

/**
 * Yields the documents of a file that `wants` by their path.
 *
 * @throws INVALID_FILE if the file cannot be read, or a wanted document is too large
 */
export async function* documentsOf(
  file: string,
  wants: (path: string) => boolean,
): AsyncGenerator<SourceDocument, void, undefined> {
  for (const part of await listParts(file)) yield* documentsOfPart(part, wants);
}

async function* documentsOfPart(
  part: SourcePart,
  wants: (path: string) => boolean,
): AsyncGenerator<SourceDocument, void, undefined> {
  const bytes = openBytes(part);
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < TAR_BLOCK) {
    const next = await bytes.next();
    if (next.done === true) break;
    first.push(next.value);
    length += next.value.length;
  }
  const head = Buffer.concat(first);
  if (isTar(head)) {
    yield* untar(prepend(head, bytes), partName(part), wants);
    return;
  }
  const name = part.entry ?? part.name;
  if (part.entry !== null && !wants(name)) {
    await bytes.return();
    return;
  }
  yield { path: name, text: await textOf(prepend(head, bytes), name) };
}

async function* prepend(head: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (head.length > 0) yield head;
  yield* rest;
}

async function textOf(chunks: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > SOURCE_LIMITS.documentBytesMax) throw tooLarge(path);
    parts.push(chunk);
  }
  return Buffer.concat(parts)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
}

async function* untar(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  wants: (path: string) => boolean,
): AsyncGenerator<SourceDocument, void, undefined> {
  const archive = extract();
  // Its error reaches the iteration below, because the pipeline destroys the archive with it.
  const piped = pipeline(Readable.from(bytes), archive).catch(() => undefined);
  let entries = 0;
  try {
    for await (const entry of archive) {
      const path = entry.header.name;
      if (++entries > SOURCE_LIMITS.documentEntriesMax)
        throw new AssayError(
          'INVALID_FILE',
          `${name}: has more than ${SOURCE_LIMITS.documentEntriesMax.toLocaleString('en')} entries.`,
          { field: 'file' },
        );
      if (entry.header.type !== 'file' || !wants(path)) {
        entry.resume();
        continue;
      }
      if ((entry.header.size ?? 0) > SOURCE_LIMITS.documentBytesMax) throw tooLarge(path);
      yield { path, text: await textOf(entry as AsyncIterable<Uint8Array>, path) };
    }
    await piped;
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('INVALID_FILE', `${name}: is not a readable archive (${messageOf(error)}).`, {
      field: 'file',
      cause: error,
    });
  } finally {
    archive.destroy();
  }
}

export type JsonMap = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a text cut to the longest that a label may have; null if the value is no text, or empty. */
export function textIn(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim().slice(0, SOURCE_LIMITS.documentTextCharsMax);
  return text === '' ? null : text;
}

/** Returns an http(s) address; null if the value is none. */
export function urlIn(value: unknown): string | null {
  const text = textIn(value);
  return text !== null && /^https?:\/\//i.test(text) && isUrl(text) ? text : null;
}

/** Returns the ISO date at the beginning of a text; null if it does not begin with one. */
export const dateIn = (value: unknown): string | null =>
  /^\d{4}-\d\d-\d\d/.exec(typeof value === 'string' ? value.trim() : '')?.[0] ?? null;

/** Returns a reject for a whole document, or for its part number `line`. */
export const rejectDocument = (path: string, text: string, reason: string, line = 1): Reject =>
  rejectRow(path, { line, text }, reason);

/**
 * Parses a document as JSON.
 *
 * @returns the value, or the reject if it is not JSON
 */
export function parseDocument({ path, text }: SourceDocument): { value: unknown } | { reject: Reject } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return {
      reject: rejectDocument(path, text.slice(0, 200), `The file is not JSON (${messageOf(error)}).`),
    };
  }
}

/** What a reader of published documents states about an address; the rest has defaults. */
export type Stated = Pick<
  AttributedAddress,
  'address' | 'currency' | 'actorName' | 'concepts' | 'provenance'
> &
  Partial<AttributedAddress>;

/** Creates the record of an address from a published document. */
export const attributed = (stated: Stated): AttributedAddress => ({
  type: 'address',
  actorId: null,
  tags: [],
  confidence: null,
  jurisdiction: null,
  url: null,
  firstSeen: null,
  lastSeen: null,
  isContract: null,
  verified: true,
  sourceUrl: null,
  ...stated,
});
