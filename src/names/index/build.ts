/**
 * Builds an index of names: the words and keys of every name, sorted and written as the values of one LMDB environment.
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { noteFinishedSize } from '../../state/finished-size.ts';
import { openEnvironment } from '../../state/lmdb.ts';
import type { NameEntity, NameIndexMeta } from '../name.ts';
import type { NamePart } from '../name-parts.ts';
import { type ParsedName, parseListed } from '../parse.ts';
import {
  ALWAYS_OPEN,
  CLASS_MASK,
  CLASS_SHIFT,
  ENVIRONMENT_FILE,
  FAMILY_SHIFT,
  FORMAT_VERSION,
  identifierKey,
  KINDS,
  keyHash,
  NAME_WORDS,
  POSTING_CLASS,
  SCHEMA_SHIFT,
  SCHEMATA,
  SCRIPTS,
  SIZE_FILE,
  type StoredNameMeta,
  type ValueName,
  WEAK,
} from './format.ts';
import { consonantJoinsOf, indexKeysOf, joinsOf, wholeKey } from './keys.ts';
import { packFacts } from './word-facts.ts';

export interface NameIndexDeps {
  readonly clock: Clock;
}

const SLACK_BYTES = 16 * 1024 * 1024;
/** Positions have 25 bits, in addition to the 28 of a hash, or the class of a posting. */
const POSITIONS_MAX = 2 ** POSTING_CLASS;
/** Maximum number of adjacent parts that are indexed as one word. */
const JOINED_MOST = 3;

/**
 * Writes `folder`/names.mdb; the caller publishes the folder. The result does not depend on the order of the entities.
 *
 * @throws IMPLAUSIBLE_LIST if there are more names than an index can hold (33 million).
 */
export async function buildNameIndex(
  entities: AsyncIterable<NameEntity> | Iterable<NameEntity>,
  folder: string,
  deps: NameIndexDeps,
): Promise<NameIndexMeta> {
  const sorted: { key: string; entity: NameEntity; json: string }[] = [];
  for await (const entity of entities) {
    sorted.push({ key: `${entity.list}\u0000${entity.entityId}`, entity, json: entityJson(entity) });
  }
  sorted.sort((a, b) =>
    a.key < b.key ? -1 : a.key > b.key ? 1 : a.json < b.json ? -1 : a.json > b.json ? 1 : 0,
  );

  const wordIds = new Map<string, number>();
  const words: NamePart[] = [];
  const postings: number[][] = [];
  const nameRows: { entity: number; flags: number; text: string; words: number[] }[] = [];
  const joins = new PairList();
  const identifiers = new PairList();
  const byListType = { sanctions: 0, pep: 0, adverse_media: 0 };
  const byList: Record<string, number> = {};
  const version = createHash('sha256').update(`names ${FORMAT_VERSION}\n`);

  for (const [number, { entity, json }] of sorted.entries()) {
    version.update(json).update('\n');
    byListType[entity.listType]++;
    byList[entity.list] = (byList[entity.list] ?? 0) + 1;
    for (const each of entity.identifiers ?? []) identifiers.add(keyHash(identifierKey(each)), number);
    const seen = new Map<string, number>();
    for (const name of entity.names) {
      const known = seen.get(name.text);
      if (known !== undefined) {
        // If a name occurs twice and one occurrence is not weak, it is not weak.
        const row = nameRows[known] as { flags: number };
        if (!name.weak) row.flags &= ~WEAK;
        continue;
      }
      const parsed = parseListed(name.text, entity.schema);
      const parts = [...parsed.parts, ...parsed.forms, ...parsed.segments.map((segment) => segment.part)];
      if (parts.length === 0) continue;
      const id = nameRows.length;
      if (id >= POSITIONS_MAX)
        throw new AssayError('IMPLAUSIBLE_LIST', `An index can have at most ${POSITIONS_MAX} names.`);
      seen.set(name.text, id);
      const ids = parts.map((part) => {
        const key = wordKey(part);
        let word = wordIds.get(key);
        if (word === undefined) {
          word = words.length;
          wordIds.set(key, word);
          words.push(part);
          postings.push([]);
        }
        const list = postings[word] as number[];
        if (list[list.length - 1] !== id) list.push(id);
        return word;
      });
      nameRows.push({
        entity: number,
        flags:
          (name.weak ? WEAK : 0) |
          (parsed.family << FAMILY_SHIFT) |
          (Math.max(0, SCHEMATA.indexOf(entity.schema)) << SCHEMA_SHIFT) |
          (classOf(parsed) << CLASS_SHIFT),
        text: name.text,
        words: ids,
      });
      joins.add(keyHash(wholeKey(parsed.parts)), id);
      for (const joined of joinsOf(parsed.parts, JOINED_MOST)) joins.add(keyHash(joined), id);
      for (const joined of consonantJoinsOf(parsed.parts)) joins.add(keyHash(joined), id);
    }
  }

  const keys = new PairList();
  for (const [word, part] of words.entries())
    for (const key of indexKeysOf(part)) keys.add(keyHash(key), word);
  const classes = nameRows.map(({ flags }) => (flags >>> CLASS_SHIFT) & CLASS_MASK);
  for (const list of postings) {
    for (const [at, name] of list.entries()) list[at] = ((classes[name] as number) << POSTING_CLASS) | name;
    list.sort((a, b) => a - b);
  }
  const rarity = postings.map((list) => rarityOf(list.length, nameRows.length));
  const nameWords = nameRows.reduce((sum, row) => sum + row.words.length, 0);
  const values: Record<ValueName, Buffer> = {
    words: endsAndTexts(
      words.map(wordText),
      postings.map((list) => list.length),
    ),
    facts: packFacts(words),
    keys: keys.sorted(),
    joins: joins.sorted(),
    postings: int32(postings.flat()),
    weights: nameWeights(nameRows, words, rarity),
    names: packNames(nameRows, nameWords),
    entities: endsAndTexts(sorted.map((each) => each.json)),
    identifiers: identifiers.sorted(),
  };
  const meta: StoredNameMeta = {
    formatVersion: FORMAT_VERSION,
    version: version.digest('hex').slice(0, 16),
    builtAt: isoTime(deps.clock.now()),
    entities: sorted.length,
    names: nameRows.length,
    byListType,
    byList,
    counts: {
      words: words.length,
      keys: keys.size,
      joins: joins.size,
      nameWords,
      identifiers: identifiers.size,
    },
  };
  await write(folder, meta, values);
  return meta;
}

