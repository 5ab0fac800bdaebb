/**
 * Maps a publisher's neutral record to a label: chain and key, entity, category and confidence. The rules are data (categories,
 * currencies, entity-aliases, sources). A record that cannot be used is rejected with a reason; nothing is guessed.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import { AddressError, type AddressKey, type ParsedAddress } from '../chains/address/address.ts';
import { detectChains, parseAddress } from '../chains/address/parse.ts';
import { type ChainFamily, type ChainId, chainOf, isEvm } from '../chains/registry.ts';
import { type SanctionsList, SOURCES } from '../sources/index.ts';
import type { AttributedAddress, StatedSanction } from '../sources/records.ts';
import type { Source } from '../sources/source.ts';
import { isCategory, isThreatLevel, loadTaxonomy, type Taxonomy, threatOrder } from './categories.ts';
import { type Currencies, type CurrencyHint, loadCurrencies } from './currencies.ts';
import { type EntityAliases, loadEntityAliases, slugOf } from './entities.ts';
import { type EntityParties, loadEntityParties } from './entity-parties.ts';
import type { Entity, LabelScope, LabelTemplate, SanctionsEntry } from './label.ts';
import { statesTheSame } from './same-statement.ts';
import { listSourceRows, loadSourceTable, type SourceTable } from './source-table.ts';
import type { Category, ThreatLevel } from './taxonomy.ts';

/** The rules and reference data that mapping uses. */
export interface Rulebook {
  /** Hash of the content of the rules: labels mapped by other rules are out of date. */
  readonly fingerprint: string;
  readonly taxonomy: Taxonomy;
  readonly currencies: Currencies;
  readonly entities: EntityAliases;
  readonly sources: SourceTable;
  /** Reads the links between entities and listed parties from the present files. Throws INVALID_FILE. */
  readonly parties: () => EntityParties;
}

/** Increase this number when a change of the code maps the same record and data to a different label. */
const MAPPING_VERSION = 1;

const RULE_FILES = ['categories.json', 'currencies.json', 'entity-aliases.json', 'sources.json'];

function fingerprintOfRules(sources: readonly Source[]): string {
  const hash = createHash('sha256').update(`mapping ${MAPPING_VERSION}\n`);
  for (const name of RULE_FILES) hash.update(readFileSync(shippedData(name))).update('\n');
  hash.update(JSON.stringify([listSourceRows(sources), sources.map(({ lists }) => lists)]));
  return hash.digest('hex');
}

/**
 * Reads the rules that ship in data/.
 *
 * @param options.ownEntityParties Path of the operator's own links between entities and listed parties.
 * @param sources The sources with sanctions lists that exist.
 */
export function loadRulebook(
  options: { readonly ownEntityParties?: string | null } = {},
  sources: readonly Source[] = SOURCES,
): Rulebook {
  const table = loadSourceTable(shippedData('sources.json'), sources);
  return {
    fingerprint: fingerprintOfRules(sources),
    taxonomy: loadTaxonomy(),
    currencies: loadCurrencies(),
    entities: loadEntityAliases(),
    sources: table,
    parties: () => loadEntityParties({ own: options.ownEntityParties ?? null, lists: table.lists.ids }),
  };
}

/** When a label counts: always, only until a sanctions list has been loaded, or only after it has been loaded. */
export type When = 'always' | { readonly unless: SanctionsList } | { readonly once: SanctionsList };

export interface Refused {
  readonly ok: false;
  readonly reason: string;
}

export interface ResolvedAddress {
  readonly ok: true;
  readonly parsed: ParsedAddress;
  /** How the printed currency or network was understood. */
  readonly hint: CurrencyHint;
}

export interface MappedAddress {
  readonly ok: true;
  readonly key: AddressKey;
  /** Usually one label; two if the label changes once a list is loaded. */
  readonly labels: readonly { readonly when: When; readonly template: LabelTemplate }[];
  readonly firstSeen: string | null;
  readonly lastSeen: string | null;
}

export interface Mapper {
  /**
   * Parses an address and decides its chain. The currency is a hint that counts if the address is valid on that chain. If it is not,
   * the form of the address decides, but only if it fits a single family of chains.
   *
   * @param strict Rejects currency words that are not in the vocabulary.
   */
  resolve(address: string, currency: string | null, strict: boolean): ResolvedAddress | Refused;
  /** Maps one attributed address of `source`. */
  map(source: string, record: AttributedAddress): MappedAddress | Refused;
  /**
   * Returns the labels that a record of `source` gives to any address of
   * `chain`, or why it gives none. The record's own address is ignored.
   */
  labelsOn(
    source: string,
    record: AttributedAddress,
    chain: ChainId,
  ): { readonly ok: true; readonly labels: MappedAddress['labels'] } | Refused;
}

