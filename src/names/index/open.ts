/** An open index of names: selects candidates by shared keys and rarity, then compares the best of them part by part. */
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { IDENTIFIER_KINDS, identifierLabel, normaliseIdentifier } from '../../sources/identifiers.ts';
import type { PartyIdentifier } from '../../sources/records.ts';
import { hasFinishedSize } from '../../state/finished-size.ts';
import { wrongFormat } from '../../state/format-version.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import { openMappedFile } from '../../state/mapped-file.ts';
import { Meetings } from '../compare.ts';
import { isOneEdit } from '../edits.ts';
import { isPartial, kindOf, mostForKinds } from '../kinds.ts';
import {
  explainNames,
  floorOf,
  isIdentical,
  type Judgement,
  judgeAbove,
  mostEvidence,
  PARTIAL_MOST,
  toConfidence,
  weighEvidence,
} from '../model.ts';
import {
  type MatchOptions,
  type MatchReason,
  NAME_LIST_TYPES,
  type NameIndex,
  type NameIndexMeta,
  type NameMatch,
  type NameQuery,
} from '../name.ts';
import {
  indexedPart,
  type NamePart,
  NO_SEGMENTS,
  type ParsedName,
  parseName,
  placeSegments,
} from '../parse.ts';
import { LEAST_SIMILARITY, meet } from '../similarity.ts';
import { rankShare, rarityOf } from './build.ts';
import {
  ENVIRONMENT_FILE,
  FAMILY_MASK,
  FAMILY_SHIFT,
  FORMAT_VERSION,
  HASH_BITS,
  identifierKey,
  KINDS,
  keyHash,
  MAP_BYTES,
  NAME_WORDS,
  SCHEMA_SHIFT,
  SCHEMATA,
  SCRIPTS,
  SIZE_FILE,
  type StoredNameMeta,
  VALUES,
  type ValueName,
  WEAK,
} from './format.ts';
import { consonantJoinsOf, joinsOf, queryKeysOf, wholeKey } from './keys.ts';
import { Tally } from './tally.ts';
import { LEAST_USEFUL, WordFacts } from './word-facts.ts';

/** Maximum number of names that are compared part by part, best candidates first. */
const COMPARED_MOST = 64;
/**
 * The same for a query in a script that writes no vowels: its words read as many Latin words (أيمن as Ayman, Amin, Iman), so more names look
 * promising. With 64, Ayman al-Zawahiri in Arabic letters was not compared with his entries on the real lists.
 */
const COMPARED_WITHOUT_VOWELS_MOST = 256;
/** Maximum number of postings that are followed for one query; rarer words go first. */
const POSTINGS_MOST = 16_000;
/** Maximum number of words of one key that are checked. */
const KEY_WORDS_MOST = 150;
const JOINED_NAMES_MOST = 200;
/** Maximum number of adjacent parts of a query that are tried as one word. */
const JOINED_MOST = 4;
/**
 * Words that gain less than this share of the most similar word of a part make no name promising: if all words of a name gain less, its rank is
 * below `RANK_LEAST`.
 */
const WEAK_SHARE = 0.25;
/** Minimum rank: a name that matches less of the query, by the weight of its words, is far below any threshold. */
const RANK_LEAST = 0.4;
/** Minimum share of the weight of a query or of a name that matches. */
const SHARE_LEAST = 0.3;
/**
 * Maximum number of names with exactly the words of the query. They
 * are always compared; on present lists, at most 14 share one.
 */
const WHOLE_NAMES_MOST = 1_000;
/** Maximum number of entities with one identifier: a party is on at most a few lists, and some passports are listed for several people. */
const IDENTIFIED_MOST = 200;
/** Among equal scores, the same words come before similar ones. */
const SAME_WORDS = 20;
/** Ranks matches by an identifier before matches of equal names. */
const CERTAIN = 100;
const LIMIT = 100;
const THRESHOLD = 0.7;

/**
 * Opens `folder`/names.mdb.
 *
 * @throws STORE_CORRUPT, STORE_VERSION or STORE_BUSY.
 */
export function openNameIndex(folder: string): NameIndex {
  const file = join(folder, ENVIRONMENT_FILE);
  if (!hasFinishedSize(file, join(folder, SIZE_FILE))) {
    throw new AssayError(
      'STORE_CORRUPT',
      `The index of names ${file} is truncated. Run 'assay index build --force' to rebuild it.`,
    );
  }
  return openMappedFile(
    file,
    'The index of names',
    MAP_BYTES,
    (environment) => new MappedNames(environment, file),
  );
}

