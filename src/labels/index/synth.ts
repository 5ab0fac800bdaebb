/**
 * Deterministic synthetic labels, for scale tests only: the mix of chains, categories, sizes and labels per address follows a
 * measured profile. Every label has `synthetic: true`, and all counts keep synthetic labels apart from real ones.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { shippedData } from '../../base/paths.ts';
import { seededUint32 } from '../../base/random.ts';
import { AddressError } from '../../chains/address/address.ts';
import { formatAddressKey, maxKeyBytes, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { LabelTemplate } from '../label.ts';
import { isoFromDay, NO_DAY } from './days.ts';
import type { LabelProfile, ProfileStratum } from './label-profile.ts';
import { createSegmentWriter, type SegmentStats } from './segment.ts';

/** Minimum number of entities for a million labels and more; below, one for every five labels. */
const ENTITIES_MIN = 210_000;
const LABELS_PER_ENTITY = 40;
/** A few entities own most labels of a stratum, most entities own few: rank = n · u³. */
const POPULARITY_EXPONENT = 3;
/** Steps by the golden ratio spread the quantiles evenly over the entities of a stratum, popular or not. */
const GOLDEN = 0.6180339887498949;

/** Range of synthetic dates: 2012-01-01 to 2025-01-01. */
const DAY_MIN = 15_340;
const DAY_MAX = 20_089;

export interface SynthOptions {
  /** Number of labels. */
  readonly count: number;
  readonly seed: number;
  readonly onProgress?: (labels: number) => void;
  readonly signal?: AbortSignal;
}

/** Receives one label; `key[0, length)` is reused for the next one. */
export type SynthSink = (
  key: Uint8Array,
  length: number,
  chain: ChainId,
  template: LabelTemplate,
  firstSeenDay: number,
  lastSeenDay: number,
) => void;

/** Loads the profile that ships with Assay, measured from the GraphSense TagPacks by scripts/synth-profile.ts. */
export function loadSynthProfile(): LabelProfile {
  return JSON.parse(readFileSync(shippedData('synth-profile.json'), 'utf8')) as LabelProfile;
}

interface Stratum {
  readonly profile: ProfileStratum;
  readonly firstEntity: number;
  readonly entities: number;
  readonly templates: (LabelTemplate | undefined)[];
}

/** Number of random payloads that must survive formatting and parsing before a form is used. */
const FORM_TRIALS = 16;

/**
 * Returns the profile without address forms that allow only some payloads (Cardano headers, points on a curve). Their share, a
 * few in a hundred thousand, goes to the other forms and strata.
 */
function usable(profile: LabelProfile, seed: number): LabelProfile {
  const next = seededUint32(seed);
  const verdicts = new Map<string, boolean>();
  const key = new Uint8Array(maxKeyBytes);
  const back = new Uint8Array(maxKeyBytes);
  const isFree = (chain: ChainId, kind: number, payloadBytes: number): boolean => {
    const name = `${chain} ${kind} ${payloadBytes}`;
    let verdict = verdicts.get(name);
    if (verdict === undefined) {
      verdict = true;
      for (let trial = 0; trial < FORM_TRIALS && verdict; trial++) {
        key[0] = chainOf(chain).keyByte;
        key[1] = kind;
        for (let at = 0; at < payloadBytes; at++) key[2 + at] = next() >>> 24;
        verdict = survives(chain, key.subarray(0, 2 + payloadBytes), back);
      }
      verdicts.set(name, verdict);
    }
    return verdict;
  };
  const strata = profile.strata
    .map((row) => ({
      ...row,
      forms: row.forms.filter(([kind, payloadBytes]) => isFree(row.chain, kind, payloadBytes)),
    }))
    .filter((row) => row.forms.length > 0);
  return { ...profile, strata };
}

/** Returns whether the text of a key parses to the same key. */
function survives(chain: ChainId, key: Uint8Array, back: Uint8Array): boolean {
  let text: string;
  try {
    text = formatAddressKey(key, chain);
  } catch (error) {
    if (error instanceof AddressError) return false;
    throw error;
  }
  const length = writeAddressKeyFromText(chain, text, back, 0);
  return length === key.length && key.every((byte, at) => back[at] === byte);
}