/** Returns the class of a name, as `format.ts` describes it. */
function classOf({ parts, segments }: ParsedName): number {
  let names = 0;
  for (const { kind, script } of parts) {
    if (kind === 'initial' || script === 'syllabic') return ALWAYS_OPEN;
    if (kind === 'name') names++;
  }
  return segments.length > 0 ? ALWAYS_OPEN : Math.min(CLASS_MASK, names);
}

/** Share of a part in the rank of a name: a few characters are one word in Latin letters, and an initial finds no name. */
export const rankShare = (part: NamePart): number => {
  if (part.kind === 'initial') return 0.25;
  return part.script === 'syllabic' && part.origin.length === 1 ? 0.35 : 1;
};

/** Returns 1 for a word of one name, down to 0.1 for a word of all names. */
export function rarityOf(names: number, all: number): number {
  return Math.max(0.1, Math.log((all + 1) / names) / Math.log(all + 1 + Number.EPSILON));
}

const wordKey = (part: NamePart): string =>
  `${KINDS.indexOf(part.kind)}${SCRIPTS.indexOf(part.script)}${part.text}${part.origin === '' ? '' : `\t${part.origin}`}`;

function wordText(part: NamePart): string {
  const { kind, script, text, folded, origin } = part;
  const own = `${KINDS.indexOf(kind)}${SCRIPTS.indexOf(script)}${text}`;
  return `${own}${folded === text ? '' : ` ${folded}`}${origin === '' ? '' : `\t${origin}`}`;
}

function entityJson(entity: NameEntity): string {
  const {
    entityId,
    list,
    listType,
    schema,
    birthDates,
    countries,
    programs,
    listedAt,
    delistedAt,
    sourceUrl,
    identifiers = [],
  } = entity;
  const primary = primaryOf(entity);
  return JSON.stringify({
    entityId,
    list,
    listType,
    schema,
    primaryName: primary?.text ?? '',
    birthDates,
    countries,
    programs,
    listedAt,
    delistedAt,
    sourceUrl,
    ...(identifiers.length === 0 ? {} : { identifiers: identifiers.map(identifierKey) }),
  });
}

/**
 * Returns the name to show: the primary name; or the first strong name in Latin letters if the primary name has none, because a
 * publisher that marks no name as primary (the EU) lists them in any order.
 */
