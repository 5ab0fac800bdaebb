/** An open index of names: compares the candidates of a query part by part, and ranks the parties that match. */
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { IDENTIFIER_KINDS, normaliseIdentifier } from '../../sources/identifiers.ts';
import type { PartyIdentifier } from '../../sources/records.ts';
import { hasFinishedSize } from '../../state/finished-size.ts';
import { wrongFormat } from '../../state/format-version.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import { openMappedFile } from '../../state/mapped-file.ts';
import { Meetings, type MeetingTable, mayJoin } from '../align.ts';
import { isPartial, kindOf, mayNamePerson, mostForKinds } from '../kinds.ts';
import {
  floorOf,
  isIdentical,
  judgeAbove,
  mostConfidence,
  mostEvidence,
  PARTIAL_MOST,
  ranksNear,
  toConfidence,
  weighEvidence,
} from '../model.ts';
import {
  type MatchOptions,
  NAME_LIST_TYPES,
  type NameIndex,
  type NameIndexMeta,
  type NameListType,
  type NameMatch,
  type NameQuery,
} from '../name.ts';
import { indexedPart, type NamePart } from '../name-parts.ts';
import { NO_SEGMENTS, placeSegments } from '../name-segments.ts';
import { type ParsedName, parseName, parsePerson } from '../parse.ts';
import { AskedWords } from './asked-words.ts';
import { CandidateBounds } from './candidate-bounds.ts';
import { CandidateSearch, wordsStart } from './candidates.ts';
import {
  ENVIRONMENT_FILE,
  FAMILY_MASK,
  FAMILY_SHIFT,
  FORMAT_VERSION,
  identifierKey,
  KINDS,
  keyHash,
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
import { type Best, type EntityFacts, FoundMatch, type MatchedIndex } from './found-match.ts';
import { HashTable } from './hash-table.ts';
import { OwnWords } from './own-words.ts';
import { FACT_BYTES, WordFacts } from './word-facts.ts';

/** Maximum number of entities with one identifier: a party is on at most a few lists, and some passports are listed for several people. */
const IDENTIFIED_MOST = 200;
/** Among equal scores, the same words come before similar ones. */
const SAME_WORDS = 20;
/** Ranks matches by an identifier before matches of equal names. */
const CERTAIN = 100;
const LIMIT = 100;
const THRESHOLD = 0.7;
/** Sums of log-odds may differ in their last digits. */
const ROUNDING = 1e-9;
/** Log-odds from which on names beyond the bound of the search cannot match. */
const BOUNDED_FLOOR = floorOf(THRESHOLD);

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
  return openMappedFile(file, 'The index of names', (environment) => new MappedNames(environment, file));
}

const NO_IDENTIFIERS: readonly PartyIdentifier[] = [];

const NO_SHIFT = { shift: 0 } as const;
const NO_FACTS = { birthDates: [], countries: [] } as const;

/** The key of the list type in the JSON of an entity. */
const LIST_TYPE = ',"listType":"';

/**
 * Returns how similar the only name of one side is to its partner; 0 if both have several. The scores of such matches end at one maximum:
 * of equal scores, the same word comes before a word of another script that may be read so.
 */
const singleName = ({ judged }: Best): number => judged?.features.partial ?? 0;

/** The parties that a reading of a query is compared with. */
type Parties = typeof ALL | typeof PEOPLE | typeof OTHERS;
const ALL = 'all';
const PEOPLE = 'people';
const OTHERS = 'others';