/** The words of the index that match a part, by descending gain: similar and rare words first. */
interface Hits {
  readonly words: Int32Array;
  readonly gains: Float64Array;
  /** Number of names that have the words. */
  readonly names: number;
}

const NO_HITS: Hits = { words: new Int32Array(0), gains: new Float64Array(0), names: 0 };

/** Maximum number of words in the cache of hits: 12 bytes each, so 12 MB. */
const HITS_KEPT = 1_000_000;

/** The best name of an entity for a query. */
interface Best {
  /** -1 if the entity was found by an identifier, and none of its names is similar. */
  readonly name: number;
  readonly entity: number;
  readonly judged: Judgement | null;
  readonly score: number;
  readonly logit: number;
  readonly partial: boolean;
  readonly weak: boolean;
  /** Null until they are needed: reading them costs as much as comparing a name. */
  readonly facts: EntityFacts | null;
  /** Identifiers of the query that are those of the entity. */
  readonly identified: readonly PartyIdentifier[];
}

type EntityFacts = Omit<NameMatch, 'explanation' | 'matchedName' | 'weak' | 'score' | 'partial'> & {
  /** As `identifierKey` writes them. */
  readonly identifiers?: readonly string[];
};

const NO_IDENTIFIERS: readonly PartyIdentifier[] = [];

const NO_FACTS = { birthDates: [], countries: [] } as const;

class MappedNames implements NameIndex {
  readonly meta: NameIndexMeta;
  private readonly counts: StoredNameMeta['counts'];
  private readonly names: number;
  private readonly wordEnds: Int32Array;
  private readonly wordTexts: Buffer;
  private readonly keys: Int32Array;
  private readonly joins: Int32Array;
  private readonly postings: Int32Array;
  private readonly rows: Int32Array;
  private readonly rowWeights: Float32Array;
  private readonly nameWords: Int32Array;
  private readonly nameTexts: Uint8Array;
  private readonly entityEnds: Int32Array;
  private readonly entityTexts: Uint8Array;
  private readonly identifiers: Int32Array;
  private readonly parts: (NamePart | undefined)[];
  private readonly tally: Tally;
  /** Where the keys of each bucket of hashes begin. */
  private readonly keyStarts: Int32Array;
  private readonly joinStarts: Int32Array;
  private readonly identifierStarts: Int32Array;
  private partsKept = 0;
  private readonly wordFacts: WordFacts;
  private readonly hitsOf = new Map<string, Hits>();
  private hitsKept = 0;
  private readonly meetings = new Meetings();

  private readonly environment: RootDatabase;

  constructor(environment: RootDatabase, file: string) {
    this.environment = environment;
    const bytes = environment.getBinary(Buffer.from('meta'));
    if (!bytes) throw new AssayError('STORE_CORRUPT', `${file} is not an index of names.`);
    const meta = JSON.parse(bytes.toString('utf8')) as StoredNameMeta;
    if (meta.formatVersion !== FORMAT_VERSION)
      throw wrongFormat(file, meta.formatVersion, FORMAT_VERSION, "Run 'assay index build'.");
    const values = {} as Record<ValueName, Uint8Array>;
    for (const name of VALUES) {
      const view = environment.getBinaryFast(Buffer.from(name));
      if (!view) throw new AssayError('STORE_CORRUPT', `${file} has no value '${name}'.`);
      // lmdb-js returns small values in one shared buffer, which the next read overwrites.
      const mapped = (view.buffer as { isSharedMap?: boolean }).isSharedMap === true;
      values[name] = mapped ? view : Uint8Array.from(view.subarray(0, view.length));
    }
    const { words, keys, joins, nameWords, identifiers } = meta.counts;
    const { counts: _, ...open } = meta;
    this.meta = open;
    this.counts = meta.counts;
    this.names = meta.names;
    const sized = (name: ValueName, least: number): Uint8Array => {
      if (values[name].length < least)
        throw new AssayError('STORE_CORRUPT', `The value '${name}' of ${file} is truncated.`);
      return values[name];
    };
    const view = (name: ValueName, at: number, length: number): Int32Array => {
      const value = sized(name, (at + length) * 4);
      return new Int32Array(value.buffer, value.byteOffset + at * 4, length);
    };
    this.wordEnds = view('words', 0, words * 2);
    const texts = values.words.subarray(words * 8);
    this.wordTexts = Buffer.from(texts.buffer, texts.byteOffset, texts.length);
    this.keys = view('keys', 0, keys * 2);
    this.joins = view('joins', 0, joins * 2);
    this.identifiers = view('identifiers', 0, identifiers * 2);
    this.postings = view('postings', 0, values.postings.length >>> 2);
    this.rows = view('names', 0, this.names * NAME_WORDS);
    const weights = view('weights', 0, this.names);
    this.rowWeights = new Float32Array(weights.buffer, weights.byteOffset, weights.length);
    this.nameWords = view('names', this.names * NAME_WORDS, nameWords);
    this.nameTexts = values.names.subarray((this.names * NAME_WORDS + nameWords) * 4);
    this.entityEnds = view('entities', 0, meta.entities);
    this.entityTexts = values.entities.subarray(meta.entities * 4);
    this.parts = new Array<NamePart | undefined>(words).fill(undefined);
    this.keyStarts = bucketsOf(this.keys, keys);
    this.joinStarts = bucketsOf(this.joins, joins);
    this.identifierStarts = bucketsOf(this.identifiers, identifiers);
    this.tally = new Tally(this.rowWeights);
    this.wordFacts = new WordFacts(this.wordEnds.subarray(0, words), this.wordTexts);
  }

