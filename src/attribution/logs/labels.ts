/** Labels from facts: contracts that a factory or a labelled account created, proxies of labelled code, and addresses that an issuer froze. */
import { createHash } from 'node:crypto';
import { isoTime } from '../../base/clock.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { DatasetReport, ImportDeps } from '../../labels/import-report.ts';
import { importSegment } from '../../labels/import-segment.ts';
import { dayFromIso } from '../../labels/index/days.ts';
import { createSegmentWriter } from '../../labels/index/segment.ts';
import type { Entity, LabelTemplate } from '../../labels/label.ts';
import { COINBASE_RULE } from '../coinbase/read.ts';
import { loadPoolTags, type PoolTags } from '../coinbase/tags.ts';
import { CREATOR_RULE } from '../contracts/creations.ts';
import { PROXY_RULE } from '../contracts/facts.ts';
import { type ContractNaming, CREATOR_SOURCE, PROXY_SOURCE } from '../contracts/naming.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, Fact } from '../store.ts';
import { FACTORY_RULE, FREEZE_RULE, STAKE_RULE } from './read.ts';

/** Sources of the labels (data/sources.json). */
export const FACTORY_SOURCE = 'factories';
export const FREEZE_SOURCE = 'freezes';
export const STAKE_SOURCE = 'validators';
export const COINBASE_SOURCE = 'coinbases';

/** The source of the labels of a rule. */
export const SOURCE_OF_RULE: Readonly<Record<string, string>> = {
  [FACTORY_RULE]: FACTORY_SOURCE,
  [FREEZE_RULE]: FREEZE_SOURCE,
  [STAKE_RULE]: STAKE_SOURCE,
  [COINBASE_RULE]: COINBASE_SOURCE,
  [CREATOR_RULE]: CREATOR_SOURCE,
  [PROXY_RULE]: PROXY_SOURCE,
};

/** A factory's log is exact, but which project owns the factory rests on a published address. */
const FACTORY_CONFIDENCE = 0.95;
/** A freeze is certain; that its reason is a crime is not, because issuers give none. */
const FREEZE_CONFIDENCE = 0.5;
/** A deposit of 32 coins names the account; the signature that makes it valid is checked on the consensus layer only. */
const STAKE_CONFIDENCE = 0.9;
/** Anyone who mines a block can write any tag into it. */
const COINBASE_CONFIDENCE = 0.7;
const COINBASE_SURE_CONFIDENCE = 0.85;

const ISSUERS: Readonly<Record<string, string>> = { tether: 'Tether', circle: 'Circle' };

const BRIDGES: Readonly<Record<string, string>> = { 'op-standard-bridge': 'OP Standard Bridge token' };

const titled = (slug: string): string => `${slug.charAt(0).toUpperCase()}${slug.slice(1)}`;

/** `uniswap-v3 0x…` → `uniswap-v3`. */
const idOf = (by: string): string => by.split(' ')[0] ?? by;
const addressOf = (by: string): string => by.split(' ')[1] ?? '';

const entityOf = (id: string, name: string, category: Entity['category']): Entity => ({
  ...{ id, name, category, jurisdiction: null, url: null },
});

/** Fields that labels of all rules share. */
const COMMON = { sourceUrl: null, sanctions: [], verified: false, synthetic: false } as const;

function createdTemplate(chain: ChainId, { by, kind }: Fact): LabelTemplate | null {
  const id = idOf(by);
  const common = { ...COMMON, scope: chain, source: FACTORY_SOURCE, confidence: FACTORY_CONFIDENCE };
  const factory = `factory ${addressOf(by)}`;
  if (kind === 'pool') {
    const project = id.replace(/-v\d$/, '');
    const tags = [`${id.replace('-', ' ')} pool`, factory];
    return {
      ...common,
      entity: entityOf(project, titled(project), 'DEX'),
      category: 'DEX',
      threatLevel: 'LOW',
      tags,
    };
  }
  if (kind === 'safe') {
    const entity = entityOf('safe', 'Safe', 'SMART_CONTRACT');
    return {
      ...common,
      entity,
      category: 'SMART_CONTRACT',
      threatLevel: 'LOW',
      tags: ['safe wallet', factory],
    };
  }
  if (kind === 'token') {
    const entity = entityOf(id, BRIDGES[id] ?? titled(id), 'TOKEN');
    return { ...common, entity, category: 'TOKEN', threatLevel: 'LOW', tags: ['bridged token', factory] };
  }
  if (kind === 'pod') {
    const entity = entityOf('eigenlayer', 'EigenLayer', 'STAKING');
    return { ...common, entity, category: 'STAKING', threatLevel: 'LOW', tags: ['eigenpod', factory] };
  }
  if (kind !== 'account') return null;
  const entity = entityOf('erc-4337-account', 'ERC-4337 account', 'SMART_CONTRACT');
  return {
    ...common,
    entity,
    category: 'SMART_CONTRACT',
    threatLevel: 'LOW',
    tags: ['erc-4337 account', factory],
  };
}

