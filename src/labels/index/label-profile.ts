/** The statistical profile of a set of labels: the model for synthetic labels, and the measure of their quality. */
import type { ChainId } from '../../chains/registry.ts';
import type { LabelScope, LabelTemplate } from '../label.ts';
import type { Category, ThreatLevel } from '../taxonomy.ts';

/** Labels of one chain, scope and category. Shares of a list add up to 1. */
export interface ProfileStratum {
  readonly chain: ChainId;
  readonly scope: LabelScope;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  /** Share of all labels. */
  readonly share: number;
  /** Forms of the address: kind byte, payload bytes, share. */
  readonly forms: readonly (readonly [kind: number, payloadBytes: number, share: number])[];
  /** Lengths of entity names (characters) at twenty evenly spaced quantiles, over all labels. */
  readonly nameLengths: readonly number[];
  /** Numbers of tags of a label, each with its share. */
  readonly tagCounts: readonly (readonly [count: number, share: number])[];
  /** Mean number of characters of a tag. */
  readonly tagLength: number;
  readonly sourceUrlLength: number;
  readonly confidence: number;
  readonly withUrl: number;
  readonly withJurisdiction: number;
  readonly withFirstSeen: number;
  readonly withLastSeen: number;
}

export interface LabelProfile {
  readonly labels: number;
  readonly addresses: number;
  readonly entities: number;
  /** Numbers of labels of an address, each with the share of addresses that have it. */
  readonly labelsPerAddress: readonly (readonly [labels: number, share: number])[];
  readonly strata: readonly ProfileStratum[];
}

interface Tally {
  readonly chain: ChainId;
  readonly scope: LabelScope;
  readonly category: Category;
  readonly forms: Map<string, number>;
  readonly nameLengths: number[];
  readonly tagCounts: Map<number, number>;
  readonly threatLevels: Map<ThreatLevel, number>;
  labels: number;
  tags: number;
  tagCharacters: number;
  sourceUrlCharacters: number;
  confidence: number;
  withUrl: number;
  withJurisdiction: number;
  withFirstSeen: number;
  withLastSeen: number;
}

export interface Profiler {
  /** Counts one label of the address with this key. */
  add(key: Uint8Array, chain: ChainId, template: LabelTemplate, firstSeen: boolean, lastSeen: boolean): void;
  profile(): LabelProfile;
}

const QUANTILES = 20;
const rounded = (value: number): number => Number(value.toPrecision(4));

const sharesOf = <K>(counts: ReadonlyMap<K, number>): [K, number][] => {
  let total = 0;
  for (const count of counts.values()) total += count;
  return [...counts].sort((a, b) => b[1] - a[1]).map(([value, count]) => [value, rounded(count / total)]);
};

const bump = <K>(counts: Map<K, number>, value: K): void => {
  counts.set(value, (counts.get(value) ?? 0) + 1);
};