  match(query: NameQuery, options: MatchOptions = {}): readonly NameMatch[] {
    const { limit = LIMIT, threshold = THRESHOLD } = options;
    const asked = parseName(query.name);
    if (this.names === 0) return [];
    const { meetings } = this;
    meetings.trim();
    const mostShift = mostEvidence(query);
    const needsFacts = mostShift > 0;
    const kind = kindOf(query, asked);
    // Skips names that no evidence could lift to the threshold.
    const floor = floorOf(threshold) - mostShift;
    const best = new Map<number, Best>();
    for (const name of asked.parts.length === 0 ? [] : this.candidates(asked)) {
      const listed = this.parsed(name);
      const judged = judgeAbove(asked, listed, floor, meetings);
      if (judged === null) continue;
      const identical = isIdentical(asked, listed);
      if (toConfidence(judged.logit + mostShift, identical) < threshold) continue;
      const entity = this.rows[name * NAME_WORDS] as number;
      const flags = this.rows[name * NAME_WORDS + 1] as number;
      const schema = SCHEMATA[(flags >>> SCHEMA_SHIFT) & 7] ?? 'Unknown';
      const weak = (flags & WEAK) !== 0;
      const before = best.get(entity);
      const facts = needsFacts ? (before?.facts ?? this.entity(entity)) : null;
      const { shift } = weighEvidence(query, { ...(facts ?? NO_FACTS), schema, weak });
      const partial = isPartial(asked, judged, schema, identical);
      const most = Math.min(mostForKinds(kind, query, schema, identical), partial ? PARTIAL_MOST : 1);
      const logit = judged.logit + shift + (identical ? SAME_WORDS : 0);
      const score = Math.min(most, toConfidence(judged.logit + shift, identical));
      if (score < threshold) continue;
      if (before && (before.score > score || (before.score === score && before.logit >= logit))) continue;
      const identified = NO_IDENTIFIERS;
      best.set(entity, { name, entity, judged, score, logit, partial, weak, facts, identified });
    }
    if (query.identifiers !== undefined) this.addIdentified(query.identifiers, best);
    const listTypes = new Map<number, number>();
    const listTypeOf = (found: Best): number => {
      const known = listTypes.get(found.entity);
      if (known !== undefined) return known;
      const facts = found.facts ?? this.entity(found.entity);
      best.set(found.entity, { ...found, facts });
      const at = NAME_LIST_TYPES.indexOf(facts.listType);
      listTypes.set(found.entity, at);
      return at;
    };
    return [...best.values()]
      .sort(
        (a, b) =>
          b.score - a.score || b.logit - a.logit || listTypeOf(a) - listTypeOf(b) || a.entity - b.entity,
      )
      .slice(0, limit)
      .map((found) => this.matchOf(query, asked, found));
  }