const refuse = (reason: string): Refused => ({ ok: false, reason });

/** Maximum number of distinct labels in the cache: a file with millions of entities must not fill the heap. */
const TEMPLATES_KEPT_MAX = 100_000;
/** Explorers print `Owner: role`; longer owners are sentences. */
const OWNER_AND_ROLE = /^([^:]{2,40}): (.{1,80})$/;

/** Creates a mapper. It caches the labels that it has made. */
export const createMapper = (rules: Rulebook): Mapper => new RuleMapper(rules);

/** The statement of a record about an address. */
interface Statement {
  readonly ok: true;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  readonly confidence: number;
  /** The entity, if it is a known one. */
  readonly known: Entity | null;
  readonly copyOf: SanctionsList | null;
  readonly contract: boolean;
  /** The list of the sanction that the record states; null if it states none. */
  readonly sanctionedBy: SanctionsList | null;
}

/** What a record says about an address. */
interface Judgement {
  readonly ok: true;
  readonly category: Category;
  readonly labels: MappedAddress['labels'];
}

class RuleMapper implements Mapper {
  readonly #taxonomy: Taxonomy;
  readonly #currencies: Currencies;
  readonly #entities: EntityAliases;
  readonly #sources: SourceTable;
  /** The last record with labels. */
  #last: {
    readonly source: string;
    readonly chain: ChainId;
    readonly record: AttributedAddress;
    readonly judgement: Judgement;
  } | null = null;
  /** Labels by the facts that decide them. */
  #labels = new Map<string, MappedAddress['labels']>();

  constructor({ taxonomy, currencies, entities, sources }: Rulebook) {
    this.#taxonomy = taxonomy;
    this.#currencies = currencies;
    this.#entities = entities;
    this.#sources = sources;
  }

  resolve(address: string, currency: string | null, strict: boolean): ResolvedAddress | Refused {
    const text = address.trim();
    const hint = this.#currencies.hintOf(currency);
    if (hint.kind === 'elsewhere') return refuse(`${hint.name} is not one of the supported chains.`);
    if (hint.kind === 'unknown' && strict) return refuse(`'${hint.word}' is not a known chain or currency.`);
    let fault = 'It is not an address of any supported chain.';
    if (hint.kind === 'chain') {
      const parsed = tryParse(hint.chain, text);
      if (typeof parsed !== 'string') return { ok: true, parsed, hint };
      fault = parsed;
    }
    const chain = this.#chainByForm(text, hint);
    if (chain === null) return refuse(hint.kind === 'evm-elsewhere' ? elsewhere(hint.name) : fault);
    if (chain === 'ambiguous')
      return refuse('The address is valid on several chains, and the record does not name one.');
    const parsed = tryParse(chain, text);
    return typeof parsed === 'string' ? refuse(parsed) : { ok: true, parsed, hint };
  }

  map(source: string, record: AttributedAddress): MappedAddress | Refused {
    const resolved = this.resolve(record.address, record.currency, true);
    if (!resolved.ok) return resolved;
    const { parsed, hint } = resolved;
    const judged = this.#judgeNext(source, record, parsed.chain, hint);
    if (!judged.ok) return judged;
    if (isZero(parsed.key) && !(source === 'seed' && judged.category === 'BURN'))
      return refuse('The zero address has no owner.');
    return {
      ok: true,
      key: parsed.key,
      labels: judged.labels,
      firstSeen: record.firstSeen,
      lastSeen: record.lastSeen,
    };
  }

  labelsOn(
    source: string,
    record: AttributedAddress,
    chain: ChainId,
  ): { readonly ok: true; readonly labels: MappedAddress['labels'] } | Refused {
    return this.#judge(source, record, chain, { kind: 'chain', chain });
  }

  /** As `#judge`, for a record with this hint. Publishers state the same about thousands of addresses in a row. */
  #judgeNext(
    source: string,
    record: AttributedAddress,
    chain: ChainId,
    hint: CurrencyHint,
  ): Judgement | Refused {
    const last = this.#last;
    if (last?.source === source && last.chain === chain && statesTheSame(last.record, record))
      return last.judgement;
    const judgement = this.#judge(source, record, chain, hint);
    if (judgement.ok) this.#last = { source, chain, record, judgement };
    return judgement;
  }

  /** Decides which labels a record gives to an address of a chain, or why it gives none. */
  #judge(source: string, record: AttributedAddress, chain: ChainId, hint: CurrencyHint): Judgement | Refused {
    const statement = this.#statementOf(source, record, chain);
    if (!statement.ok) return statement;
    const scope = scopeOf(record.isContract, statement, chain, hint);
    if (typeof scope !== 'string') return scope;
    const labels = this.#labelsOf(source, record, statement, scope);
    return { ok: true, category: statement.category, labels };
  }

  /** Returns the chain according to the form of the address alone; null if no chain has this form, 'ambiguous' if several could. */
  #chainByForm(text: string, hint: CurrencyHint): ChainId | 'ambiguous' | null {
    const detected = detectChains(text);
    const chains = hint.kind === 'evm-elsewhere' ? detected.filter(isEvm) : detected;
    const first = chains[0];
    if (first === undefined) return null;
    const families = new Set<ChainFamily>(chains.map((chain) => chainOf(chain).family));
    if (families.size > 1) return 'ambiguous';
    return families.has('evm')
      ? first
      : (this.#currencies.preferred(chains) ?? (chains.length === 1 ? first : 'ambiguous'));
  }

  /** Reads the record's statement about the address, or why it cannot be used. */
  #statementOf(source: string, record: AttributedAddress, chain: ChainId): Statement | Refused {
    const confidence = this.#sources.confidence(source, record.confidence);
    if (confidence === null)
      return refuse(`confidence: must be a known word or a number from 0 to 1 (got '${record.confidence}').`);
    const direct = record.category ?? null;
    if (direct !== null && !isCategory(direct)) return refuse(`category: '${direct}' is not a category.`);
    const threat = record.threatLevel ?? null;
    if (threat !== null && !isThreatLevel(threat))
      return refuse(`threat level: '${threat}' is not a threat level.`);
    const list = record.sanctions?.list ?? null;
    if (list !== null && !this.#sources.lists.has(list))
      return refuse(`sanctions list: '${list}' is not a sanctions list.`);
    const words =
      direct === null
        ? this.#taxonomy.classify(record.concepts, record.actorName, chainOf(chain).family)
        : { category: direct, strength: 3, copyOf: null };
    const stated = words.category;
    const known = this.#knownEntity(record, stated);
    // A word as general as "service" is less specific than the category of the known entity.
    const category = words.strength < 2 && known ? known.category : stated;
    const row = this.#taxonomy.of(category);
    return {
      ok: true,
      category,
      threatLevel: threat ?? row.threatLevel,
      confidence,
      known,
      copyOf: words.copyOf,
      contract: row.contract,
      sanctionedBy: list,
    };
  }

  #isHarmful(category: Category): boolean {
    return threatOrder(this.#taxonomy.of(category).threatLevel) >= threatOrder('HIGH');
  }

  /** A scam that calls itself Binance is not Binance: if the category is harmful, only the publisher's id identifies the entity. */
  #knownEntity(record: AttributedAddress, category: Category): Entity | null {
    const byId = record.actorId === null ? null : this.#entities.byName(record.actorId);
    if (byId || this.#isHarmful(category)) return byId;
    const owner = OWNER_AND_ROLE.exec(record.actorName)?.[1];
    return (
      this.#entities.byName(record.actorName) ?? (owner === undefined ? null : this.#entities.byName(owner))
    );
  }

  #entityOf(record: AttributedAddress, statement: Statement): Entity {
    if (statement.known) return statement.known;
    const name = record.actorName.trim();
    const { category } = statement;
    const facts = { category, jurisdiction: record.jurisdiction, url: record.url };
    if (record.actorId !== null) return { id: idOf(record.actorId), name, ...facts };
    if (this.#isHarmful(category)) return { id: `${slugOf(category)}:${slugOf(name)}`, name, ...facts };
    const owner = OWNER_AND_ROLE.exec(name)?.[1];
    return { id: slugOf(owner ?? name), name: owner ?? name, ...facts };
  }

  #labelsOf(
    source: string,
    record: AttributedAddress,
    statement: Statement,
    scope: LabelScope,
  ): MappedAddress['labels'] {
    const recipe = JSON.stringify([
      source,
      record.actorId,
      record.actorName,
      statement.category,
      statement.threatLevel,
      statement.confidence,
      scope,
      record.jurisdiction,
      record.url,
      record.sourceUrl,
      record.tags,
      record.verified,
      record.sanctions,
      statement.copyOf,
    ]);
    const cached = this.#labels.get(recipe);
    if (cached) return cached;
    const entity = this.#entityOf(record, statement);
    const template: LabelTemplate = {
      entity,
      scope,
      category: statement.category,
      threatLevel: statement.threatLevel,
      source,
      sourceUrl: record.sourceUrl ?? null,
      tags: tagsOf(record, entity),
      confidence: statement.confidence,
      sanctions: [],
      verified: record.verified,
      synthetic: false,
    };
    const labels = this.#conditional(template, record, statement);
    if (this.#labels.size >= TEMPLATES_KEPT_MAX) this.#labels = new Map();
    this.#labels.set(recipe, labels);
    return labels;
  }

  /**
   * A shipped sanction counts until its list is loaded. From then on the list decides, and
   * only the rest of the shipped fact remains. A sanction that has ended always counts as
   * history: the oldest list file of an installation may be younger than its end.
   */
  #conditional(
    template: LabelTemplate,
    record: AttributedAddress,
    { copyOf, sanctionedBy }: Statement,
  ): MappedAddress['labels'] {
    if (copyOf !== null) return [{ when: { unless: copyOf }, template }];
    const stated = record.sanctions ?? null;
    if (stated === null || sanctionedBy === null) return [{ when: 'always', template }];
    const sanctioned = { ...template, sanctions: [this.#entryOf(stated, sanctionedBy, record, template)] };
    if (sanctionedBy === 'OTHER' || stated.delistedAt !== null)
      return [{ when: 'always', template: sanctioned }];
    const until = { when: { unless: sanctionedBy }, template: sanctioned } as const;
    if (template.category === 'SANCTIONED_ENTITY') return [until];
    return [until, { when: { once: sanctionedBy }, template }];
  }

  #entryOf(
    stated: StatedSanction,
    list: SanctionsList,
    record: AttributedAddress,
    template: LabelTemplate,
  ): SanctionsEntry {
    return {
      list,
      authority: this.#sources.authority(list),
      program: stated.program,
      entityName: record.actorName,
      entityId: stated.entityId,
      listedAt: stated.listedAt,
      listedAtBasis: 'PARTY',
      delistedAt: stated.delistedAt,
      sourceUrl: template.sourceUrl ?? this.#sources.partyUrl(list, stated.entityId),
      matchType: 'DIRECT',
    };
  }
}

