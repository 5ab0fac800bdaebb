/** The plain SDN.XML layout, which CONSOLIDATED.XML shares: one `sdnEntry` per party, without references. */
import { readCountries } from '../countries.ts';
import { readDates, readUsDate } from '../dates.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import type { SourcePart } from '../open.ts';
import {
  type DesignatedParty,
  type PartyName,
  type PartySchema,
  partyOfRow,
  type Reject,
  type SourceRecord,
} from '../records.ts';
import { childOf, childrenOf, descend, readXml, textOf, type XmlElement } from '../xml.ts';
import { digitalCurrency, listOfPrograms, type OfacList } from './lists.ts';

const SCHEMAS: Readonly<Record<string, PartySchema>> = {
  individual: 'Person',
  entity: 'Organization',
  vessel: 'Vessel',
  aircraft: 'Aircraft',
};

/**
 * Yields the header and the parties of one file after its end, because only all programmes together distinguish the SDN
 * list from the consolidated one. Throws INVALID_FILE.
 */
export async function* readSdnXml(part: SourcePart): AsyncGenerator<SourceRecord<OfacList>, void, undefined> {
  let publishedAt: string | null = null;
  const parties: Omit<DesignatedParty, 'list'>[] = [];
  const rejects: Reject[] = [];
  const wanted = { roots: ['sdnList'], elements: new Set(['publshInformation', 'sdnEntry']) };
  for await (const element of readXml(part, wanted)) {
    if (element.name === 'publshInformation') publishedAt = readUsDate(textOf(element, 'Publish_Date'));
    if (element.name !== 'sdnEntry') continue;
    const party = readEntry(element, part.name);
    if (party) parties.push(party);
    else {
      rejects.push({
        type: 'reject',
        reason: 'The entry has no uid or no name.',
        text: element.children
          .map((child) => `${child.name}=${child.text}`)
          .join(' ')
          .slice(0, 500),
        ...partyOfRow(textOf(element, 'uid')),
        provenance: { file: part.name, line: element.line },
      });
    }
  }
  const list = listOfPrograms(parties.map((party) => party.programs));
  yield {
    type: 'header',
    lists: [list],
    publishedAt,
    layout: list === 'OFAC_SDN' ? 'SDN_XML' : 'CONSOLIDATED_XML',
  };
  yield* rejects;
  for (const party of parties) yield { ...party, list };
}

/** Returns the name as OFAC prints people: `LAST, First`. */
const nameOf = (element: XmlElement): string =>
  [textOf(element, 'lastName'), textOf(element, 'firstName')].filter((part) => part !== '').join(', ');

function readEntry(entry: XmlElement, file: string): Omit<DesignatedParty, 'list'> | null {
  const entityId = textOf(entry, 'uid');
  const primary = nameOf(entry);
  if (entityId === '' || primary === '') return null;
  const ids = descend(entry, 'idList', 'id').map((id) => ({
    type: textOf(id, 'idType'),
    number: textOf(id, 'idNumber'),
    line: id.line,
  }));
  // One without an address stays: it is rejected, and not a wallet that was removed.
  const wallets = ids.filter((id) => digitalCurrency(id.type) !== null);
  const remarks = [
    textOf(entry, 'title') && `Title: ${textOf(entry, 'title')}`,
    ...ids
      .filter((id) => digitalCurrency(id.type) === null && id.number !== '')
      .map((id) => `${id.type.replace(/[\s:-]+$/, '')}: ${id.number}`),
    textOf(entry, 'remarks'),
  ].filter((text) => text !== '');
  const schema = SCHEMAS[textOf(entry, 'sdnType').toLowerCase()] ?? 'Unknown';
  const identifiers = new IdentifierList();
  for (const { type, number } of ids) identifiers.add(identifierKindOf(type, schema), number);
  return {
    type: 'party',
    entityId,
    schema,
    ...identifiers.property(),
    names: [
      { text: primary, kind: 'primary', weak: false, script: null },
      ...descend(entry, 'akaList', 'aka').flatMap(readAlias),
    ],
    programs: descend(entry, 'programList', 'program').map((program) => program.text),
    birthDates: descend(entry, 'dateOfBirthList', 'dateOfBirthItem').flatMap((item) =>
      readDates(textOf(item, 'dateOfBirth')),
    ),
    countries: readCountries([
      ...descend(entry, 'nationalityList', 'nationality', 'country').map((country) => country.text),
      ...descend(entry, 'citizenshipList', 'citizenship', 'country').map((country) => country.text),
      ...descend(entry, 'addressList', 'address', 'country').map((country) => country.text),
      ...childrenOf(childOf(entry, 'vesselInfo'), 'vesselFlag').map((flag) => flag.text),
    ]),
    listedAt: null,
    delistedAt: null,
    addresses: wallets.map((id) => ({
      address: id.number,
      currency: digitalCurrency(id.type),
      provenance: { file, line: id.line },
    })),
    remarks: remarks.length === 0 ? null : remarks.join('; '),
    provenance: { file, line: entry.line },
  };
}

function readAlias(aka: XmlElement): PartyName[] {
  const text = nameOf(aka);
  if (text === '') return [];
  const former = textOf(aka, 'type').toLowerCase().startsWith('f.k.a');
  return [
    {
      text,
      kind: former ? 'former' : 'alias',
      weak: textOf(aka, 'category').toLowerCase() === 'weak',
      script: null,
    },
  ];
}
