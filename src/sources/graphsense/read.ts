/**
 * Reads GraphSense TagPacks, from a tar.gz or from single YAML files, and joins them with the actor packs among them. It
 * makes two passes: the first collects the actors and the defaults of each pack (which may come after its tags), the second
 * yields the tags.
 */
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { AssayError, messageOf } from '../../base/errors.ts';
import { rejectRow } from '../csv.ts';
import { openBytes, partName } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';
import { TAGPACK_LIMITS } from './limits.ts';
import { isMap, type PackItem, PackSplitter, parseItem, parseMap, type YamlMap } from './pack.ts';

interface Actor {
  readonly label: string;
  readonly uri: string | null;
  readonly categories: readonly string[];
  readonly jurisdictions: readonly string[];
}

/** One YAML file, on its own or in an archive. */
interface Pack {
  readonly name: string;
  readonly text: AsyncIterable<string>;
}

/** The result of the first pass. */
interface Known {
  readonly actors: Map<string, Actor>;
  /** Defaults of each pack, by its position; null if its head is broken. */
  readonly heads: (YamlMap | null)[];
  archive: boolean;
  newest: string | null;
}

/** Yields the rejects of actors, the header, then the tags. Throws INVALID_FILE if a file is broken or too large. */
export const graphsenseReader: SourceReader = async function* (files) {
  const known: Known = { actors: new Map(), heads: [], archive: false, newest: null };
  for await (const pack of packsOf(files, known)) yield* learn(pack, known);
  yield {
    type: 'header',
    lists: [],
    publishedAt: known.newest,
    layout: known.archive ? 'TAGPACK_TAR' : 'TAGPACK_YAML',
  };
  let position = 0;
  for await (const pack of packsOf(files, known)) {
    const head = known.heads[position++];
    if (head) yield* readTags(pack, head, known.actors);
    else await drain(pack.text);
  }
};

/** First pass over one pack: reads its head and its actors. */
async function* learn(pack: Pack, known: Known): AsyncGenerator<Reject> {
  let empty = true;
  let head: YamlMap | null = null;
  for await (const part of itemsOf(pack)) {
    if (part.type === 'head') {
      if (part.fault !== null) {
        empty = false;
        yield rejectRow(
          pack.name,
          { line: 1, text: part.text },
          `The head of the pack is broken: ${part.fault}`,
        );
      }
      head = part.head;
      continue;
    }
    empty = false;
    if (part.item.list !== 'actors') continue;
    const actor = part.read();
    const fault = typeof actor === 'string' ? actor : addActor(actor, known.actors);
    if (fault !== null) yield rejectRow(pack.name, part.item, fault);
  }
  known.heads.push(head);
  const lastmod = dateOf(head?.lastmod);
  if (lastmod !== null && (known.newest === null || lastmod > known.newest)) known.newest = lastmod;
  if (empty) yield rejectRow(pack.name, { line: 1, text: '' }, 'The file has no tags and no actors.');
}

/** Adds an actor; returns the reason if it cannot be added. */
function addActor(fields: YamlMap, actors: Map<string, Actor>): string | null {
  const id = textOf(fields.id);
  if (id === null) return 'id: the actor has none.';
  if (actors.has(id)) return `id: the actor '${id}' is declared twice.`;
  if (actors.size >= TAGPACK_LIMITS.tagPackActorsMax)
    return `More than ${TAGPACK_LIMITS.tagPackActorsMax} actors.`;
  actors.set(id, {
    label: textOf(fields.label) ?? id,
    uri: textOf(fields.uri),
    categories: textsOf(fields.categories),
    jurisdictions: textsOf(fields.jurisdictions),
  });
  return null;
}

/** Second pass over one pack: yields its tags. */
async function* readTags(
  pack: Pack,
  head: YamlMap,
  actors: ReadonlyMap<string, Actor>,
): AsyncGenerator<AttributedAddress | Reject> {
  for await (const part of itemsOf(pack)) {
    if (part.type === 'head' || part.item.list !== 'tags') continue;
    const fields = part.read();
    const tag =
      typeof fields === 'string' ? fields : recordOf(pack.name, part.item.line, fields, head, actors);
    yield typeof tag === 'string' ? rejectRow(pack.name, part.item, tag) : tag;
  }
}

