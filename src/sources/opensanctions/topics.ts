/** Which topics and dataset names of OpenSanctions mean which of our list types. */
import type { NamedListType } from '../named-party.ts';

/**
 * Topics as https://www.opensanctions.org/docs/topics/ lists them. `sanction` and its like are left to the official lists, which
 * are read from their own publishers.
 */
const TOPICS: readonly { readonly pattern: RegExp; readonly listType: NamedListType }[] = [
  { pattern: /^role\.(pep|rca|pol)$/, listType: 'pep' },
  { pattern: /^(crime|reg)(\.[a-z.]+)?$/, listType: 'adverse_media' },
  { pattern: /^wanted$/, listType: 'adverse_media' },
];

/** The list types that the topics of an entity mean, each with its topics, PEP first. */
export function listTypesOf(topics: readonly string[]): ReadonlyMap<NamedListType, readonly string[]> {
  const found = new Map<NamedListType, string[]>();
  for (const { pattern, listType } of TOPICS) {
    const said = topics.filter((topic) => pattern.test(topic));
    if (said.length > 0) found.set(listType, [...(found.get(listType) ?? []), ...said]);
  }
  return found;
}

/** Words of dataset names and titles; the tables of targets carry no topics. */
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

/** The list type that a dataset's name (`peps`, `crime`, `us_cia_world_leaders`) or title means; null where it tells none. */
export function listTypeOfDataset(text: string): NamedListType | null {
  const words = text.toLowerCase().replace(/[^a-z0-9]+/g, ' ');
  return DATASET_WORDS.find(({ pattern }) => pattern.test(words))?.listType ?? null;
}