/** Creates a profiler, which counts labels and computes their profile. */
export function createProfiler(): Profiler {
  const strata = new Map<string, Tally>();
  const labelsOf = new Map<string, number>();
  const entities = new Set<string>();

  const stratum = (chain: ChainId, template: LabelTemplate): Tally => {
    const name = `${chain} ${template.scope} ${template.category}`;
    let tally = strata.get(name);
    if (!tally) {
      tally = {
        chain,
        scope: template.scope,
        category: template.category,
        forms: new Map(),
        nameLengths: [],
        tagCounts: new Map(),
        threatLevels: new Map(),
        labels: 0,
        tags: 0,
        tagCharacters: 0,
        sourceUrlCharacters: 0,
        confidence: 0,
        withUrl: 0,
        withJurisdiction: 0,
        withFirstSeen: 0,
        withLastSeen: 0,
      };
      strata.set(name, tally);
    }
    return tally;
  };

  return {
    add(key, chain, template, firstSeen, lastSeen) {
      const tally = stratum(chain, template);
      tally.labels++;
      bump(tally.forms, `${key[1]} ${key.length - 2}`);
      tally.nameLengths.push(template.entity.name.length);
      bump(tally.tagCounts, template.tags.length);
      bump(tally.threatLevels, template.threatLevel);
      tally.tags += template.tags.length;
      for (const tag of template.tags) tally.tagCharacters += tag.length;
      tally.sourceUrlCharacters += template.sourceUrl?.length ?? 0;
      tally.confidence += template.confidence;
      if (template.entity.url !== null) tally.withUrl++;
      if (template.entity.jurisdiction !== null) tally.withJurisdiction++;
      if (firstSeen) tally.withFirstSeen++;
      if (lastSeen) tally.withLastSeen++;
      bump(labelsOf, Buffer.from(key).toString('latin1'));
      entities.add(template.entity.id);
    },

    profile() {
      const tallies = [...strata.values()].sort((a, b) => b.labels - a.labels);
      const labels = tallies.reduce((sum, tally) => sum + tally.labels, 0);
      const perAddress = new Map<number, number>();
      for (const count of labelsOf.values()) bump(perAddress, count);
      return {
        labels,
        addresses: labelsOf.size,
        entities: entities.size,
        labelsPerAddress: sharesOf(perAddress),
        strata: tallies.map((tally) => stratumOf(tally, labels)),
      };
    },
  };
}

function stratumOf(tally: Tally, labels: number): ProfileStratum {
  const lengths = tally.nameLengths.sort((a, b) => a - b);
  const share = (count: number): number => rounded(count / tally.labels);
  return {
    chain: tally.chain,
    scope: tally.scope,
    category: tally.category,
    threatLevel: sharesOf(tally.threatLevels)[0]?.[0] ?? 'LOW',
    share: rounded(tally.labels / labels),
    forms: sharesOf(tally.forms).map(([form, part]) => {
      const [kind, payloadBytes] = form.split(' ').map(Number);
      return [kind as number, payloadBytes as number, part];
    }),
    nameLengths: Array.from(
      { length: QUANTILES },
      (_, index) => lengths[Math.floor(((index + 0.5) / QUANTILES) * lengths.length)] as number,
    ),
    tagCounts: sharesOf(tally.tagCounts),
    tagLength: rounded(tally.tagCharacters / Math.max(tally.tags, 1)),
    sourceUrlLength: rounded(tally.sourceUrlCharacters / tally.labels),
    confidence: rounded(tally.confidence / tally.labels),
    withUrl: share(tally.withUrl),
    withJurisdiction: share(tally.withJurisdiction),
    withFirstSeen: share(tally.withFirstSeen),
    withLastSeen: share(tally.withLastSeen),
  };
}

/** The figures that synthetic labels must match within a fifth. Means are over labels. */
export interface ProfileSummary {
  readonly labelsPerAddress: number;
  readonly nameLength: number;
  readonly tagsPerLabel: number;
  readonly tagLength: number;
  readonly byChain: ReadonlyMap<string, number>;
  readonly byCategory: ReadonlyMap<string, number>;
}

/** Computes the summary of a profile. */
export function summarise(profile: LabelProfile): ProfileSummary {
  const byChain = new Map<string, number>();
  const byCategory = new Map<string, number>();
  let nameLength = 0;
  let tags = 0;
  let tagCharacters = 0;
  for (const stratum of profile.strata) {
    byChain.set(stratum.chain, (byChain.get(stratum.chain) ?? 0) + stratum.share);
    byCategory.set(stratum.category, (byCategory.get(stratum.category) ?? 0) + stratum.share);
    nameLength += (stratum.share * stratum.nameLengths.reduce((sum, length) => sum + length, 0)) / QUANTILES;
    const mean = stratum.tagCounts.reduce((sum, [count, share]) => sum + count * share, 0);
    tags += stratum.share * mean;
    tagCharacters += stratum.share * mean * stratum.tagLength;
  }
  return {
    labelsPerAddress: profile.labels / profile.addresses,
    nameLength,
    tagsPerLabel: tags,
    tagLength: tagCharacters / tags,
    byChain,
    byCategory,
  };
}