/** Converts a tag to a record, with the defaults of its pack and its actor; returns the reason if that is not possible. */
function recordOf(
  file: string,
  line: number,
  tag: YamlMap,
  head: YamlMap,
  actors: ReadonlyMap<string, Actor>,
): AttributedAddress | string {
  const own = (field: string): string | null => textOf(tag[field]) ?? textOf(head[field]);
  const address = textOf(tag.address);
  if (address === null) return 'address: the tag has none.';
  const actorId = own('actor');
  const actor = actorId === null ? undefined : actors.get(actorId);
  const label = own('label');
  const actorName = actor?.label ?? label ?? actorId;
  if (actorName === null) return 'label: the tag has neither a label nor an actor.';
  const lists = textsOf(tag.concepts);
  const concepts = [
    own('abuse'),
    ...(lists.length > 0 ? lists : textsOf(head.concepts)),
    own('category'),
    ...(actor?.categories ?? []),
  ].filter((concept) => concept !== null);
  return {
    type: 'address',
    address,
    currency: own('network') ?? own('currency'),
    actorId,
    actorName,
    concepts: [...new Set(concepts)],
    tags: label === null || label === actorName ? [] : [label],
    confidence: own('confidence'),
    jurisdiction: actor?.jurisdictions[0] ?? null,
    url: actor?.uri ?? null,
    firstSeen: null,
    // When the publisher last confirmed the tag: the only date of a tag.
    lastSeen: dateOf(own('lastmod')),
    isContract: null,
    verified: true,
    sourceUrl: own('source'),
    provenance: { file, line },
  };
}

type PackPart =
  | {
      readonly type: 'item';
      readonly item: Pick<PackItem, 'list' | 'line' | 'text'>;
      /** Returns the item's fields, or the reason if it has none. */
      readonly read: () => YamlMap | string;
    }
  | {
      readonly type: 'head';
      readonly head: YamlMap | null;
      readonly fault: string | null;
      readonly text: string;
    };

/** Yields the items of a pack in order, and its head at the end. */
async function* itemsOf(pack: Pack): AsyncGenerator<PackPart> {
  const splitter = new PackSplitter(pack.name);
  let whole = '';
  let started = false;
  for await (const chunk of pack.text) {
    // The part that makes a pack irregular comes before its first item, so nothing has been yielded yet.
    whole = started ? whole : whole + chunk;
    if (whole.length > TAGPACK_LIMITS.tagPackIrregularCharsMax) {
      throw new AssayError(
        'INVALID_FILE',
        `${pack.name}: too large: a pack of this size must have one block for each tag.`,
        { field: 'file' },
      );
    }
    if (splitter.irregular !== null) continue;
    for (const item of splitter.push(chunk)) {
      started = true;
      whole = '';
      yield { type: 'item', item, read: () => readItem(item) };
    }
  }
  if (splitter.irregular === null) {
    for (const item of splitter.end()) yield { type: 'item', item, read: () => readItem(item) };
  }
  if (splitter.irregular !== null) yield* wholeParts(whole);
  else yield headPart(splitter.head, () => parseMap(splitter.head));
}

function readItem(item: PackItem): YamlMap | string {
  if (item.cut) return `The item is longer than ${TAGPACK_LIMITS.tagPackItemCharsMax} characters.`;
  return guarded(() => parseItem(item.text));
}

/** Yields the parts of a pack that was parsed as a whole. Its items have no lines: `line` is the number of the item. */
function* wholeParts(text: string): Generator<PackPart> {
  const pack = guarded(() => parseMap(text));
  if (typeof pack !== 'string') {
    for (const list of ['tags', 'actors'] as const) {
      const items = pack[list];
      if (!Array.isArray(items)) continue;
      for (const [index, fields] of items.entries()) {
        const item = { list, line: index + 1, text: JSON.stringify(fields).slice(0, 500) };
        yield { type: 'item', item, read: () => (isMap(fields) ? fields : 'The item is not a YAML map.') };
      }
    }
  }
  yield headPart(text, () => (typeof pack === 'string' ? fail(pack) : pack));
}

