/**
 * Designated owners: what sanctions lists say now of the parties that are linked to entities, and the entries that labels of these
 * entities carry because of it. Joined when a snapshot is built, so that every look-up, bulk ones included, costs what it cost
 * before, and a list that is imported after the labels counts with the next build.
 */
import type { SanctionsList } from '../sources/records.ts';
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
  /** The list's id of the party. */
  readonly entityId: string;
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  readonly sourceUrl: string;
  /** Null if neither the list nor the link says. */
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
  /** `list`: as the imported list has it. `link`: as the link has it, because the list was never imported. */
  readonly basis: 'list' | 'link';
  /** Who linked entity and party, and when. */
  readonly checkedBy: string;
  readonly checkedAt: string;
  readonly verified: boolean;
}

/** By id of the entity. */
export type Designations = ReadonlyMap<string, readonly Designation[]>;

/**
 * Lists whose every entry freezes assets. UK entries say it each for themselves; OFAC_CONS restricts securities, correspondent
 * accounts and the like, and blocks nothing.
 */
const FREEZES_ASSETS: Readonly<Partial<Record<SanctionsList, boolean>>> = {
  OFAC_SDN: true,
  OFAC_CONS: false,
  EU: true,
  UN: true,
  CH: true,
};

/**
 * Returns the designations of all linked entities.
 *
 * @param parties The links.
 * @param states The state of every list that has been imported.
 * @param sources Names of authorities.
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
    // As with shipped listings of wallets: the link's own facts count until the list has been imported. From then on the list
    // decides, and of a party that it does not have only the past is believed.
    if (isRead && link.delistedAt === null) return null;
    return {
      ...common,
      program: link.program,
      entityName: link.name,
      listedAt: link.listedAt,
      delistedAt: link.delistedAt,
      sourceUrl: link.sourceUrl,
      assetFreeze: freezes(list, link.assetFreeze),
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
    assetFreeze: freezes(list, details.assetFreeze),
    measures: details.measures,
    basis: 'list',
  };
}

/** Whether the newest whole file of a list has been read with its parties: earlier releases kept their wallets alone. */
const hasNewestParties = ({ files, newestAt }: ListState): boolean =>
  newestAt !== null &&
  files.some((file) => file.whole && file.publishedAt === newestAt && file.detailed !== undefined);

/** Returns whether an entry freezes assets: as its file says, else as the whole list does; null if neither says. */
const freezes = (list: SanctionsList, said: boolean | null): boolean | null =>
  list === 'OFAC_CONS' ? false : (said ?? FREEZES_ASSETS[list] ?? null);

/**
 * Returns what adds the entries of its entity's designations to the canonical text of a template.
 *
 * @param designations By entity.
 * @param date ISO date of the dataset that the template is of; null if its publisher does not say.
 * @returns The text as it was if the entity is not designated.
 */
export function ownerEntriesAdder(
  designations: Designations,
  date: string | null,
): (templateText: string) => string {
  return (text) => {
    // A template is a JSON array that begins with the id of the entity; parsing millions of them would cost minutes.
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
    // Whatever a crowd-sourced label says of itself, it is believed no more than its group is.
    confidence: Math.min(template.confidence, sources.groupConfidenceMax(sources.groupOf(source, sourceUrl))),
    date,
  };
  // Derived labels never make an owner, only a suspicion.
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