/** Returns the freezes that are in force: of each issuer the newest event decides. */
function frozenBy(facts: readonly Fact[]): { readonly by: string; readonly since: Fact }[] {
  const state = new Map<string, Fact | null>();
  for (const fact of facts) {
    if (fact.rule !== FREEZE_RULE) continue;
    if (fact.kind === 'frozen') state.set(fact.by, state.get(fact.by) ?? fact);
    if (fact.kind === 'unfrozen') state.set(fact.by, null);
  }
  return [...state].flatMap(([by, since]) => (since === null ? [] : [{ by, since }]));
}

function frozenTemplate(chain: ChainId, by: string): LabelTemplate {
  const id = idOf(by);
  const issuer = ISSUERS[id] ?? titled(id);
  return {
    ...COMMON,
    entity: entityOf(`frozen-by-${id}`, `Frozen by ${issuer}`, 'ILLICIT_ACTOR'),
    scope: chain,
    category: 'ILLICIT_ACTOR',
    threatLevel: 'HIGH',
    source: FREEZE_SOURCE,
    tags: ['frozen by issuer', `token ${addressOf(by)}`],
    confidence: FREEZE_CONFIDENCE,
  };
}

function stakeTemplate(chain: ChainId, { by }: Fact): LabelTemplate {
  const entity = entityOf('ethereum-validator', 'Withdrawal address of a validator', 'VALIDATOR');
  return {
    ...{ ...COMMON, entity, scope: chain, category: 'VALIDATOR', threatLevel: 'LOW' },
    ...{ source: STAKE_SOURCE, tags: ['withdrawal address', `deposit contract ${addressOf(by)}`] },
    confidence: STAKE_CONFIDENCE,
  };
}

let pools: PoolTags | null = null;

function minedTemplate(chain: ChainId, id: string, confidence: number): LabelTemplate {
  pools ??= loadPoolTags();
  const entity = entityOf(id, pools.byId(id)?.name ?? titled(id), 'MINING_POOL');
  return {
    ...{ ...COMMON, entity, scope: chain, category: 'MINING_POOL', threatLevel: 'LOW' },
    ...{ source: COINBASE_SOURCE, tags: ['paid by coinbases'], confidence },
  };
}

/** Returns the label of an address for which one pool mined enough blocks; null if there are few, or several pools. */
function minedLabel(chain: ChainId, facts: readonly Fact[]): FactLabel | null {
  const mined = facts.filter(({ rule }) => rule === COINBASE_RULE);
  const [first] = mined;
  const blocks = new Set(mined.map(({ txHash }) => txHash)).size;
  if (first === undefined || blocks < ATTRIBUTION_LIMITS.coinbaseBlocksMin) return null;
  if (mined.some(({ kind }) => kind !== first.kind)) return null;
  const isSure = blocks >= ATTRIBUTION_LIMITS.coinbaseBlocksSure;
  const confidence = isSure ? COINBASE_SURE_CONFIDENCE : COINBASE_CONFIDENCE;
  const template = shared(chain, { ...first, by: `${first.by} ${confidence}` }, () =>
    minedTemplate(chain, first.kind, confidence),
  );
  return template === null ? null : { template, sinceMs: first.timestampMs, rule: COINBASE_RULE };
}

/** Templates by chain, rule, source and kind of fact: as many as contracts are read, and equal labels share one object. */
const templates = new Map<string, LabelTemplate | null>();

function shared(chain: ChainId, fact: Fact, make: () => LabelTemplate | null): LabelTemplate | null {
  const name = `${chain} ${fact.rule} ${fact.by} ${fact.kind}`;
  let template = templates.get(name);
  if (template === undefined) {
    template = make();
    templates.set(name, template);
  }
  return template;
}

export interface FactLabel {
  readonly template: LabelTemplate;
  /** Milliseconds since the epoch; null if not known. */
  readonly sinceMs: number | null;
  /** Id of the rule. */
  readonly rule: string;
}

/** Returns the labels of a contract that follow from labels of other addresses. */
function contractLabels(facts: readonly Fact[], naming: ContractNaming): FactLabel[] {
  const labels: FactLabel[] = [];
  // An account uses each nonce once, so there is one creation.
  const creation = facts.find(({ rule }) => rule === CREATOR_RULE);
  const created = creation === undefined ? null : naming.creatorLabel(creation);
  if (creation !== undefined && created !== null)
    labels.push({ template: created, sinceMs: creation.timestampMs, rule: CREATOR_RULE });
  const delegation = facts.some(({ rule }) => rule === PROXY_RULE) ? naming.delegation(facts) : null;
  const proxy = delegation === null ? null : naming.proxyLabel(delegation);
  if (delegation !== null && proxy !== null)
    labels.push({ template: proxy, sinceMs: delegation.fact.timestampMs, rule: PROXY_RULE });
  return labels;
}

