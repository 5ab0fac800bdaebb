/** An open index of names: selects candidates by shared keys and rarity, then compares the best of them part by part. */
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { hasFinishedSize } from '../../state/finished-size.ts';
import { wrongFormat } from '../../state/format-version.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import { openMappedFile } from '../../state/mapped-file.ts';
import { Meetings } from '../compare.ts';
import { isPartial, kindOf, mostForKinds } from '../kinds.ts';
import {
  explainNames,
  isIdentical,
  type Judgement,
  judge,
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
import { consonantJoinsOf, joinsOf, keysOf, wholeKey } from './keys.ts';

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
/** Minimum rank: a name that matches less of the query, by the weight of its words, is far below any threshold. */
const RANK_LEAST = 0.4;
/**
 * Maximum number of names with exactly the words of the query. They
 * are always compared; on present lists, at most 14 share one.
 */
const WHOLE_NAMES_MOST = 1_000;
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

interface Hit {
  readonly word: number;
  readonly gain: number;
}

/** The best name of an entity for a query. */
interface Best {
  readonly name: number;
  readonly entity: number;
  readonly judged: Judgement;
  readonly score: number;
  readonly logit: number;
  readonly partial: boolean;
  readonly weak: boolean;
  /** Null until they are needed: reading them costs as much as comparing a name. */
  readonly facts: EntityFacts | null;
}

type EntityFacts = Omit<NameMatch, 'explanation' | 'matchedName' | 'weak' | 'score' | 'partial'>;

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
  private readonly parts: (NamePart | undefined)[];
  /** Gain of each name for the current query, and the part of the query that gained last. */
  private readonly gains: Float32Array;
  private readonly stamps: Int32Array;
  private partsKept = 0;
  private stamp = 0;

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
    const { words, keys, joins, nameWords } = meta.counts;
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
    this.postings = view('postings', 0, values.postings.length >>> 2);
    this.rows = view('names', 0, this.names * NAME_WORDS);
    const weights = view('weights', 0, this.names);
    this.rowWeights = new Float32Array(weights.buffer, weights.byteOffset, weights.length);
    this.nameWords = view('names', this.names * NAME_WORDS, nameWords);
    this.nameTexts = values.names.subarray((this.names * NAME_WORDS + nameWords) * 4);
    this.entityEnds = view('entities', 0, meta.entities);
    this.entityTexts = values.entities.subarray(meta.entities * 4);
    this.parts = new Array<NamePart | undefined>(words).fill(undefined);
    this.gains = new Float32Array(this.names);
    this.stamps = new Int32Array(this.names);
  }

  match(query: NameQuery, options: MatchOptions = {}): readonly NameMatch[] {
    const { limit = LIMIT, threshold = THRESHOLD } = options;
    const asked = parseName(query.name);
    if (asked.parts.length === 0 || this.names === 0) return [];
    const meetings = new Meetings();
    const mostShift = mostEvidence(query);
    const needsFacts = mostShift > 0;
    const kind = kindOf(query, asked);
    const best = new Map<number, Best>();
    for (const name of this.candidates(asked)) {
      const listed = this.parsed(name);
      const judged = judge(asked, listed, meetings);
      const identical = isIdentical(asked, listed);
      // Skips names that no evidence could lift to the threshold.
      if (toConfidence(judged.logit + mostShift, identical) < threshold) continue;
      const entity = this.rows[name * NAME_WORDS] as number;
      const flags = this.rows[name * NAME_WORDS + 1] as number;
      const schema = SCHEMATA[(flags >>> SCHEMA_SHIFT) & 7] ?? 'Unknown';
      const weak = (flags & WEAK) !== 0;
      const before = best.get(entity);
      const facts = needsFacts ? (before?.facts ?? this.entity(entity)) : null;
      const { shift } = weighEvidence(query, { ...(facts ?? NO_FACTS), schema, weak });
      const partial = isPartial(asked, judged, identical, schema);
      const most = Math.min(mostForKinds(kind, query, schema, identical), partial ? PARTIAL_MOST : 1);
      const logit = judged.logit + shift;
      const score = Math.min(most, toConfidence(logit, identical));
      if (score < threshold) continue;
      if (before && (before.score > score || (before.score === score && before.logit >= logit))) continue;
      best.set(entity, { name, entity, judged, score, logit, partial, weak, facts });
    }
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
    const { weak, score, partial, judged } = found;
    const match = { ...facts, matchedName: this.text(found.name), weak, score, partial };
    let explained: readonly MatchReason[] | null = null;
    return {
      ...match,
      get explanation() {
        explained ??= [
          ...explainNames(asked, parseName(match.matchedName), judged),
          ...weighEvidence(query, match).reasons,
        ];
        return explained;
      },
    };
  }

  close(): void {
    void this.environment.close();
  }

  /**
   * Returns the names with exactly the words of the query, then those that share rare or similar words with it; the most
   * promising first.
   */
  private candidates(asked: ParsedName): number[] {
    const { gains, stamps } = this;
    const touched: number[] = [];
    let total = 0;
    const add = (name: number, gain: number): void => {
      if (stamps[name] === this.stamp) return;
      if (gains[name] === 0) touched.push(name);
      stamps[name] = this.stamp;
      gains[name] = (gains[name] as number) + gain;
    };
    const plans = [...asked.parts, ...asked.segments.map((segment) => segment.part)]
      .map((part) => {
        const hits = part.weight < 0.15 && asked.parts.length > 1 ? [] : this.hits(part);
        let names = 0;
        for (const hit of hits) names += this.postingEnd(hit.word) - this.postingStart(hit.word);
        return { part, hits, names };
      })
      .sort((a, b) => a.names - b.names);
    let followed = 0;
    for (const { part, hits } of plans) {
      this.stamp++;
      let strongest = Math.min(0.1, part.weight / 4);
      for (const { word, gain } of hits) {
        strongest = Math.max(strongest, gain);
        const end = this.postingEnd(word);
        const start = this.postingStart(word);
        // When the budget is spent, common words only add to names that a rarer word has found.
        const open = followed < POSTINGS_MOST;
        followed += end - start;
        if (open) for (let at = start; at < end; at++) add(this.postings[at] as number, gain);
        else if (touched.length < end - start) {
          for (const name of touched)
            if (stamps[name] !== this.stamp && this.has(name, word)) add(name, gain);
        } else {
          for (let at = start; at < end; at++) {
            const name = this.postings[at] as number;
            if (gains[name] !== 0) add(name, gain);
          }
        }
      }
      if (part.kind !== 'segment')
        total += rankShare(part) * Math.max(strongest, hits.length === 0 ? part.weight : 0);
    }
    this.stamp++;
    const joinedGain = Math.max(1, total * 0.8);
    for (const text of [...joinsOf(asked.parts, JOINED_MOST), ...asked.parts.map((part) => part.folded)]) {
      const hash = keyHash(text);
      this.range(this.joins, this.counts.joins, hash, JOINED_NAMES_MOST, (name) => add(name, joinedGain));
    }
    for (const key of consonantJoinsOf(asked.parts)) {
      this.range(this.keys, this.counts.keys, keyHash(key), KEY_WORDS_MOST, (word) => {
        const end = Math.min(this.postingEnd(word), this.postingStart(word) + JOINED_NAMES_MOST);
        for (let at = this.postingStart(word); at < end; at++) add(this.postings[at] as number, joinedGain);
      });
    }
    for (const part of asked.parts) {
      if (part.script !== 'latin' || part.kind !== 'name' || part.consonants.length < 3) continue;
      const hash = keyHash(`'${part.consonants}`);
      this.range(this.joins, this.counts.joins, hash, JOINED_NAMES_MOST, (name) => add(name, joinedGain));
    }
    for (const text of joinsOf(asked.parts, JOINED_MOST)) {
      this.range(this.keys, this.counts.keys, keyHash(`:${text}`), 8, (word) => {
        const end = Math.min(this.postingEnd(word), this.postingStart(word) + JOINED_NAMES_MOST);
        for (let at = this.postingStart(word); at < end; at++) add(this.postings[at] as number, joinedGain);
      });
    }
    const chosen = new Set<number>();
    this.range(this.joins, this.counts.joins, keyHash(wholeKey(asked.parts)), WHOLE_NAMES_MOST, (name) =>
      chosen.add(name),
    );
    const most = asked.parts.some(({ script }) => script === 'abjad')
      ? COMPARED_WITHOUT_VOWELS_MOST
      : COMPARED_MOST;
    for (const name of this.mostPromising(touched, total, most)) chosen.add(name);
    return [...chosen];
  }

  private mostPromising(touched: readonly number[], total: number, most: number): number[] {
    const { gains } = this;
    const ranks = new Float64Array(touched.length);
    const counts = new Int32Array(RANK_STEPS + 1);
    for (let at = 0; at < touched.length; at++) {
      const name = touched[at] as number;
      const weight = this.rowWeights[name] as number;
      const rank = (gains[name] as number) / (0.55 * total + 0.45 * weight);
      gains[name] = 0;
      ranks[at] = rank;
      counts[stepOf(rank)] = (counts[stepOf(rank)] as number) + 1;
    }
    // Finds the highest step that still lets enough names through, so that only those are sorted.
    let step = RANK_STEPS;
    for (let sum = counts[step] as number; step > STEP_LEAST && sum < most; ) sum += counts[--step] as number;
    const chosen: number[] = [];
    for (let at = 0; at < touched.length; at++) if (stepOf(ranks[at] as number) >= step) chosen.push(at);
    return chosen
      .sort(
        (a, b) =>
          (ranks[b] as number) - (ranks[a] as number) || (touched[a] as number) - (touched[b] as number),
      )
      .slice(0, most)
      .map((at) => touched[at] as number);
  }

  /** Returns the words of the index that match a part of the query, by descending gain: similar and rare words first. */
  private hits(part: NamePart): Hit[] {
    const seen = new Set<number>();
    const hits: Hit[] = [];
    for (const key of keysOf(part)) {
      this.range(this.keys, this.counts.keys, keyHash(key), KEY_WORDS_MOST, (word) => {
        if (seen.has(word)) return;
        seen.add(word);
        const other = this.part(word);
        const { similarity } = meet(part, other);
        if (similarity < LEAST_SIMILARITY) return;
        const names = this.postingEnd(word) - this.postingStart(word);
        const weight = ((part.weight + other.weight) / 2) * rarityOf(names, this.names);
        hits.push({ word, gain: similarity * similarity * weight });
      });
    }
    return hits.sort((a, b) => b.gain - a.gain || a.word - b.word);
  }

  private has(name: number, word: number): boolean {
    const end = this.rows[name * NAME_WORDS + 2] as number;
    for (let at = this.wordsStart(name); at < end; at++) if (this.nameWords[at] === word) return true;
    return false;
  }

  private range(
    table: Int32Array,
    size: number,
    hash: number,
    most: number,
    visit: (position: number) => void,
  ): void {
    let low = 0;
    let high = size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((table[middle] as number) < hash) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < size && at - low < most && table[at] === hash; at++)
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

/** Number of rank steps into which candidates are counted. */
const RANK_STEPS = 512;
const stepOf = (rank: number): number => Math.min(RANK_STEPS, Math.floor(rank * (RANK_STEPS / 1.5)));

const STEP_LEAST = stepOf(RANK_LEAST);

/** Maximum number of decoded words in the cache; each costs about 300 bytes. */
const PARTS_KEPT = 100_000;

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
