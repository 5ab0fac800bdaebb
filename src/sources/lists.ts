/** The sanctions lists of all sources: which exist, which a clean verdict requires, and the facts about each. */
import { type ListGroup, type ListId, type SanctionsList, SOURCES, type SourceId } from './index.ts';
import type { SanctionsListRow, Source } from './source.ts';

/** The lists of one jurisdiction that a clean verdict requires. */
export interface RequiredGroup {
  readonly group: ListGroup;
  readonly lists: readonly ListId[];
}

export interface ListCatalogue {
  /** Every list that a source publishes, in the order of the sources. */
  readonly ids: readonly ListId[];
  /** Lists that a clean verdict requires. */
  readonly required: readonly ListId[];
  /** The required lists by jurisdiction. */
  readonly groups: readonly RequiredGroup[];
  /** Returns whether a text is the id of a list, or OTHER. */
  has(list: string): list is SanctionsList;
  /** Returns the jurisdiction of a list; lists of one jurisdiction are one voice. OTHER is its own. */
  groupOf(list: SanctionsList): ListGroup | 'OTHER';
  /** Returns the source that publishes a list; null for OTHER. */
  sourceOf(list: SanctionsList): SourceId | null;
  /** Returns the short name of the authority. */
  authority(list: SanctionsList): string;
  /** Returns a URL at which people can read an entry of a list; empty for OTHER. */
  partyUrl(list: SanctionsList, entityId: string): string;
  /** Returns which entries of a list freeze assets. */
  assetFreeze(list: SanctionsList): SanctionsListRow['assetFreeze'];
  /** Returns the days within which the publisher of a list publishes again; null if they are not known. */
  publishedAgainDays(list: SanctionsList): number | null;
}

/**
 * Derives the catalogue of the sanctions lists from the sources.
 *
 * @throws Error if two sources publish a list of the same id.
 */
export function listCatalogue(sources: readonly Source[] = SOURCES): ListCatalogue {
  const rows = new Map<string, { readonly row: SanctionsListRow; readonly source: SourceId }>();
  const groups = new Map<string, ListId[]>();
  for (const source of sources) {
    for (const row of source.lists) {
      if (rows.has(row.id) || row.id === 'OTHER') throw new Error(`Two sources publish the list ${row.id}.`);
      rows.set(row.id, { row, source: source.id as SourceId });
      if (!row.required) continue;
      const lists = groups.get(row.group);
      if (lists) lists.push(row.id as ListId);
      else groups.set(row.group, [row.id as ListId]);
    }
  }
  const ids = [...rows.keys()] as ListId[];
  return {
    ids,
    required: ids.filter((id) => rows.get(id)?.row.required === true),
    groups: [...groups].map(([group, lists]) => ({ group: group as ListGroup, lists })),
    has: (list): list is SanctionsList => list === 'OTHER' || rows.has(list),
    groupOf: (list) => (rows.get(list)?.row.group as ListGroup | undefined) ?? 'OTHER',
    sourceOf: (list) => rows.get(list)?.source ?? null,
    authority: (list) => rows.get(list)?.row.authority ?? 'other',
    partyUrl: (list, entityId) =>
      rows.get(list)?.row.partyUrl.replace('{id}', encodeURIComponent(entityId)) ?? '',
    assetFreeze: (list) => rows.get(list)?.row.assetFreeze ?? 'stated',
    publishedAgainDays: (list) => rows.get(list)?.row.publishedAgainDays ?? null,
  };
}

/** The lists of the shipped sources. */
export const LISTS = listCatalogue();
