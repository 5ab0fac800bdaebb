/**
 * Proposes links between entities of labels and designated organisations with an equal name. A person must check each proposal: equal
 * names do not prove the same party, and nothing here applies a proposal.
 */
import type { SanctionsList } from '../sources/index.ts';
import type { EntityParties, EntityPartyLink } from './entity-parties.ts';
import { readSegment, SEGMENT_RECORD_WORDS } from './index/segment.ts';
import { SLOT_WORDS } from './index/slot.ts';
import { templateFromText } from './index/template-text.ts';
import { LABEL_LIMITS } from './limits.ts';
import type { LabelStore } from './store.ts';

/** A name of an entity of labels. */
export interface EntityName {
  readonly entity: string;
  readonly name: string;
}

/** An entity that imported labels name. */
export interface LabelledEntity extends EntityName {
  /** Labels of the entity in all datasets. */
  readonly labels: number;
}

/** An organisation that a list designates. */
export interface DesignatedOrganisation {
  readonly list: SanctionsList;
  readonly entry: string;
  /** A second id of the party, which a link may already use. */
  readonly reference: string | null;
  /** The primary name first; without names that the publisher marks as weak. */
  readonly names: readonly string[];
  readonly program: string | null;
  readonly listedAt: string | null;
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
  readonly sourceUrl: string;
}

/** A link in the form of the file of links; a reviewer fills in `checkedBy`. */
export type ProposedLink = Omit<EntityPartyLink, 'linked' | 'from'>;

/** Shorter names are too often equal by chance. */
const NAME_CHARS_MIN = 3;

/** Returns the entities of all imported datasets, with the number of their labels. Derived and synthetic labels are left out. */
export function labelledEntities(store: LabelStore): LabelledEntity[] {
  const found = new Map<string, { name: string; labels: number }>();
  for (const dataset of store.catalogue().datasets) {
    if (dataset.source === 'cluster' || dataset.source === 'synthetic') continue;
    for (const place of dataset.segments) {
      const segment = readSegment(store.segmentPath(dataset, place));
      const templates = segment.templateTexts.map((text) => templateFromText(text).entity);
      const counts = new Uint32Array(templates.length);
      for (const [words, count] of segment.chunks(false)) {
        for (let at = SLOT_WORDS, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
          const template = words[at] as number;
          counts[template] = (counts[template] as number) + 1;
        }
      }
      for (const [at, { id, name }] of templates.entries()) {
        const known = found.get(id);
        const labels = (known?.labels ?? 0) + (counts[at] as number);
        found.set(id, { name: known?.name ?? name, labels });
      }
    }
  }
  return [...found].map(([entity, { name, labels }]) => ({ entity, name, labels }));
}

/**
 * Returns a row for each designated organisation with a name that equals a name of an entity after `fold`. Parties that already have
 * a link are left out. Returns at most `entityProposalsMax` rows, the entities with the most labels first.
 *
 * @param options.entities Entities of labels, with the number of their labels.
 * @param options.otherNames Further names of entities: aliases, legal names.
 * @param options.fold Returns the forms in which a name is compared.
 * @param options.today ISO date, for `checkedAt`.
 */
export function proposeLinks(options: {
  readonly entities: readonly LabelledEntity[];
  readonly otherNames: readonly EntityName[];
  readonly organisations: Iterable<DesignatedOrganisation>;
  readonly parties: EntityParties;
  readonly fold: (name: string) => readonly string[];
  readonly today: string;
}): ProposedLink[] {
  const { entities, otherNames, organisations, parties, fold, today } = options;
  const labels = new Map(entities.map((entity) => [entity.entity, entity.labels]));
  const byName = new Map<string, Map<string, string>>();
  for (const { entity, name } of [...entities, ...otherNames]) {
    // An id such as `phishing:huobi` belongs to a fraud that uses the name, which is not the party that it imitates.
    if (entity.includes(':')) continue;
    for (const form of fold(name)) {
      if (form.length < NAME_CHARS_MIN) continue;
      const known = byName.get(form);
      if (known === undefined) byName.set(form, new Map([[entity, name]]));
      else if (!known.has(entity)) known.set(entity, name);
    }
  }
  const proposals = new Map<string, ProposedLink>();
  for (const party of organisations) {
    if (parties.ofParty(party.list, party.entry, party.reference) !== null) continue;
    for (const name of party.names) {
      for (const form of fold(name)) {
        for (const [entity, entityName] of byName.get(form) ?? []) {
          const id = `${entity}\n${party.list}\n${party.entry}`;
          if (proposals.has(id)) continue;
          const count = labels.get(entity) ?? 0;
          proposals.set(id, {
            entity,
            list: party.list,
            entry: party.reference ?? party.entry,
            name: party.names[0] ?? name,
            program: party.program,
            listedAt: party.listedAt,
            delistedAt: null,
            assetFreeze: party.assetFreeze,
            measures: party.measures,
            sourceUrl: party.sourceUrl,
            checkedBy: '',
            checkedAgainst: null,
            checkedAt: today,
            verified: false,
            note: `Proposed: '${entityName}' of the entity (${count} labels) and '${name}' of the list are equal names.`,
          });
        }
      }
    }
  }
  const weight = ({ entity }: ProposedLink): number => labels.get(entity) ?? 0;
  const text = ({ entity, list, entry }: ProposedLink): string => `${entity} ${list} ${entry}`;
  return [...proposals.values()]
    .sort((a, b) => weight(b) - weight(a) || (text(a) < text(b) ? -1 : 1))
    .slice(0, LABEL_LIMITS.entityProposalsMax);
}