class MappedNames implements NameIndex, MatchedIndex {
  readonly meta: NameIndexMeta;
  private readonly names: number;
  private readonly wordEnds: Int32Array;
  private readonly wordTexts: Buffer;
  private readonly asked = new AskedWords();
  private readonly bounds: CandidateBounds;
  private readonly facts: WordFacts;
  private readonly rows: Int32Array;
  private readonly nameWords: Int32Array;
  private readonly nameTexts: Uint8Array;
  private readonly entityEnds: Int32Array;
  private readonly entityTexts: Buffer;
  /** The position of the list type of each entity in `NAME_LIST_TYPES`, plus 1; 0 until it is read. */
  private readonly listTypes: Uint8Array;
  private isClosed = false;
  private readonly identifiers: HashTable;
  private readonly parts: (NamePart | undefined)[];
  private partsKept = 0;
  private readonly search: CandidateSearch;
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
    this.identifiers = new HashTable(view('identifiers', 0, identifiers * 2));
    this.rows = view('names', 0, this.names * NAME_WORDS);
    const weights = view('weights', 0, this.names);
    this.nameWords = view('names', this.names * NAME_WORDS, nameWords);
    this.nameTexts = values.names.subarray((this.names * NAME_WORDS + nameWords) * 4);
    this.entityEnds = view('entities', 0, meta.entities);
    const entities = values.entities.subarray(meta.entities * 4);
    this.entityTexts = Buffer.from(entities.buffer, entities.byteOffset, entities.length);
    this.listTypes = new Uint8Array(meta.entities);
    this.parts = new Array<NamePart | undefined>(words).fill(undefined);
    this.facts = new WordFacts(
      this.wordEnds.subarray(0, words),
      this.wordTexts,
      sized('facts', words * FACT_BYTES).subarray(0, words * FACT_BYTES),
    );
    const part = (word: number): NamePart => this.part(word);
    const own = new OwnWords(this.facts, part);
    const shared = { facts: this.facts, own, asked: this.asked, part };
    this.bounds = new CandidateBounds({ ...shared, rows: this.rows, nameWords: this.nameWords });
    this.search = new CandidateSearch({
      ...shared,
      words,
      names: this.names,
      wordEnds: this.wordEnds,
      postings: view('postings', 0, values.postings.length >>> 2),
      rows: this.rows,
      rowWeights: new Float32Array(weights.buffer, weights.byteOffset, weights.length),
      nameWords: this.nameWords,
      keys: new HashTable(view('keys', 0, keys * 2)),
      joins: new HashTable(view('joins', 0, joins * 2)),
    });
  }

  match(query: NameQuery, options: MatchOptions = {}): readonly NameMatch[] {
    const { limit = LIMIT } = options;
    const asked = parseName(query.name);
    if (this.names === 0) return [];
    this.meetings.trim();
    this.asked.trim();
    const best = new Map<number, Best>();
    const isPerson = query.schema === 'Person';
    const person = mayNamePerson(query, asked) ? parsePerson(query.name) : null;
    this.addMatches(query, asked, person !== null && isPerson ? OTHERS : ALL, options, best);
    if (person !== null) this.addMatches(query, person, PEOPLE, options, best);
    if (query.identifiers !== undefined) this.addIdentified(query.identifiers, asked, best);
    return [...best.values()]
      .sort(
        (a, b) =>
          b.score - a.score ||
          b.logit - a.logit ||
          singleName(b) - singleName(a) ||
          this.listTypeAt(a.entity) - this.listTypeAt(b.entity) ||
          a.entity - b.entity,
      )
      .slice(0, limit)
      .map((found) => new FoundMatch(this, query, found));
  }

  close(): void {
    this.isClosed = true;
    void this.environment.close();
  }

  /** Adds the parties with a name that matches a reading of the query, if they match better than before. */
  private addMatches(
    query: NameQuery,
    asked: ParsedName,
    parties: Parties,
    { threshold = THRESHOLD, exhaustive: isExhaustive = false }: MatchOptions,
    best: Map<number, Best>,
  ): void {
    const { meetings, bounds } = this;
    const mostShift = mostEvidence(query);
    const needsFacts = mostShift > 0;
    const kind = kindOf(query, asked);
    // Skips names that no evidence could lift to the threshold.
    const floor = floorOf(threshold) - mostShift;
    const consider = (
      name: number,
      listed: ParsedName,
      known: MeetingTable | null,
      isApart = false,
    ): void => {
      const flags = this.rows[name * NAME_WORDS + 1] as number;
      const schema = SCHEMATA[(flags >>> SCHEMA_SHIFT) & 7] ?? 'Unknown';
      if (parties !== ALL && (schema === 'Person') !== (parties === PEOPLE)) return;
      const judged = judgeAbove(asked, listed, floor, meetings, known, isApart);
      if (judged === null) return;
      // A firm with `SA` does not name a person who is called Sa.
      if (parties === PEOPLE && query.schema !== 'Person' && judged.features.partial > 0) return;
      const identical = isIdentical(asked, listed);
      if (toConfidence(judged.logit + mostShift, identical) < threshold) return;
      const entity = this.rows[name * NAME_WORDS] as number;
      const weak = (flags & WEAK) !== 0;
      const before = best.get(entity);
      const facts = needsFacts ? (before?.facts ?? this.entity(entity)) : null;
      const { birthDates, countries } = facts ?? NO_FACTS;
      // Most queries state nothing but a name, and most names are not weak.
      const isPlain = !needsFacts && !query.schema && !weak;
      const { shift } = isPlain ? NO_SHIFT : weighEvidence(query, { birthDates, countries, schema, weak });
      const partial = isPartial(asked, judged, schema, identical);
      const most = Math.min(mostForKinds(kind, query, schema, identical), partial ? PARTIAL_MOST : 1);
      const logit = judged.logit + shift + (identical ? SAME_WORDS : 0);
      const score = Math.min(most, toConfidence(judged.logit + shift, identical));
      if (score < threshold) return;
      if (before && (before.score > score || (before.score === score && before.logit >= logit))) return;
      const identified = NO_IDENTIFIERS;
      best.set(entity, { name, asked, entity, judged, score, logit, partial, weak, facts, identified });
    };
    if (isExhaustive) for (let name = 0; name < this.names; name++) consider(name, this.parsed(name), null);
    else if (asked.parts.length > 0) {
      const isBounded = floor >= BOUNDED_FLOOR;
      const { names, joined } = this.search.candidates(asked, isBounded);
      const least = ranksNear(floor) ? null : floor;
      bounds.begin(asked);
      // Returns whether another name of the entity is at least as good as this candidate may be.
      const isBeaten = (name: number): boolean => {
        const before = best.get(this.rows[name * NAME_WORDS] as number);
        if (before === undefined) return false;
        const most = bounds.most + mostShift + ROUNDING;
        const score = mostConfidence(most);
        return before.score > score || (before.score === score && score < 1 && before.logit >= most);
      };
      for (const name of names)
        if (bounds.mayReach(name, least) && !isBeaten(name))
          consider(name, this.parsed(name), bounds.meetings, bounds.isApart);
      for (const name of joined) {
        const listed = this.parsed(name);
        if (isBounded && !mayJoin(asked, listed)) continue;
        if (bounds.mayReach(name, least)) consider(name, listed, bounds.meetings, bounds.isApart);
      }
    }
  }

  /** Adds the entities that have an identifier of the query: the number identifies them, whatever their names are. */
  private addIdentified(
    identifiers: NonNullable<NameQuery['identifiers']>,
    asked: ParsedName,
    best: Map<number, Best>,
  ): void {
    for (const kind of IDENTIFIER_KINDS) {
      const value = identifiers[kind] === undefined ? null : normaliseIdentifier(kind, identifiers[kind]);
      if (value === null) continue;
      const identifier = { kind, value };
      const key = identifierKey(identifier);
      this.identifiers.visit(keyHash(key), IDENTIFIED_MOST, (entity) => {
        const known = best.get(entity);
        const facts = known?.facts ?? this.entity(entity);
        // Two identifiers may have one hash.
        if (facts.identifiers?.includes(key) !== true) return;
        best.set(entity, {
          name: known?.name ?? -1,
          asked: known?.asked ?? asked,
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

  private part(word: number): NamePart {
    const known = this.parts[word];
    if (known) return known;
    const start = word === 0 ? 0 : (this.wordEnds[word - 1] as number);
    const end = this.wordEnds[word] as number;
    // Only a word's own letters are not ASCII.
    const key = this.wordTexts.toString(this.facts.isLatin(word) ? 'latin1' : 'utf8', start, end);
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
    for (let at = wordsStart(this.rows, name); at < end; at++) {
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

  text(name: number): string {
    this.requireOpen();
    const start = name === 0 ? 0 : (this.rows[(name - 1) * NAME_WORDS + 3] as number);
    return textOf(this.nameTexts, start, this.rows[name * NAME_WORDS + 3] as number);
  }

  listType(entity: number): NameListType {
    return NAME_LIST_TYPES[this.listTypeAt(entity)] as NameListType;
  }

  /** Returns the position of the list type of an entity in `NAME_LIST_TYPES`. */
  private listTypeAt(entity: number): number {
    const known = this.listTypes[entity] as number;
    if (known > 0) return known - 1;
    const start = entity === 0 ? 0 : (this.entityEnds[entity - 1] as number);
    // Within a string of the JSON, the quotes of these letters would be escaped.
    const at = this.entityTexts.indexOf(LIST_TYPE, start, 'latin1') + LIST_TYPE.length;
    const first = this.entityTexts[at] as number;
    const type = NAME_LIST_TYPES.findIndex((each) => each.charCodeAt(0) === first);
    this.listTypes[entity] = type + 1;
    return type;
  }

  /** The memory of a closed index is no longer mapped: reading it would end the process. */
  private requireOpen(): void {
    if (this.isClosed) throw new AssayError('NOT_READY', 'The index of names of this match is closed.');
  }

  entity(entity: number): EntityFacts {
    this.requireOpen();
    const start = entity === 0 ? 0 : (this.entityEnds[entity - 1] as number);
    const json = textOf(this.entityTexts, start, this.entityEnds[entity] as number);
    return JSON.parse(json) as EntityFacts;
  }
}

/** Maximum number of decoded words in the cache; each costs about 300 bytes. */
const PARTS_KEPT = 100_000;

const textOf = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
