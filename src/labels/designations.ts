/**
 * Designated owners: the present designations of the parties that are linked to entities, and the sanctions entries that labels of
 * these entities carry because of them. The join happens when a snapshot is built: look-ups, including bulk look-ups, cost no more
 * than before, and a list that is imported after the labels counts from the next build.
 */
import type { SanctionsList } from '../sources/index.ts';
import type { SanctionsListRow } from '../sources/source.ts';
import type { EntityParties, EntityPartyLink } from './entity-parties.ts';
import { isDerived } from './evidence-class.ts';
import { templateFromText, templateToText } from './index/template-text.ts';
import type { LabelTemplate, OwnerAttribution, SanctionsEntry } from './label.ts';
import { classOfLabel } from './label-class.ts';
import { delistedAt, type ListState } from './sanctions.ts';
import { type SourceTable, shippedSources } from './source-table.ts';

/** One designation of an entity, in force or history. */
export interface Designation {
  /** Id of the entity of labels. */
  readonly entity: string;
  readonly list: SanctionsList;
  readonly authority: string;
  readonly program: string | null;
  readonly entityName: string;
  /** Id of the party in the list. */
  readonly entityId: string;
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  readonly sourceUrl: string;
  /** Null if neither the list nor the link states it. */
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
  /** `list`: from the imported list. `link`: from the link, because the list was never imported. */
  readonly basis: 'list' | 'link';
  /** The person who linked entity and party, and the date. */
  readonly checkedBy: string;
  readonly checkedAt: string;
  readonly verified: boolean;
}

/** By entity id. */
export type Designations = ReadonlyMap<string, readonly Designation[]>;

/**
 * Returns the designations of all linked entities.
 *
 * @param parties The links.
 * @param states The state of every list that has been imported.
 * @param sources Provides the names of authorities.
 */
export function designationsOf(
  parties: EntityParties,
  states: readonly ListState[],
  sources: SourceTable,
): Designations {
  const byEntity = new Map<string, Designation[]>();
  const stateOf = new Map(states.map((state) => [state.list, state]));
  for (const link of parties.links) {
    const designation = designationOf(link, stateOf.get(link.list) ?? null, sources);
    if (designation === null) continue;
    const known = byEntity.get(link.entity);
    if (known) known.push(designation);
    else byEntity.set(link.entity, [designation]);
  }
  return byEntity;
}

function designationOf(
  link: EntityPartyLink,
  state: ListState | null,
  sources: SourceTable,
): Designation | null {
  const { list } = link;
  const { checkedBy, checkedAt, verified } = link;
  const common = {
    entity: link.entity,
    list,
    authority: sources.authority(list),
    entityId: link.entry,
    checkedBy,
    checkedAt,
    verified,
  };
  const party = state?.details.find(
    ({ entityId, details }) => entityId === link.entry || details.reference === link.entry,
  );
  const isRead = state !== null && hasNewestParties(state);
  if (!isRead || party === undefined) {
    // As with shipped listings of wallets, the link's own facts count until the list has been imported. After that the list
    // decides: for a party that the list does not have, only an ended designation of the link counts.
    if (isRead && link.delistedAt === null) return null;
    return {
      ...common,
      program: link.program,
      entityName: link.name,
      listedAt: link.listedAt,
      delistedAt: link.delistedAt,
      sourceUrl: link.sourceUrl,
      assetFreeze: freezes(sources.lists.assetFreeze(list), link.assetFreeze),
      measures: link.measures,
      basis: 'link',
    };
  }
  const { details, entityId } = party;
  return {
    ...common,
    entityId,
    program: details.program,
    entityName: details.entityName,
    listedAt: details.listedAt ?? link.listedAt,
    delistedAt: delistedAt(state, party),
    sourceUrl: sources.partyUrl(list, entityId),
    assetFreeze: freezes(sources.lists.assetFreeze(list), details.assetFreeze),
    measures: details.measures,
    basis: 'list',
  };
}

/** Returns whether the newest complete file of a list was read with its parties: earlier releases kept only their wallets. */
const hasNewestParties = ({ files, newestAt }: ListState): boolean =>
  newestAt !== null &&
  files.some((file) => file.whole && file.publishedAt === newestAt && file.detailed !== undefined);

/**
 * Returns whether an entry freezes assets according to its file, or else according to the whole list; null if neither states it.
 */
function freezes(rule: SanctionsListRow['assetFreeze'], stated: boolean | null): boolean | null {
  if (rule === 'none') return false;
  return stated ?? (rule === 'all' ? true : null);
}

/**
 * Returns a function that adds the entries of its entity's designations to the canonical text of a template.
 *
 * @param designations By entity.
 * @param date ISO date of the dataset of the templates; null if its publisher does not state one.
 * @returns The function; it returns its argument unchanged if the entity is not designated.
 */
export function ownerEntriesAdder(
  designations: Designations,
  date: string | null,
): (templateText: string) => string {
  return (text) => {
    // A template is a JSON array that begins with the id of the entity; parsing millions of templates would take minutes.
    const found = designations.get(text.slice(2, text.indexOf('"', 2)));
    if (found === undefined) return text;
    const template = templateFromText(text);
    const added = ownerEntries(template, found, date);
    return added.length === 0
      ? text
      : templateToText({ ...template, sanctions: [...template.sanctions, ...added] });
  };
}

function ownerEntries(
  template: LabelTemplate,
  designations: readonly Designation[],
  date: string | null,
): SanctionsEntry[] {
  if (template.synthetic) return [];
  const sources = shippedSources();
  const { source, sourceUrl } = template;
  const attribution: OwnerAttribution = {
    source,
    // The confidence of a crowd-sourced label is at most that of its group, whatever the label itself claims.
    confidence: Math.min(template.confidence, sources.groupConfidenceMax(sources.groupOf(source, sourceUrl))),
    date,
  };
  // A derived label does not prove ownership, only a suspicion of it.
  const matchType = isDerived(classOfLabel(template)) ? 'CLUSTER' : 'OWNER';
  const isListed = ({ list, entityId }: Designation): boolean =>
    template.sanctions.some((entry) => entry.list === list && entry.entityId === entityId);
  return designations
    .filter((designation) => designation.assetFreeze === true && !isListed(designation))
    .map(
      (one): SanctionsEntry => ({
        list: one.list,
        authority: one.authority,
        program: one.program,
        entityName: one.entityName,
        entityId: one.entityId,
        listedAt: one.listedAt,
        listedAtBasis: 'PARTY',
        delistedAt: one.delistedAt,
        sourceUrl: one.sourceUrl,
        matchType,
        attribution,
      }),
    );
}