function headPart(text: string, read: () => YamlMap): PackPart {
  const head = guarded(read);
  return typeof head === 'string'
    ? { type: 'head', head: null, fault: head, text }
    : { type: 'head', head, fault: null, text };
}

function fail(sentence: string): never {
  throw new Error(sentence);
}

/** Returns the result of `read`, or the first line of its error. */
function guarded(read: () => YamlMap): YamlMap | string {
  try {
    return read();
  } catch (error) {
    return messageOf(error).split('\n')[0] ?? 'It is broken.';
  }
}

/** Yields every YAML file of every path, with archives unpacked. A pack that is not read is skipped. */
async function* packsOf(files: readonly string[], known: Known): AsyncGenerator<Pack> {
  for (const path of files) {
    const name = partName(path);
    const bytes = openBytes(path);
    const { head, all } = await peek(bytes, TAR_BLOCK);
    if (isTar(head)) {
      known.archive = true;
      yield* entriesOf(all, name);
    } else {
      yield { name, text: decode(all, name) };
    }
  }
}

const TAR_BLOCK = 512;

/** POSIX ustar and GNU tar both write `ustar` at byte 257. */
const isTar = (head: Uint8Array): boolean =>
  head.length >= TAR_BLOCK && Buffer.from(head.subarray(257, 262)).toString('latin1') === 'ustar';

async function peek(
  source: AsyncIterator<Uint8Array> & AsyncIterable<Uint8Array>,
  bytes: number,
): Promise<{ head: Uint8Array; all: AsyncIterable<Uint8Array> }> {
  let head: Uint8Array = new Uint8Array(0);
  while (head.length < bytes) {
    const next = await source.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  const all = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield head;
      yield* source;
    } finally {
      // A consumer that stops inside the head never iterated `source`, so its file is closed here.
      await source.return?.();
    }
  };
  return { head, all: all() };
}

async function* entriesOf(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Pack> {
  const unpack = extract();
  // Awaited below; until then a rejection must not count as unhandled.
  const feeding = pipeline(Readable.from(bytes), unpack);
  feeding.catch(() => {});
  let entries = 0;
  try {
    for await (const entry of unpack) {
      if (++entries > TAGPACK_LIMITS.tagPackEntriesMax)
        fail(`more than ${TAGPACK_LIMITS.tagPackEntriesMax} entries`);
      const { name: path, type } = entry.header;
      if (type === 'file' && isPack(path)) {
        yield { name: basename(path), text: decode(entry as AsyncIterable<Uint8Array>, basename(path)) };
      }
      entry.resume();
    }
    await feeding;
  } catch (error) {
    if (error instanceof AssayError) throw error;
    throw new AssayError('INVALID_FILE', `${name}: the archive is damaged (${messageOf(error)}).`, {
      field: 'file',
      cause: error,
    });
  } finally {
    unpack.destroy();
  }
}

/** Excludes hidden files and folders, which hold the repository's own settings. */
const isPack = (path: string): boolean => /\.ya?ml$/i.test(path) && !/(^|\/)\.[^/]/.test(path);

async function* decode(bytes: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of bytes) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (error instanceof AssayError) throw error;
    const what = error instanceof TypeError ? 'the text is not valid UTF-8' : messageOf(error);
    throw new AssayError('INVALID_FILE', `${name}: cannot be read to its end (${what}).`, {
      field: 'file',
      cause: error,
    });
  }
}

async function drain(text: AsyncIterable<string>): Promise<void> {
  for await (const _ of text);
}

/** Returns the text of a scalar; null if it is empty or one of YAML's words for null. */
function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.trim();
  return text === '' || text === '~' || text === 'null' ? null : text;
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map(textOf).filter((text) => text !== null) : [];

/** Returns the date of `2023-08-16` or `2023-08-16 12:18:52.619444`. */
const dateOf = (value: unknown): string | null => /^\d{4}-\d{2}-\d{2}/.exec(textOf(value) ?? '')?.[0] ?? null;