export function primaryOf(entity: Pick<NameEntity, 'names'>): NameEntity['names'][number] | undefined {
  const primary = entity.names.find((name) => name.kind === 'primary') ?? entity.names[0];
  if (primary === undefined || LATIN_LETTERS.test(primary.text)) return primary;
  const latin = entity.names.filter((name) => LATIN_LETTERS.test(name.text));
  return latin.find((name) => !name.weak) ?? latin[0] ?? primary;
}

const LATIN_LETTERS = /\p{Script=Latin}{2}/u;

/** Pairs of a hash and a position, encoded as exact numbers that sort. */
class PairList {
  size = 0;
  private pairs = new Float64Array(1024);

  add(hash: number, position: number): void {
    if (this.size === this.pairs.length) {
      const wider = new Float64Array(this.size * 2);
      wider.set(this.pairs);
      this.pairs = wider;
    }
    this.pairs[this.size++] = hash * POSITIONS_MAX + position;
  }

  /** Returns the hashes in ascending order, then the position of each. */
  sorted(): Buffer {
    const sorted = this.pairs.subarray(0, this.size).sort();
    const out = new Int32Array(this.size * 2);
    for (let at = 0; at < this.size; at++) {
      const pair = sorted[at] as number;
      const hash = Math.floor(pair / POSITIONS_MAX);
      out[at] = hash;
      out[this.size + at] = pair - hash * POSITIONS_MAX;
    }
    return bytesOf(out);
  }
}

const bytesOf = (words: Int32Array): Buffer => Buffer.from(words.buffer, words.byteOffset, words.byteLength);
const int32 = (numbers: readonly number[]): Buffer => bytesOf(Int32Array.from(numbers));

/** Returns the end of each text, then (if given) the running sum of each count, then the texts. */
function endsAndTexts(texts: readonly string[], counts?: readonly number[]): Buffer {
  const ends = new Int32Array(texts.length * (counts ? 2 : 1));
  let end = 0;
  let sum = 0;
  for (const [at, text] of texts.entries()) {
    end += Buffer.byteLength(text);
    ends[at] = end;
    if (counts) {
      sum += counts[at] as number;
      ends[texts.length + at] = sum;
    }
  }
  return Buffer.concat([bytesOf(ends), Buffer.from(texts.join(''))]);
}

interface NameRow {
  readonly entity: number;
  readonly flags: number;
  readonly text: string;
  readonly words: readonly number[];
}

function nameWeights(
  rows: readonly NameRow[],
  words: readonly NamePart[],
  rarity: readonly number[],
): Buffer {
  const weights = new Float32Array(rows.length);
  for (const [at, row] of rows.entries()) {
    for (const word of row.words) {
      const part = words[word] as NamePart;
      if (part.kind === 'segment') continue;
      weights[at] = (weights[at] as number) + rankShare(part) * part.weight * (rarity[word] as number);
    }
  }
  return bytesOf(new Int32Array(weights.buffer));
}

function packNames(rows: readonly NameRow[], nameWords: number): Buffer {
  const table = new Int32Array(rows.length * NAME_WORDS);
  const all = new Int32Array(nameWords);
  let wordEnd = 0;
  let textEnd = 0;
  for (const [at, row] of rows.entries()) {
    for (const word of row.words) all[wordEnd++] = word;
    textEnd += Buffer.byteLength(row.text);
    table.set([row.entity, row.flags, wordEnd, textEnd], at * NAME_WORDS);
  }
  return Buffer.concat([bytesOf(table), bytesOf(all), Buffer.from(rows.map((row) => row.text).join(''))]);
}

async function write(folder: string, meta: StoredNameMeta, values: Record<ValueName, Buffer>): Promise<void> {
  const path = join(folder, ENVIRONMENT_FILE);
  const bytes = Object.values(values).reduce((sum, value) => sum + value.length, 0);
  const environment = openEnvironment(path, {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    mapSize: Math.ceil((bytes + SLACK_BYTES) / 4096) * 4096,
  });
  try {
    for (const [name, value] of Object.entries(values)) environment.putSync(Buffer.from(name), value);
    environment.putSync(Buffer.from('meta'), Buffer.from(JSON.stringify(meta)));
  } finally {
    await environment.close();
  }
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  noteFinishedSize(path, join(folder, SIZE_FILE));
}
