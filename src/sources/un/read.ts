/**
 * Reads the UN Security Council's consolidated list (XML). The list violates its own schema, so elements are accepted in
 * any order and number.
 */
import { readCountries } from '../countries.ts';
import { readDate, yearRange } from '../dates.ts';
import { findWallets, withUnreadableWallets } from '../free-text.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import { listParts } from '../open.ts';
import type { DesignatedParty, PartyName, SourceReader, SourceRecord } from '../records.ts';
import { childrenOf, descend, readXml, textOf, type XmlElement } from '../xml.ts';

const WANTED = { roots: ['CONSOLIDATED_LIST'], elements: new Set(['INDIVIDUAL', 'ENTITY']) };

/** Yields the header, then the parties as the file is read. Throws INVALID_FILE, possibly after some parties. */
export const unReader: SourceReader<'UN'> = (files) => readUn(files);

async function* readUn(files: readonly string[]): AsyncGenerator<SourceRecord<'UN'>, void, undefined> {
  for (const file of files) {
    for (const part of await listParts(file)) {
      for await (const element of readXml(part, WANTED)) {
        if (element.name === 'CONSOLIDATED_LIST') {
          const generated = element.attributes.dateGenerated ?? '';
          yield { type: 'header', lists: ['UN'], publishedAt: readDate(generated), layout: 'UN_XML' };
          continue;
        }
        yield* withUnreadableWallets(readParty(element, part.name));
      }
    }
  }
}

const joined = (parts: readonly string[]): string =>
  parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' ');

function readParty(element: XmlElement, file: string): SourceRecord<'UN'> {
  const provenance = { file, line: element.line };
  const entityId = textOf(element, 'DATAID');
  const primary = joined(
    ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME'].map((tag) => textOf(element, tag)),
  );
  if (entityId === '' || primary === '') {
    return {
      type: 'reject',
      reason: 'The entry has no DATAID or no name.',
      text: element.children
        .map((child) => `${child.name}=${child.text}`)
        .join(' ')
        .slice(0, 500),
      provenance,
    };
  }
  const prefix = element.name;
  const aliases = childrenOf(element, `${prefix}_ALIAS`);
  const remarks = [
    textOf(element, 'REFERENCE_NUMBER') && `Reference: ${textOf(element, 'REFERENCE_NUMBER')}`,
    ...descend(element, 'DESIGNATION', 'VALUE').map((value) => `Designation: ${value.text}`),
    textOf(element, 'COMMENTS1'),
    ...aliases.map((alias) => textOf(alias, 'NOTE')),
    ...childrenOf(element, `${prefix}_ADDRESS`).map((address) => textOf(address, 'NOTE')),
    ...childrenOf(element, `${prefix}_DOCUMENT`).map((document) =>
      joined([textOf(document, 'TYPE_OF_DOCUMENT'), textOf(document, 'NUMBER'), textOf(document, 'NOTE')]),
    ),
  ].filter((text) => text !== '');
  const schema = prefix === 'INDIVIDUAL' ? 'Person' : 'Organization';
  const identifiers = new IdentifierList();
  for (const document of childrenOf(element, `${prefix}_DOCUMENT`))
    identifiers.add(
      identifierKindOf(textOf(document, 'TYPE_OF_DOCUMENT'), schema),
      textOf(document, 'NUMBER'),
    );
  const party: DesignatedParty<'UN'> = {
    type: 'party',
    list: 'UN',
    entityId,
    schema,
    ...identifiers.property(),
    names: [
      { text: primary, kind: 'primary', weak: false, script: null },
      ...childrenOf(element, 'NAME_ORIGINAL_SCRIPT')
        .filter((name) => name.text !== '')
        .map((name): PartyName => ({ text: name.text, kind: 'alias', weak: false, script: 'original' })),
      ...aliases.flatMap(readAlias),
    ],
    programs: [textOf(element, 'UN_LIST_TYPE')].filter((program) => program !== ''),
    birthDates: [
      ...new Set([
        ...childrenOf(element, 'INDIVIDUAL_DATE_OF_BIRTH').flatMap(readBirth),
        ...aliases.flatMap((alias) => readDate(textOf(alias, 'DATE_OF_BIRTH')) ?? []),
      ]),
    ],
    countries: readCountries([
      ...descend(element, 'NATIONALITY', 'VALUE').map((value) => value.text),
      ...childrenOf(element, `${prefix}_ADDRESS`).map((address) => textOf(address, 'COUNTRY')),
    ]),
    listedAt: readDate(textOf(element, 'LISTED_ON')),
    delistedAt: null,
    addresses: findWallets(remarks.join('\n')).map((wallet) => ({ ...wallet, provenance })),
    remarks: remarks.length === 0 ? null : remarks.join('\n'),
    provenance,
  };
  return party;
}

function readAlias(alias: XmlElement): PartyName[] {
  const text = textOf(alias, 'ALIAS_NAME');
  if (text === '') return [];
  const quality = textOf(alias, 'QUALITY').toLowerCase();
  return [
    { text, kind: quality.startsWith('f.k.a') ? 'former' : 'alias', weak: quality === 'low', script: null },
  ];
}

function readBirth(birth: XmlElement): string[] {
  const range = [textOf(birth, 'FROM_YEAR'), textOf(birth, 'TO_YEAR')].map(Number);
  const [from = 0, to = 0] = range;
  if (from > 0 || to > 0) return yearRange(from || to, to || from);
  return [readDate(textOf(birth, 'DATE')) ?? readDate(textOf(birth, 'YEAR'))].filter((date) => date !== null);
}