/** Passes `count` labels to `sink`; the same seed and profile give the same labels on every machine. */
export async function synthesise(
  options: SynthOptions,
  measured: LabelProfile,
  sink: SynthSink,
): Promise<void> {
  const profile = usable(measured, options.seed);
  const { count } = options;
  const next = seededUint32(options.seed);
  const fraction = (): number => next() / 4_294_967_296;
  const strata = divideEntities(profile, count);
  const pickStratum = pickerOf(strata.map((stratum) => stratum.profile.share));
  const pickLabels = pickerOf(profile.labelsPerAddress.map(([, share]) => share));
  const formPickers = strata.map((stratum) => pickerOf(stratum.profile.forms.map(([, , share]) => share)));
  const siblings = strata.map((stratum) => siblingsOf(stratum, strata));
  const key = new Uint8Array(
    2 + Math.max(...profile.strata.flatMap((row) => row.forms.map(([, bytes]) => bytes))) + 3,
  );

  for (let made = 0; made < count; ) {
    const index = pickStratum(fraction());
    const stratum = strata[index] as Stratum;
    const { chain, forms } = stratum.profile;
    const [kind, payloadBytes] = forms[(formPickers[index] as Picker)(fraction())] as (typeof forms)[number];
    key[0] = chainOf(chain).keyByte;
    key[1] = kind;
    for (let at = 2; at < 2 + payloadBytes; at += 4) {
      const word = next();
      key[at] = word;
      key[at + 1] = word >>> 8;
      key[at + 2] = word >>> 16;
      key[at + 3] = word >>> 24;
    }
    const labels = (profile.labelsPerAddress[pickLabels(fraction())] as readonly [number, number])[0];
    for (let label = 0; label < labels && made < count; label++, made++) {
      const own = label === 0 ? stratum : (siblings[index] as Siblings).pick(fraction());
      const rank = Math.floor(own.entities * fraction() ** POPULARITY_EXPONENT);
      const template = templateOf(own, rank);
      const first =
        fraction() < own.profile.withFirstSeen ? dayBetween(DAY_MIN, DAY_MAX, fraction()) : NO_DAY;
      const last =
        fraction() < own.profile.withLastSeen ? dayBetween(first || DAY_MIN, DAY_MAX, fraction()) : NO_DAY;
      sink(key, 2 + payloadBytes, chain, template, first, last);
      if (made % 65_536 === 0) {
        options.onProgress?.(made);
        options.signal?.throwIfAborted();
        await new Promise((resume) => setImmediate(resume));
      }
    }
  }
  options.onProgress?.(count);
}

const dayBetween = (from: number, to: number, fraction: number): number =>
  from + Math.floor((to - from) * fraction);

function divideEntities(profile: LabelProfile, count: number): Stratum[] {
  const wanted = Math.min(Math.max(ENTITIES_MIN, Math.ceil(count / LABELS_PER_ENTITY)), Math.ceil(count / 5));
  let firstEntity = 0;
  return profile.strata.map((row) => {
    const entities = Math.max(1, Math.round(wanted * row.share));
    const stratum = { profile: row, firstEntity, entities, templates: [] };
    firstEntity += entities;
    return stratum;
  });
}

type Picker = (fraction: number) => number;

/**
 * Returns a function that picks an index by weight, in constant time.
 *
 * Source: A. J. Walker's alias method, in M. D. Vose's form.
 */
function pickerOf(weights: readonly number[]): Picker {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const count = weights.length;
  const chance = weights.map((weight) => (weight * count) / total);
  const alias = weights.map((_, index) => index);
  const small = chance.flatMap((value, index) => (value < 1 ? [index] : []));
  const large = chance.flatMap((value, index) => (value < 1 ? [] : [index]));
  while (small.length > 0 && large.length > 0) {
    const less = small.pop() as number;
    const more = large.pop() as number;
    alias[less] = more;
    chance[more] = (chance[more] as number) + (chance[less] as number) - 1;
    ((chance[more] as number) < 1 ? small : large).push(more);
  }
  return (fraction) => {
    const place = Math.floor(fraction * count);
    const rest = fraction * count - place;
    return rest < (chance[place] as number) ? place : (alias[place] as number);
  };
}

interface Siblings {
  pick(fraction: number): Stratum;
}

/** Further labels of an address come from the strata of its chain. */
function siblingsOf(stratum: Stratum, strata: readonly Stratum[]): Siblings {
  const same = strata.filter((other) => other.profile.chain === stratum.profile.chain);
  const pick = pickerOf(same.map((other) => other.profile.share));
  return { pick: (fraction) => same[pick(fraction)] as Stratum };
}

function templateOf(stratum: Stratum, rank: number): LabelTemplate {
  const known = stratum.templates[rank];
  if (known) return known;
  const template = makeTemplate(stratum, rank);
  stratum.templates[rank] = template;
  return template;
}

/** Returns a value that is evenly spread over [0, 1), the same for the same entity and salt. */
const spread = (rank: number, salt: number): number => (rank * GOLDEN + salt * 0.1377) % 1;