/**
 * Returns the labels that the facts about one address give it, oldest first.
 *
 * @param naming - reads the labels of creators and implementations; without it, rules that follow other labels give none
 */
export function labelsOfFacts(
  chain: ChainId,
  facts: readonly Fact[],
  naming: ContractNaming | null = null,
): readonly FactLabel[] {
  const labels: FactLabel[] = [];
  for (const fact of facts) {
    if (fact.rule !== FACTORY_RULE) continue;
    const template = shared(chain, fact, () => createdTemplate(chain, fact));
    // A contract is created once; of an account that was deployed through several entry points the first counts.
    if (template === null || labels.length > 0) continue;
    labels.push({ template, sinceMs: fact.timestampMs, rule: FACTORY_RULE });
  }
  const stake = facts.find(({ rule }) => rule === STAKE_RULE);
  const staker = stake === undefined ? null : shared(chain, stake, () => stakeTemplate(chain, stake));
  if (stake !== undefined && staker !== null)
    labels.push({ template: staker, sinceMs: stake.timestampMs, rule: STAKE_RULE });
  const mined = minedLabel(chain, facts);
  if (mined !== null) labels.push(mined);
  for (const { by, since } of frozenBy(facts))
    labels.push({
      template: shared(chain, since, () => frozenTemplate(chain, by)) as LabelTemplate,
      sinceMs: since.timestampMs,
      rule: FREEZE_RULE,
    });
  if (naming !== null) labels.push(...contractLabels(facts, naming));
  return labels;
}

type Row = readonly [key: Uint8Array, template: LabelTemplate, day: number];

interface FactLabelOptions {
  /** Returns whether an operator disputes the labels of an address. */
  readonly isDisputed: (key: Uint8Array) => boolean;
  readonly naming: ContractNaming;
  readonly signal?: AbortSignal;
}

/** Yields the labels of all facts, in the order of addresses. */
function* rowsOf(
  chain: ChainId,
  store: AttributionStore,
  { isDisputed, naming, signal }: FactLabelOptions,
): Generator<Row> {
  for (const [key, facts] of store.allFacts()) {
    signal?.throwIfAborted();
    if (isDisputed(key)) continue;
    for (const { template, sinceMs } of labelsOfFacts(chain, facts, naming))
      yield [key, template, sinceMs === null ? 0 : dayFromIso(isoTime(sinceMs))];
  }
}

/** Counts and hashes the labels of each source in one pass: millions of facts take seconds. */
function summaryOf(chain: ChainId, rows: Iterable<Row>) {
  const texts = new Map<LabelTemplate, string>();
  const sources = new Map(
    Object.values(SOURCE_OF_RULE).map((source) => [
      source,
      { labels: 0, content: createHash('sha256').update(`${source} ${chain} 1\n`) },
    ]),
  );
  for (const [key, template, day] of rows) {
    const of = sources.get(template.source);
    if (of === undefined) continue;
    let text = texts.get(template);
    if (text === undefined) {
      text = JSON.stringify(template);
      texts.set(template, text);
    }
    of.labels++;
    of.content.update(key).update(`${text} ${day}\n`);
  }
  return sources;
}

/**
 * Stores the labels of all facts as the datasets of the chain, one for each source, in place of the former ones.
 *
 * @throws STORE_BUSY; the signal's reason if aborted
 */
export async function importFactLabels(
  chain: ChainId,
  store: AttributionStore,
  importing: ImportDeps,
  options: FactLabelOptions,
): Promise<readonly { readonly source: string; readonly labels: number; readonly dataset: DatasetReport }[]> {
  const reports = [];
  for (const [source, { labels, content }] of summaryOf(chain, rowsOf(chain, store, options))) {
    const known = importing.store
      .catalogue()
      .datasets.some((row) => row.source === source && row.dataset === chain.toLowerCase());
    // An installation that never read a log has no empty datasets.
    if (labels === 0 && !known) continue;
    const dataset = await importSegment(
      {
        ...{ source, dataset: chain, layout: 'ATTRIBUTION', files: [], publishedAt: null },
        contentHash: content.digest('hex'),
        write: async (path) => {
          const segment = createSegmentWriter(path);
          try {
            for (const [key, template, day] of rowsOf(chain, store, options))
              if (template.source === source)
                segment.add(key, 0, key.length, segment.template(template), day, 0);
          } catch (error) {
            segment.abort();
            throw error;
          }
          const stats = await segment.close();
          return { labels: stats.labels, records: stats.labels };
        },
      },
      importing,
    );
    reports.push({ source, labels, dataset });
  }
  return reports;
}