  /** The explanation is made when it is read: of up to 200 matches a response shows a few. */
  private matchOf(query: NameQuery, asked: ParsedName, found: Best): NameMatch {
    const facts = found.facts ?? this.entity(found.entity);
    const { weak, score, partial, judged, identified } = found;
    const matchedName = found.name < 0 ? facts.primaryName : this.text(found.name);
    let explained: readonly MatchReason[] | null = null;
    return {
      entityId: facts.entityId,
      list: facts.list,
      listType: facts.listType,
      schema: facts.schema,
      primaryName: facts.primaryName,
      birthDates: facts.birthDates,
      countries: facts.countries,
      programs: facts.programs,
      listedAt: facts.listedAt,
      delistedAt: facts.delistedAt,
      sourceUrl: facts.sourceUrl,
      matchedName,
      weak,
      score,
      partial,
      get explanation() {
        explained ??= [
          ...identified.map(identifierReason),
          ...(judged === null ? [] : explainNames(asked, parseName(matchedName), judged)),
          ...weighEvidence(query, { ...facts, weak }).reasons,
        ];
        return explained;
      },
    };
  }

  close(): void {
    void this.environment.close();
  }

  /** Adds the entities that have an identifier of the query: the number identifies them, whatever their names are. */
  private addIdentified(asked: NonNullable<NameQuery['identifiers']>, best: Map<number, Best>): void {
    for (const kind of IDENTIFIER_KINDS) {
      const value = asked[kind] === undefined ? null : normaliseIdentifier(kind, asked[kind]);
      if (value === null) continue;
      const identifier = { kind, value };
      const key = identifierKey(identifier);
      this.range(this.identifiers, this.identifierStarts, keyHash(key), IDENTIFIED_MOST, (entity) => {
        const known = best.get(entity);
        const facts = known?.facts ?? this.entity(entity);
        // Two identifiers may have one hash.
        if (facts.identifiers?.includes(key) !== true) return;
        best.set(entity, {
          name: known?.name ?? -1,
          entity,
          judged: known?.judged ?? null,
          score: 1,
          logit: CERTAIN,
          partial: false,
          weak: known?.weak ?? false,
          facts,
          identified: [...(known?.identified ?? []), identifier],
        });
      });
    }
  }

  /**
   * Returns the names with exactly the words of the query, then those that share rare or similar words with it; the most
   * promising first.
   */
  private candidates(asked: ParsedName): number[] {
    const { tally } = this;
    const plans = [...asked.parts, ...asked.segments.map((segment) => segment.part)]
      .map((part) => {
        const hits = part.weight < 0.15 && asked.parts.length > 1 ? NO_HITS : this.hits(part);
        const least = Math.min(0.1, part.weight / 4);
        // The first hit has the highest gain.
        const strongest = hits.words.length === 0 ? least : Math.max(least, hits.gains[0] as number);
        return { part, hits, strongest };
      })
      .sort((a, b) => a.hits.names - b.hits.names);
    let total = 0;
    for (const { part, hits, strongest } of plans) {
      if (part.kind !== 'segment')
        total += rankShare(part) * Math.max(strongest, hits.words.length === 0 ? part.weight : 0);
    }
    this.addHits(plans);
    this.addJoined(asked, plans.length, Math.max(1, total * 0.8));
    const chosen = new Set<number>();
    this.range(this.joins, this.joinStarts, keyHash(wholeKey(asked.parts)), WHOLE_NAMES_MOST, (name) =>
      chosen.add(name),
    );
    const most = asked.parts.some(({ script }) => script === 'abjad')
      ? COMPARED_WITHOUT_VOWELS_MOST
      : COMPARED_MOST;
    for (const name of tally.best(total, most, RANK_LEAST, SHARE_LEAST)) chosen.add(name);
    return [...chosen];
  }

  /**
   * Adds the gains of single words: first those of similar words, which alone can make a name promising, then those of the other
   * words, only for names that a similar word has found.
   */
  private addHits(plans: readonly { readonly hits: Hits; readonly strongest: number }[]): void {
    let followed = 0;
    for (const isOpen of [true, false]) {
      for (const [at, { hits, strongest }] of plans.entries()) {
        const bit = Tally.bitOf(at);
        const least = WEAK_SHARE * strongest;
        for (let hit = 0; hit < hits.words.length; hit++) {
          const gain = hits.gains[hit] as number;
          if (gain >= least !== isOpen) continue;
          const word = hits.words[hit] as number;
          const start = this.postingStart(word);
          const end = this.postingEnd(word);
          // When the budget is spent, common words only add to names that a rarer word has found.
          const opens = isOpen && followed < POSTINGS_MOST;
          followed += end - start;
          if (opens || this.tally.count >= end - start)
            this.tally.addAll(this.postings, start, end, gain, bit, opens);
          else this.tally.addKnown(gain, bit, (name) => this.has(name, word));
        }
      }
    }
  }