/** Returns the chains on which a label applies: every EVM chain for an account, its own chain for a contract. */
function scopeOf(
  isContract: boolean | null,
  statement: { readonly contract: boolean },
  chain: ChainId,
  hint: CurrencyHint,
): LabelScope | Refused {
  if (!isEvm(chain)) return chain;
  const contract = isContract ?? statement.contract;
  if (!contract) return 'EVM';
  if (hint.kind === 'evm-elsewhere')
    return refuse(`A contract of ${hint.name}, which is not one of the supported chains.`);
  // If the chain of the contract is not known, finding it on all EVM chains is better than finding it on none.
  return hint.kind === 'chain' && isEvm(hint.chain) ? hint.chain : 'EVM';
}

const elsewhere = (name: string): string =>
  `${name} is not one of the supported chains, and this is no account that the EVM chains share.`;

/** Keeps an id of the publisher as it is if it is already a slug. */
const idOf = (actorId: string): string =>
  /^[a-z0-9][a-z0-9:._-]{0,63}$/.test(actorId) ? actorId : slugOf(actorId);

/** Maximum number of tags of a label: more would be noise in a response. */
const TAGS_MAX = 16;

/** Returns the publisher's tags, plus the printed name if it differs from the entity's name. */
function tagsOf(record: AttributedAddress, entity: Entity): readonly string[] {
  const printed = record.actorName.trim();
  const slug = printed.toLowerCase();
  const same = slug === entity.name.toLowerCase() || slug === record.actorId?.toLowerCase();
  const tags = same ? record.tags : [...record.tags, printed];
  return [...new Set(tags)].slice(0, TAGS_MAX);
}

function tryParse(chain: ChainId, text: string): ParsedAddress | string {
  try {
    return parseAddress(chain, text);
  } catch (error) {
    if (error instanceof AddressError) return error.message;
    throw error;
  }
}

/** Returns whether the payload after the chain byte and the kind byte is all zero. */
function isZero(key: AddressKey): boolean {
  for (let at = 2; at < key.length; at++) if (key[at] !== 0) return false;
  return true;
}