const COUNTRIES = ['US', 'GB', 'DE', 'SG', 'KY', 'MT', 'SC', 'CH', 'JP', 'KR', 'BR', 'AE'] as const;

function makeTemplate(stratum: Stratum, rank: number): LabelTemplate {
  const { profile } = stratum;
  const number = stratum.firstEntity + rank;
  const quantile = Math.floor(spread(rank, 1) * profile.nameLengths.length);
  const name = nameOf(number, profile.nameLengths[quantile] as number);
  const tags = Array.from({ length: countAt(profile.tagCounts, spread(rank, 2)) }, (_, index) =>
    textOf(number % 997, index, Math.max(1, Math.round(profile.tagLength))),
  );
  return {
    entity: {
      id: `synthetic:${number}`,
      name,
      category: profile.category,
      jurisdiction:
        spread(rank, 3) < profile.withJurisdiction ? (COUNTRIES[number % COUNTRIES.length] as string) : null,
      url: spread(rank, 4) < profile.withUrl ? `https://${name.toLowerCase()}.example` : null,
    },
    scope: profile.scope,
    category: profile.category,
    threatLevel: profile.threatLevel,
    source: 'synthetic',
    sourceUrl: sourceUrlOf(number % 89, profile.sourceUrlLength),
    tags,
    confidence: profile.confidence,
    sanctions: [],
    verified: true,
    synthetic: true,
  };
}

function countAt(shares: readonly (readonly [count: number, share: number])[], fraction: number): number {
  let below = 0;
  for (const [count, share] of shares) {
    below += share;
    if (fraction < below) return count;
  }
  return shares[0]?.[0] ?? 0;
}

const SYLLABLES = ['ka', 'ro', 'mi', 'ne', 'tu', 'la', 'so', 'vi', 'de', 'po'] as const;

/** Returns a word that is unique per number: its digits in base 36, then syllables up to the length. */
function nameOf(number: number, length: number): string {
  let text = `S${number.toString(36)}`;
  for (let index = number; text.length < length; index += 7)
    text += SYLLABLES[index % SYLLABLES.length] as string;
  return text.length > length ? text.slice(0, Math.max(length, 1 + number.toString(36).length)) : text;
}

function textOf(number: number, salt: number, length: number): string {
  let text = '';
  for (let index = number + salt * 3; text.length < length; index += 3) {
    text += SYLLABLES[index % SYLLABLES.length] as string;
  }
  return text.slice(0, length);
}

const sourceUrlOf = (number: number, length: number): string => {
  const start = `https://synthetic.example/${number}/`;
  return start + 'x'.repeat(Math.max(0, Math.round(length) - start.length));
};

/** Writes synthetic labels as a segment. */
export async function synthSegment(
  path: string,
  options: SynthOptions,
  profile: LabelProfile = loadSynthProfile(),
): Promise<SegmentStats> {
  const writer = createSegmentWriter(path);
  try {
    await synthesise(options, profile, (key, length, _chain, template, first, last) => {
      writer.add(key, 0, length, writer.template(template), first, last);
    });
    return await writer.close();
  } catch (error) {
    writer.abort();
    throw error;
  }
}

/** The columns of a user's own file, in the order in which `synthCsv` writes them. */
export const SYNTH_CSV_HEADER =
  'address,chain,entity,name,category,threat_level,confidence,tags,jurisdiction,url,first_seen,last_seen,source_url';

/** Writes synthetic labels as a CSV of the own format. */
export async function synthCsv(
  path: string,
  options: SynthOptions,
  profile: LabelProfile = loadSynthProfile(),
): Promise<void> {
  const file = openSync(path, 'w');
  const rests = new WeakMap<LabelTemplate, readonly [before: string, after: string]>();
  let text = `${SYNTH_CSV_HEADER}\n`;
  try {
    await synthesise(options, profile, (key, length, chain, template, first, last) => {
      let rest = rests.get(template);
      if (!rest) {
        rest = csvRest(template, chain);
        rests.set(template, rest);
      }
      text += `${formatAddressKey(key.subarray(0, length), chain)}${rest[0]}${isoFromDay(first) ?? ''},${isoFromDay(last) ?? ''}${rest[1]}`;
      if (text.length < 1 << 22) return;
      writeSync(file, text);
      text = '';
    });
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}

function csvRest(template: LabelTemplate, chain: ChainId): readonly [before: string, after: string] {
  const { entity } = template;
  const before = [
    '',
    chain,
    entity.id,
    entity.name,
    template.category,
    template.threatLevel,
    template.confidence,
    template.tags.join(';'),
    entity.jurisdiction ?? '',
    entity.url ?? '',
    '',
  ].join(',');
  return [before, `,${template.sourceUrl ?? ''}\n`];
}