  /** Adds the names that have adjacent words of the query as one word, or one word of the query as several. */
  private addJoined(asked: ParsedName, parts: number, gain: number): void {
    const bit = Tally.bitOf(parts);
    const { tally } = this;
    const addNames = (key: string): void =>
      this.range(this.joins, this.joinStarts, keyHash(key), JOINED_NAMES_MOST, (name) =>
        tally.add(name, gain, bit),
      );
    const addWords = (key: string, most: number): void =>
      this.range(this.keys, this.keyStarts, keyHash(key), most, (word) => {
        const start = this.postingStart(word);
        const end = Math.min(this.postingEnd(word), start + JOINED_NAMES_MOST);
        tally.addAll(this.postings, start, end, gain, bit, true);
      });
    const joins = joinsOf(asked.parts, JOINED_MOST);
    for (const text of joins) addNames(text);
    for (const part of asked.parts) addNames(part.folded);
    for (const key of consonantJoinsOf(asked.parts)) addWords(key, KEY_WORDS_MOST);
    for (const part of asked.parts) {
      if (part.script === 'latin' && part.kind === 'name' && part.consonants.length >= 3)
        addNames(`'${part.consonants}`);
    }
    for (const text of joins) addWords(`:${text}`, 8);
  }

  /** Returns the words of the index that match a part of the query. */
  private hits(part: NamePart): Hits {
    const key = `${part.kind} ${part.script} ${part.text} ${part.origin}`;
    const known = this.hitsOf.get(key);
    if (known !== undefined) return known;
    const found = this.findHits(part);
    this.hitsKept += found.words.length + 1;
    if (this.hitsKept > HITS_KEPT) {
      this.hitsOf.clear();
      this.hitsKept = found.words.length + 1;
    }
    this.hitsOf.set(key, found);
    return found;
  }

  private findHits(part: NamePart): Hits {
    const { wordFacts } = this;
    wordFacts.begin(part);
    const found: { readonly word: number; readonly gain: number }[] = [];
    let all = 0;
    for (const key of queryKeysOf(part)) {
      const hash = keyHash(key);
      const { keys, keyStarts } = this;
      const size = this.counts.keys;
      const bucket = hash >>> BUCKET_SHIFT;
      const end = keyStarts[bucket + 1] as number;
      let at = firstAt(keys, hash, keyStarts[bucket] as number, end);
      const last = Math.min(end, at + KEY_WORDS_MOST);
      for (; at < last && keys[at] === hash; at++) {
        const word = keys[size + at] as number;
        if (!wordFacts.mayBeUseful(word)) continue;
        const other = this.part(word);
        const meeting = meet(part, other);
        const { similarity } = meeting;
        if (similarity < LEAST_SIMILARITY || (similarity < LEAST_USEFUL && !isSlip(part, other))) continue;
        this.meetings.keep(part, other, meeting);
        const names = this.postingEnd(word) - this.postingStart(word);
        all += names;
        const weight = ((part.weight + other.weight) / 2) * rarityOf(names, this.names);
        found.push({ word, gain: similarity * similarity * weight });
      }
    }
    found.sort((a, b) => b.gain - a.gain || a.word - b.word);
    return {
      words: Int32Array.from(found, (each) => each.word),
      gains: Float64Array.from(found, (each) => each.gain),
      names: all,
    };
  }

  private has(name: number, word: number): boolean {
    const end = this.rows[name * NAME_WORDS + 2] as number;
    for (let at = this.wordsStart(name); at < end; at++) if (this.nameWords[at] === word) return true;
    return false;
  }

  private range(
    table: Int32Array,
    starts: Int32Array,
    hash: number,
    most: number,
    visit: (position: number) => void,
  ): void {
    const size = table.length >>> 1;
    const bucket = hash >>> BUCKET_SHIFT;
    const end = starts[bucket + 1] as number;
    const low = firstAt(table, hash, starts[bucket] as number, end);
    for (let at = low; at < end && at - low < most && table[at] === hash; at++)
      visit(table[size + at] as number);
  }

