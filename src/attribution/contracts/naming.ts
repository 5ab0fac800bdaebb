/**
 * Labels of contracts from who created them and which code they have. They only say that: the contract of an exchange is no exchange, and
 * anyone can deploy a proxy of any code. So no label of a creator that is a service makes the contract a service.
 */
import { parseAddress } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import { isDerived } from '../../labels/evidence-class.ts';
import type { LabelReader } from '../../labels/index/reader.ts';
import type { Label, LabelTemplate } from '../../labels/label.ts';
import { isOfDispute } from '../disputes.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, Fact } from '../store.ts';
import { CREATOR_RULE } from './creations.ts';
import { beaconFactOf, proxyFactOf } from './facts.ts';

/** Sources of the labels (data/sources.json). */
export const CREATOR_SOURCE = 'creators';
export const PROXY_SOURCE = 'proxies';

/** The transaction is certain; that the account belongs to the entity rests on a published label, and is never believed more than that. */
const CREATOR_CONFIDENCE = 0.9;
/** That a criminal created a contract is certain; that the contract serves a crime is not. As for freezes. */
const HARMFUL_CONFIDENCE = 0.5;
/** The code of a minimal proxy cannot change, and does nothing else. */
const MINIMAL_CONFIDENCE = 0.95;
/** A slot can name code that the contract does not run. */
const SLOT_CONFIDENCE = 0.8;
/** A beacon can answer a node otherwise than its proxies. */
const BEACON_CONFIDENCE = 0.7;

/** Names of accounts in memory: 20 MB. */
const NAMES_KEPT = 100_000;

/** The party that a list or publisher names at an address. */
export interface Named {
  readonly id: string;
  readonly name: string;
  readonly confidence: number;
  /** Whether a list or publisher calls the party a criminal. */
  readonly isCriminal: boolean;
  /** Source id of the label. */
  readonly source: string;
}

/** What a proxy delegates to. */
export interface Delegation {
  readonly fact: Fact;
  /** 0x and 40 hex digits in lower case. */
  readonly implementation: string;
  /** Height of the block at which it was read. */
  readonly readAt: number;
  readonly named: Named | null;
}

const isListed = ({ sanctions }: Label): boolean => sanctions.some(({ delistedAt }) => delistedAt === null);

/** Returns the party that labels name; null if no list or publisher does, a label is disputed, or only a past listing names it. */
export function namedBy(labels: readonly Label[]): Named | null {
  const first = labels.find((label) => !isDerived(label.class));
  if (first === undefined || first.confidence < ATTRIBUTION_LIMITS.namingConfidenceMin) return null;
  if (isOfDispute(first) || (first.class === 'list' && !isListed(first))) return null;
  const { entity, confidence, threatLevel, source } = first;
  const name = entity.name.slice(0, ATTRIBUTION_LIMITS.namingCharsMax);
  return { id: entity.id, name, confidence, isCriminal: threatLevel === 'CRITICAL', source };
}

const COMMON = { sourceUrl: null, sanctions: [], verified: false, synthetic: false } as const;

function creatorTemplate(chain: ChainId, creator: string, named: Named): LabelTemplate {
  const { isCriminal } = named;
  const category = isCriminal ? 'ILLICIT_ACTOR' : 'SMART_CONTRACT';
  return {
    ...COMMON,
    entity: {
      ...{ id: `created-by-${named.id}`, name: `Contract created by ${named.name}`, category },
      ...{ jurisdiction: null, url: null },
    },
    ...{ scope: chain, category, threatLevel: isCriminal ? 'HIGH' : 'LOW', source: CREATOR_SOURCE },
    tags: ['created by a labelled account', `creator ${creator}`, `label of ${named.source}`],
    confidence: Math.min(isCriminal ? HARMFUL_CONFIDENCE : CREATOR_CONFIDENCE, named.confidence),
  };
}

const confidenceOf = (standard: string | undefined): number =>
  standard === 'eip1167'
    ? MINIMAL_CONFIDENCE
    : standard === 'eip1967-beacon'
      ? BEACON_CONFIDENCE
      : SLOT_CONFIDENCE;

