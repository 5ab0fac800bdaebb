/** Maps topics and dataset names of OpenSanctions to list types. */
import type { NamedListType } from '../named-party.ts';

/**
 * Topics from https://www.opensanctions.org/docs/topics/. Topics of sanctions are not mapped: the official lists are read from
 * their own publishers.
 */
const TOPICS: readonly { readonly pattern: RegExp; readonly listType: NamedListType }[] = [
  { pattern: /^role\.(pep|rca|pol)$/, listType: 'pep' },
  { pattern: /^(crime|reg)(\.[a-z.]+)?$/, listType: 'adverse_media' },
  { pattern: /^wanted$/, listType: 'adverse_media' },
];

/** Returns the list types of an entity's topics, each with its topics, PEP first. */
export function listTypesOf(topics: readonly string[]): ReadonlyMap<NamedListType, readonly string[]> {
  const found = new Map<NamedListType, string[]>();
  for (const { pattern, listType } of TOPICS) {
    const matching = topics.filter((topic) => pattern.test(topic));
    if (matching.length > 0) found.set(listType, [...(found.get(listType) ?? []), ...matching]);
  }
  return found;
}

/** Words in dataset names and titles; the tables of targets have no topics. */
const DATASET_WORDS: readonly { readonly pattern: RegExp; readonly listType: NamedListType }[] = [
  {
    pattern: /\bpeps?\b|politically exposed|politicians?\b|parliament|world leaders|heads of state/,
    listType: 'pep',
  },
  {
    pattern: /\bcrime\b|\bwanted\b|most wanted|interpol|debar|disqualif|regulatory|enforcement|warning|fraud/,
    listType: 'adverse_media',
  },
];

/**
 * Returns the list type of a dataset by its name (`peps`, `crime`, `us_cia_world_leaders`) or title; null if it indicates none.
 */
export function listTypeOfDataset(text: string): NamedListType | null {
  const words = text.toLowerCase().replace(/[^a-z0-9]+/g, ' ');
  return DATASET_WORDS.find(({ pattern }) => pattern.test(words))?.listType ?? null;
}
