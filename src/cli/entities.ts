/** `assay entities list`, `assay entities propose`: manage links between entities of labels and parties of sanctions lists. */
import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { type Designation, designationsOf } from '../labels/designations.ts';
import type { EntityPartyLink } from '../labels/entity-parties.ts';
import {
  type DesignatedOrganisation,
  labelledEntities,
  type ProposedLink,
  proposeLinks,
} from '../labels/entity-proposals.ts';
import type { ListedParty } from '../labels/sanctions.ts';
import { loadExchanges, loadRegisterFacts } from '../registers/catalogue.ts';
import { foldName, foldWithoutForm } from '../registers/name-index.ts';
import type { SanctionsList } from '../sources/index.ts';
import { LISTS } from '../sources/lists.ts';
import { answer, type Terminal, table } from './context.ts';
import type { Services } from './services.ts';

/**
 * - `DESIGNATED`: in force with an asset freeze: labels of the entity make addresses sanctioned.
 * - `NO_FREEZE`: in force without an asset freeze; shown only by exchange-status.
 * - `DELISTED`: history.
 * - `NOT_ON_LIST`: no imported file of the list has the entry.
 */
type LinkState = 'DESIGNATED' | 'NO_FREEZE' | 'DELISTED' | 'NOT_ON_LIST';

interface LinkStatus {
  readonly link: EntityPartyLink;
  readonly state: LinkState;
  /** `list`: taken from the imported list; `link`: the list was not imported. Null for NOT_ON_LIST. */
  readonly basis: Designation['basis'] | null;
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  /** The name on the list, if it differs from the name of the link. */
  readonly nameOnList: string | null;
}

function stateOf(designation: Designation | undefined): LinkState {
  if (designation === undefined) return 'NOT_ON_LIST';
  if (designation.delistedAt !== null) return 'DELISTED';
  return designation.assetFreeze === true ? 'DESIGNATED' : 'NO_FREEZE';
}

function linkStatuses({ store, rules }: Services): LinkStatus[] {
  const parties = rules.parties();
  const states = store.catalogue().lists.map((row) => store.listState(row.list));
  return parties.links.map((link) => {
    const one = { ...parties, links: [link] };
    const designation = designationsOf(one, states, rules.sources).get(link.entity)?.[0];
    const name = designation?.entityName ?? link.name;
    return {
      link,
      state: stateOf(designation),
      basis: designation?.basis ?? null,
      listedAt: designation?.listedAt ?? null,
      delistedAt: designation?.delistedAt ?? null,
      nameOnList: foldName(name) === foldName(link.name) ? null : name,
    };
  });
}

const statusLines = (statuses: readonly LinkStatus[]): readonly string[] => [
  ...table([
    ['ENTITY', 'LIST', 'ENTRY', 'STATE', 'LISTED', 'DELISTED', 'BASIS', 'CHECKED', 'NAME'],
    ...statuses.map(({ link, state, basis, listedAt, delistedAt }) => [
      link.entity,
      link.list,
      link.entry,
      state,
      listedAt ?? '-',
      delistedAt ?? '-',
      basis ?? '-',
      `${link.checkedAt} ${link.checkedBy}${link.verified ? '' : ' (not verified)'}`,
      link.name,
    ]),
  ]),
  ...statuses.flatMap(({ link, nameOnList }) =>
    nameOnList === null
      ? []
      : [
          `${link.list} ${link.entry}: the list prints '${nameOnList}', the link '${link.name}'; check the link.`,
        ],
  ),
];

/** Reads the organisations in force, with all their names, from every imported list. */
async function designatedOrganisations({
  nameStore,
  store,
  rules,
}: Services): Promise<DesignatedOrganisation[]> {
  const found: DesignatedOrganisation[] = [];
  for (const row of nameStore.rows()) {
    const list = LISTS.ids.find((one) => one === row.list);
    // If no entry of a list freezes assets, a link to one would not change a verdict.
    if (list === undefined || LISTS.assetFreeze(list) === 'none') continue;
    const details = new Map<string, ListedParty>(
      store.listState(list).details.map((party) => [party.entityId, party]),
    );
    for await (const party of nameStore.parties(row)) {
      if (party.schema !== 'Organization' || party.delistedAt !== null) continue;
      found.push(organisationOf(list, party, details.get(party.entityId), rules));
    }
  }
  return found;
}

function organisationOf(
  list: SanctionsList,
  party: Pick<DesignatedOrganisation, 'listedAt'> & {
    readonly entityId: string;
    readonly names: readonly { readonly text: string; readonly weak: boolean; readonly kind: string }[];
    readonly programs: readonly string[];
  },
  known: ListedParty | undefined,
  rules: Services['rules'],
): DesignatedOrganisation {
  const names = party.names.filter(({ weak }) => !weak);
  const primary = names.filter(({ kind }) => kind === 'primary');
  return {
    list,
    entry: party.entityId,
    reference: known?.details.reference ?? null,
    names: [...new Set([...primary, ...names].map(({ text }) => text))],
    program: party.programs.length === 0 ? null : party.programs.join(', '),
    listedAt: party.listedAt,
    assetFreeze: known?.details.assetFreeze ?? null,
    measures: known?.details.measures ?? [],
    sourceUrl: rules.sources.partyUrl(list, party.entityId),
  };
}

async function proposals(services: Services, clock: Terminal['clock']): Promise<ProposedLink[]> {
  const { store, rules } = services;
  const exchanges = loadExchanges(loadRegisterFacts());
  const organisations = await designatedOrganisations(services);
  const ofExchanges = exchanges.flatMap(({ entity, name, aliases, legalEntities }) =>
    entity === null
      ? []
      : [name, ...aliases, ...legalEntities.map((one) => one.name)].map((one) => ({ entity, name: one })),
  );
  return proposeLinks({
    entities: labelledEntities(store),
    otherNames: [...rules.entities.names(), ...ofExchanges],
    organisations,
    parties: rules.parties(),
    fold: (name) => [...new Set([foldName(name), foldWithoutForm(name)])],
    today: isoTime(clock.now()).slice(0, 10),
  });
}

const proposalLines = ({ links }: { readonly links: readonly ProposedLink[] }): readonly string[] =>
  links.length === 0
    ? ['No designated organisation has the name of an entity that is not linked to it.']
    : [
        ...links.map((link) => JSON.stringify(link)),
        `${links.length} proposed ${links.length === 1 ? 'link' : 'links'}. Compare each with the list, fill in checkedBy, and add it to links[] of the file that ASSAY_ENTITY_PARTIES names.`,
      ];

/** Adds the group `entities`. */
export function addEntitiesCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const entities = program
    .command('entities')
    .description('manage links between entities of labels and parties of sanctions lists');

  entities
    .command('list')
    .description('list the links in use, and the current listing of each')
    .option('--json', 'answer as JSON')
    .action((options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, linkStatuses(services()), statusLines);
    });

  entities
    .command('propose')
    .description(
      'propose links of designated organisations and entities of the same name, as rows to review; applies none',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const links = await proposals(services(), terminal.clock);
      answer(terminal, options.json ?? false, { links }, proposalLines);
    });
}