function proxyTemplate(chain: ChainId, { fact, implementation }: Delegation, named: Named): LabelTemplate {
  const { standard = '' } = fact.values;
  return {
    ...COMMON,
    entity: {
      ...{
        id: `code-of-${named.id}`,
        name: `Proxy of the code of ${named.name}`,
        category: 'SMART_CONTRACT',
      },
      ...{ jurisdiction: null, url: null },
    },
    ...{ scope: chain, category: 'SMART_CONTRACT', threatLevel: 'LOW', source: PROXY_SOURCE },
    tags: [`${standard} proxy`, `implementation ${implementation}`, `label of ${named.source}`],
    confidence: Math.min(confidenceOf(standard), named.confidence),
  };
}

/** Names contracts by the labels of other addresses. One object serves one run or one explanation: it caches what it read. */
export class ContractNaming {
  readonly #chain: ChainId;
  readonly #labels: Pick<LabelReader, 'lookup'>;
  readonly #store: Pick<AttributionStore, 'facts'>;
  readonly #named = new Map<string, Named | null>();
  /** As many as there are labelled creators and implementations; equal labels share one object. */
  readonly #templates = new Map<string, LabelTemplate>();

  constructor(
    chain: ChainId,
    deps: {
      readonly labels: Pick<LabelReader, 'lookup'>;
      readonly store: Pick<AttributionStore, 'facts'>;
    },
  ) {
    this.#chain = chain;
    this.#labels = deps.labels;
    this.#store = deps.store;
  }

  #key(address: string): Uint8Array {
    return parseAddress(this.#chain, address).key;
  }

  /** Returns the party of an account; null if no list or publisher names it. */
  account(address: string): Named | null {
    const known = this.#named.get(address);
    if (known !== undefined) return known;
    const named = namedBy(this.#labels.lookup(this.#key(address), this.#chain));
    if (this.#named.size >= NAMES_KEPT) this.#named.clear();
    this.#named.set(address, named);
    return named;
  }

  /** Returns the party of a contract's code: that of its own label, or else of the account that created it. */
  code(address: string): Named | null {
    const own = this.account(address);
    if (own !== null) return own;
    const creation = this.#store.facts(this.#key(address)).find(({ rule }) => rule === CREATOR_RULE);
    const creator = creation === undefined ? null : this.account(creation.values.creator ?? '');
    if (creator === null) return null;
    return { ...creator, id: `created-by-${creator.id}`, name: `a contract created by ${creator.name}` };
  }

  /** Returns what a contract delegates to by its facts; null if it is no proxy. */
  delegation(facts: readonly Fact[]): Delegation | null {
    const fact = proxyFactOf(facts);
    if (fact === null) return null;
    const { beacon } = fact.values;
    const decisive = beacon === undefined ? fact : beaconFactOf(this.#store.facts(this.#key(beacon)));
    const implementation = decisive?.values.implementation;
    if (decisive === null || implementation === undefined) return null;
    const readAt = Math.max(Number(fact.values.readAt), Number(decisive.values.readAt));
    return { fact, implementation, readAt, named: this.code(implementation) };
  }

  #shared(name: string, make: () => LabelTemplate): LabelTemplate {
    let template = this.#templates.get(name);
    if (template === undefined) {
      template = make();
      this.#templates.set(name, template);
    }
    return template;
  }

  /** Returns the label of a contract by the account that created it; null if that account has no label that counts. */
  creatorLabel({ values: { creator = '' } }: Fact): LabelTemplate | null {
    const named = this.account(creator);
    return named === null
      ? null
      : this.#shared(`creator ${creator}`, () => creatorTemplate(this.#chain, creator, named));
  }

  /** Returns the label of a proxy; null if nothing names its code. */
  proxyLabel(delegation: Delegation): LabelTemplate | null {
    const { named, fact, implementation } = delegation;
    return named === null
      ? null
      : this.#shared(`${fact.values.standard} ${implementation}`, () =>
          proxyTemplate(this.#chain, delegation, named),
        );
  }
}