  private postingEnd(word: number): number {
    return this.wordEnds[this.counts.words + word] as number;
  }

  private postingStart(word: number): number {
    return word === 0 ? 0 : (this.wordEnds[this.counts.words + word - 1] as number);
  }

  private wordsStart(name: number): number {
    return name === 0 ? 0 : (this.rows[(name - 1) * NAME_WORDS + 2] as number);
  }

  private part(word: number): NamePart {
    const known = this.parts[word];
    if (known) return known;
    const start = word === 0 ? 0 : (this.wordEnds[word - 1] as number);
    const key = this.wordTexts.toString('utf8', start, this.wordEnds[word] as number);
    const kind = KINDS[key.charCodeAt(0) - 48] ?? 'name';
    const script = SCRIPTS[key.charCodeAt(1) - 48] ?? 'latin';
    const tab = key.indexOf('\t');
    const own = tab < 0 ? key : key.slice(0, tab);
    const space = own.indexOf(' ');
    const text = space < 0 ? own.slice(2) : own.slice(2, space);
    const origin = tab < 0 ? '' : key.slice(tab + 1);
    const part = indexedPart(text, kind, script, space < 0 ? text : own.slice(space + 1), origin);
    if (++this.partsKept > PARTS_KEPT) {
      this.parts.fill(undefined);
      this.meetings.clear();
      this.partsKept = 1;
    }
    this.parts[word] = part;
    return part;
  }

  private parsed(name: number): ParsedName {
    const parts: NamePart[] = [];
    const forms: NamePart[] = [];
    let segments: NamePart[] | null = null;
    const end = this.rows[name * NAME_WORDS + 2] as number;
    for (let at = this.wordsStart(name); at < end; at++) {
      const part = this.part(this.nameWords[at] as number);
      if (part.kind === 'segment') {
        segments ??= [];
        segments.push(part);
      } else (part.kind === 'form' ? forms : parts).push(part);
    }
    return {
      parts,
      forms,
      family: ((this.rows[name * NAME_WORDS + 1] as number) >>> FAMILY_SHIFT) & FAMILY_MASK,
      segments: segments === null ? NO_SEGMENTS : placeSegments(parts, segments),
      written: [],
    };
  }

  private text(name: number): string {
    const start = name === 0 ? 0 : (this.rows[(name - 1) * NAME_WORDS + 3] as number);
    return textOf(this.nameTexts, start, this.rows[name * NAME_WORDS + 3] as number);
  }

  private entity(entity: number): EntityFacts {
    const start = entity === 0 ? 0 : (this.entityEnds[entity - 1] as number);
    const json = textOf(this.entityTexts, start, this.entityEnds[entity] as number);
    return JSON.parse(json) as EntityFacts;
  }
}

/** Returns whether two words are one edit apart, as heard or as written. */
const isSlip = (a: NamePart, b: NamePart): boolean =>
  isOneEdit(a.folded, b.folded) || isOneEdit(a.text, b.text);

/** Returns the first position from `low` on whose hash is not lower. */
function firstAt(table: Int32Array, hash: number, low: number, high: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((table[middle] as number) < hash) low = middle + 1;
    else high = middle;
  }
  return low;
}

const identifierReason = ({ kind, value }: PartyIdentifier): MatchReason => ({
  kind: 'identifier',
  asked: value,
  listed: value,
  similarity: 1,
  message: `The ${identifierLabel(kind)} ${value} is that of the listed party.`,
});

/** Hashes are spread evenly over this many buckets, so that a look-up reads one place of a table. */
const BUCKETS = 1 << 16;
const BUCKET_SHIFT = HASH_BITS - 16;

/** Returns the position of the first hash of each bucket, and at the end the number of hashes. */
function bucketsOf(table: Int32Array, size: number): Int32Array {
  const starts = new Int32Array(BUCKETS + 1);
  for (let at = 0; at < size; at++) {
    const next = ((table[at] as number) >>> BUCKET_SHIFT) + 1;
    starts[next] = at + 1;
  }
  for (let bucket = 1; bucket <= BUCKETS; bucket++)
    if (starts[bucket] === 0) starts[bucket] = starts[bucket - 1] as number;
  return starts;
}

/** Maximum number of decoded words in the cache; each costs about 300 bytes. */
const PARTS_KEPT = 100_000;

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
