/**
 * Reads the UN Security Council's consolidated list (XML). The list violates its own schema, so elements are accepted in
 * any order and number.
 */
import { readCountries } from '../countries.ts';
import { readDate, readDates, yearRange } from '../dates.ts';
import { findWallets, withUnreadableWallets } from '../free-text.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import { listParts } from '../open.ts';
import {
  type DesignatedParty,
  type PartyName,
  partyOfRow,
  type SourceReader,
  type SourceRecord,
} from '../records.ts';
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
    // `na` in small letters: not available.
    ['FIRST_NAME', 'SECOND_NAME', 'THIRD_NAME', 'FOURTH_NAME']
      .map((tag) => textOf(element, tag))
      .filter((text) => text !== 'na'),
  );
  if (entityId === '' || primary === '') {
    return {
      type: 'reject',
      reason: 'The entry has no DATAID or no name.',
      text: element.children
        .map((child) => `${child.name}=${child.text}`)
        .join(' ')
        .slice(0, 500),
      ...partyOfRow(entityId),
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
    identifiers.add(identifierKindOf(textOf(document, 'TYPE_OF_DOCUMENT'), schema), numberOf(document));
  const party: DesignatedParty<'UN'> = {
    type: 'party',
    list: 'UN',
    entityId,
    schema,
    ...identifiers.property(),
    names: [
      ...separateNames(primary).map(
        (text, index): PartyName => ({
          text,
          kind: index === 0 ? 'primary' : 'alias',
          weak: false,
          script: null,
        }),
      ),
      ...childrenOf(element, 'NAME_ORIGINAL_SCRIPT')
        .map((name) => name.text.replace(/\s+/g, ' ').trim())
        .filter((text) => text !== '')
        .map((text): PartyName => ({ text, kind: 'alias', weak: false, script: 'original' })),
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
  const quality = textOf(alias, 'QUALITY').toLowerCase();
  const kind = quality.startsWith('f.k.a') ? 'former' : 'alias';
  return separateNames(textOf(alias, 'ALIAS_NAME')).map((text) => ({
    text,
    kind,
    weak: quality === 'low',
    script: isOtherScript(text) ? 'original' : null,
  }));
}

const isLatin = (text: string): boolean => /\p{Script=Latin}/u.test(text);
const isOtherScript = (text: string): boolean => /\p{L}/u.test(text) && !isLatin(text);
const isMixed = (text: string): boolean => isLatin(text) && /[^\P{L}\p{Script=Latin}]/u.test(text);

/** Between two names: a semicolon, the letter of a list (`b)`), or a change between Latin and another script. */
const BETWEEN_NAMES =
  /;|\s[b-z]\)\s|(?<=\p{Script=Latin})\s(?=[^\P{L}\p{Script=Latin}])|(?<=[^\P{L}\p{Script=Latin}])\s(?=\p{Script=Latin})/u;

/** Words about a name that the list prints within it. */
const NOTES = /\(original script\)|\(previously listed as\)|^original script:|\s-\s*sub-unit name$/gi;

/**
 * Returns the names in one element of the list, which may print several: separated by semicolons (`Halen Bakhtiar; Haleh Bakhtiari`), or
 * one with its spellings in another script in parentheses (`حسن غول (Hassan Ghul; Hassan Gul)`). Parentheses that hold anything else, such
 * as an abbreviation, stay with their name.
 */
function separateNames(printed: string): string[] {
  const text = printed.replace(/\s+/g, ' ').replace(NOTES, ' ').trim();
  if (text === '') return [];
  if (!text.includes(';') && !isMixed(text)) return [text];
  let outside = '';
  const inside: string[] = [];
  let from = -1;
  let depth = 0;
  for (const [at, char] of [...text].entries()) {
    if (char === '(' && depth++ === 0) from = at;
    if (depth === 0) outside += char;
    if (char !== ')' || depth === 0 || --depth > 0) continue;
    const group = [...text].slice(from + 1, at).join('');
    if (group.includes(';') || isMixed(group) || isLatin(group) !== isLatin(outside)) inside.push(group);
    else outside += `(${group})`;
  }
  if (depth > 0) outside += [...text].slice(from + 1).join('');
  return [
    ...outside
      .split(BETWEEN_NAMES)
      .map((name) => name.replace(/\s+/g, ' ').replace(/^[\s,]+|[\s,]+$/g, ''))
      .filter((name) => name !== ''),
    ...inside.flatMap(separateNames),
  ];
}

/** Returns the number of a document. Some are printed in the second type or in the note, before the words about their issue. */
function numberOf(document: XmlElement): string {
  const number = textOf(document, 'NUMBER');
  if (number !== '') return number;
  const second = textOf(document, 'TYPE_OF_DOCUMENT2');
  const words = /\d/.test(second) ? second : textOf(document, 'NOTE');
  return (words.split(/,?\s*\b(?:issued|under name|expire[sd]|valid until)\b/i)[0] ?? '').replace(
    /^SSN\s/,
    '',
  );
}

function readBirth(birth: XmlElement): string[] {
  const range = [textOf(birth, 'FROM_YEAR'), textOf(birth, 'TO_YEAR')].map(Number);
  const [from = 0, to = 0] = range;
  if (from > 0 || to > 0) return yearRange(from || to, to || from);
  const date = readDate(textOf(birth, 'DATE')) ?? readDate(textOf(birth, 'YEAR'));
  // A month is printed in the note (`Nov. 1973`).
  return date === null ? readDates(textOf(birth, 'NOTE')) : [date];
}
