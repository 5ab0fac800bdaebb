/** Derives the labels from the state of a sanctions list: one for every wallet, party and period, in force or history. */
import { isEvm } from '../chains/registry.ts';
import { slugOf } from './entities.ts';
import type { EntityParties } from './entity-parties.ts';
import type { Entity, LabelTemplate } from './label.ts';
import type { Rulebook } from './map.ts';
import { delistedAt, type ListedEntry, type ListedPeriod, type ListState, periodsOf } from './sanctions.ts';

export interface SanctionLabel {
  readonly key: Uint8Array;
  readonly template: LabelTemplate;
  /** ISO dates. */
  readonly firstSeen: string;
  readonly lastSeen: string;
}

interface PartyRules {
  readonly rules: Rulebook;
  readonly parties: EntityParties;
  /** Maps the id of a party to its reference, the second id. */
  readonly references: ReadonlyMap<string, string | null>;
}

/** Yields the labels of a list. Pure: the same state gives the same labels. */
export function* sanctionLabels(
  state: ListState,
  rules: Rulebook,
  parties: EntityParties = rules.parties(),
): Generator<SanctionLabel> {
  const references = new Map(state.details.map(({ entityId, details }) => [entityId, details.reference]));
  const inForce = new Set(
    state.entries.filter((entry) => delistedAt(state, entry) === null).map((entry) => entry.entityId),
  );
  for (const entry of state.entries) {
    for (const period of periodsOf(state, entry)) {
      yield {
        key: Buffer.from(entry.key, 'hex'),
        template: templateOf(state, entry, period, inForce.has(entry.entityId), {
          rules,
          parties,
          references,
        }),
        firstSeen: period.firstAt.slice(0, 10),
        lastSeen: period.lastAt.slice(0, 10),
      };
    }
  }
}

function templateOf(
  state: ListState,
  entry: ListedEntry,
  { listedAt, listedAtBasis, delistedAt: delisted }: ListedPeriod,
  partyInForce: boolean,
  { rules, parties, references }: PartyRules,
): LabelTemplate {
  const { sources, taxonomy } = rules;
  const { details } = entry;
  const source = sources.sourceOf(state.list);
  const link = parties.ofParty(state.list, entry.entityId, references.get(entry.entityId) ?? null);
  const known = link && rules.entities.byId(link.entity);
  const entity: Entity = known ?? {
    id: `${source}-${slugOf(entry.entityId)}`,
    name: details.entityName,
    category: partyInForce ? 'SANCTIONED_ENTITY' : 'OTHER',
    jurisdiction: details.jurisdiction,
    url: null,
  };
  const sourceUrl = sources.partyUrl(state.list, entry.entityId);
  // If the entity is no longer listed, its other category remains: Tornado Cash is still a mixer.
  const category = delisted === null ? 'SANCTIONED_ENTITY' : (known?.category ?? 'OTHER');
  return {
    entity,
    scope: isEvm(entry.chain) ? 'EVM' : entry.chain,
    category,
    threatLevel: taxonomy.of(category).threatLevel,
    source,
    sourceUrl,
    tags: [delisted === null ? 'sanctioned' : 'delisted', state.list, ...details.currencies],
    confidence: delisted === null ? (sources.of(source)?.confidence ?? 1) : sources.historyConfidence,
    sanctions: [
      {
        list: state.list,
        authority: sources.authority(state.list),
        program: details.program,
        entityName: details.entityName,
        entityId: entry.entityId,
        listedAt,
        listedAtBasis,
        delistedAt: delisted,
        sourceUrl,
        matchType: 'DIRECT',
      },
    ],
    verified: true,
    synthetic: false,
  };
}
