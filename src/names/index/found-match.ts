/** A match of a query: of up to 200 matches a response shows a few, so the facts of an entity are read when they are looked at. */
import { identifierLabel } from '../../sources/identifiers.ts';
import type { PartyIdentifier } from '../../sources/records.ts';
import { explainNames, type Judgement, weighEvidence } from '../model.ts';
import type { MatchReason, NameMatch, NameQuery } from '../name.ts';
import { type ParsedName, parseListed } from '../parse.ts';

export type EntityFacts = Omit<
  NameMatch,
  'explanation' | 'listType' | 'matchedName' | 'weak' | 'score' | 'partial'
> & {
  /** As `identifierKey` writes them. */
  readonly identifiers?: readonly string[];
};

/** The best name of an entity for a query. */
export interface Best {
  /** -1 if the entity was found by an identifier, and none of its names is similar. */
  readonly name: number;
  /** The reading of the query that matched. */
  readonly asked: ParsedName;
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

/** The part of an open index that a match reads. */
export interface MatchedIndex {
  /** Throws NOT_READY if the index is closed; so does `text`. */
  entity(entity: number): EntityFacts;
  text(name: number): string;
  listType(entity: number): NameMatch['listType'];
}

/** One match of an answer. It can be read until its index is closed. */
export class FoundMatch implements NameMatch {
  readonly listType: NameMatch['listType'];
  readonly weak: boolean;
  readonly score: number;
  readonly partial: boolean;
  readonly #index: MatchedIndex;
  readonly #query: NameQuery;
  readonly #found: Best;
  #read: EntityFacts | null;
  #matchedName: string | null = null;
  #explanation: readonly MatchReason[] | null = null;

  constructor(index: MatchedIndex, query: NameQuery, found: Best) {
    this.listType = index.listType(found.entity);
    this.weak = found.weak;
    this.score = found.score;
    this.partial = found.partial;
    this.#index = index;
    this.#query = query;
    this.#found = found;
    this.#read = found.facts;
  }

  get #facts(): EntityFacts {
    this.#read ??= this.#index.entity(this.#found.entity);
    return this.#read;
  }

  get entityId() {
    return this.#facts.entityId;
  }

  get list() {
    return this.#facts.list;
  }

  get schema() {
    return this.#facts.schema;
  }

  get primaryName() {
    return this.#facts.primaryName;
  }

  get birthDates() {
    return this.#facts.birthDates;
  }

  get countries() {
    return this.#facts.countries;
  }

  get programs() {
    return this.#facts.programs;
  }

  get listedAt() {
    return this.#facts.listedAt;
  }

  get delistedAt() {
    return this.#facts.delistedAt;
  }

  get sourceUrl() {
    return this.#facts.sourceUrl;
  }

  get matchedName() {
    const { name } = this.#found;
    this.#matchedName ??= name < 0 ? this.#facts.primaryName : this.#index.text(name);
    return this.#matchedName;
  }

  get explanation() {
    const { asked, identified, judged, weak } = this.#found;
    this.#explanation ??= [
      ...identified.map(identifierReason),
      ...(judged === null
        ? []
        : explainNames(asked, parseListed(this.matchedName, this.#facts.schema), judged)),
      ...weighEvidence(this.#query, { ...this.#facts, weak }).reasons,
    ];
    return this.#explanation;
  }
}

const identifierReason = ({ kind, value }: PartyIdentifier): MatchReason => ({
  kind: 'identifier',
  asked: value,
  listed: value,
  similarity: 1,
  message: `The ${identifierLabel(kind)} ${value} is that of the listed party.`,
});
