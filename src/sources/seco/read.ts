/** Reads SECO's Swiss list (XML). Delisted targets stay in the file: the newest modification of a target decides. */
import { readCountries } from '../countries.ts';
import { partialDate, readDate } from '../dates.ts';
import { findWallets, withUnreadableWallets } from '../free-text.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import { listParts } from '../open.ts';
import {
  type PartyName,
  type PartySchema,
  partyOfRow,
  type SourceReader,
  type SourceRecord,
} from '../records.ts';
import { childrenOf, readXml, textOf, type XmlElement } from '../xml.ts';

const WANTED = {
  roots: ['swiss-sanctions-list'],
  elements: new Set(['sanctions-program', 'target', 'place']),
};

/** Yields the header, then the parties as the file is read. Throws INVALID_FILE, possibly after some parties. */
export const secoReader: SourceReader<'CH'> = (files) => readSeco(files);

async function* readSeco(files: readonly string[]): AsyncGenerator<SourceRecord<'CH'>, void, undefined> {
  for (const file of files) {
    for (const part of await listParts(file)) {
      const programOfSet = new Map<string, string>();
      const countryOfPlace = new Map<string, string>();
      let listedOn: string | null = null;
      for await (const element of readXml(part, WANTED)) {
        if (element.name === 'swiss-sanctions-list') {
          const date = readDate(element.attributes.date ?? '');
          listedOn = date;
          // If a delta file counted as the whole list, it would delist every party that it does not repeat.
          const whole = element.attributes['list-type'] !== 'delta';
          yield { type: 'header', lists: whole ? ['CH'] : [], publishedAt: date, layout: 'SECO_XML' };
        } else if (element.name === 'sanctions-program') {
          const keys = childrenOf(element, 'program-key');
          const key = keys.find((one) => one.attributes.lang === 'eng') ?? keys[0];
          for (const set of childrenOf(element, 'sanctions-set')) {
            programOfSet.set(set.attributes.ssid ?? '', key?.text ?? set.text);
          }
        } else if (element.name === 'place') {
          countryOfPlace.set(element.attributes.ssid ?? '', countryText(element) ?? '');
        } else {
          yield* withUnreadableWallets(
            readTarget(element, { programOfSet, countryOfPlace, listedOn, file: part.name }),
          );
        }
      }
    }
  }
}

const countryText = (element: XmlElement): string | undefined => {
  const [country] = childrenOf(element, 'country');
  return country?.attributes['iso-code'] || country?.text;
};

interface TargetContext {
  readonly programOfSet: ReadonlyMap<string, string>;
  readonly countryOfPlace: ReadonlyMap<string, string>;
  /** Date of the list; null if it has none. */
  readonly listedOn: string | null;
  readonly file: string;
}

const KINDS: readonly { readonly tag: string; readonly schema: PartySchema }[] = [
  { tag: 'individual', schema: 'Person' },
  { tag: 'entity', schema: 'Organization' },
  { tag: 'object', schema: 'Unknown' },
];
const OBJECTS: Readonly<Record<string, PartySchema>> = { vessel: 'Vessel', aircraft: 'Aircraft' };

function readTarget(target: XmlElement, context: TargetContext): SourceRecord<'CH'> {
  const provenance = { file: context.file, line: target.line };
  const entityId = target.attributes.ssid ?? '';
  const kind = KINDS.find(({ tag }) => childrenOf(target, tag).length > 0);
  const [subject] = kind ? childrenOf(target, kind.tag) : [];
  const identities = childrenOf(subject, 'identity');
  const names = identities.flatMap((identity) => childrenOf(identity, 'name').flatMap(readName));
  if (entityId === '' || names.length === 0 || !subject || !kind) {
    return {
      type: 'reject',
      reason: 'The target has no ssid or no name.',
      text: JSON.stringify(target.attributes).slice(0, 500),
      ...partyOfRow(entityId),
      provenance,
    };
  }
  const remarks = [
    ...childrenOf(target, 'foreign-identifier').map((id) => `Foreign identifier: ${id.text}`),
    ...['justification', 'relation', 'other-information'].flatMap((tag) =>
      childrenOf(subject, tag).map((one) => one.text),
    ),
    ...identities.flatMap((identity) =>
      childrenOf(identity, 'identification-document').map((document) => textOf(document, 'number')),
    ),
  ].filter((text) => text !== '');
  const addresses = identities.flatMap((identity) => childrenOf(identity, 'address'));
  // Older editions have a single set, as an attribute.
  const sets = [
    target.attributes['sanctions-set-id'] ?? '',
    ...childrenOf(target, 'sanctions-set-id').map((set) => set.text),
  ];
  const schema = OBJECTS[subject.attributes['object-type'] ?? ''] ?? kind.schema;
  const identifiers = new IdentifierList();
  for (const document of identities.flatMap((identity) => childrenOf(identity, 'identification-document')))
    identifiers.add(
      identifierKindOf((document.attributes['document-type'] ?? '').replaceAll('-', ' '), schema),
      textOf(document, 'number'),
    );
  const programs = sets.filter((set) => set !== '').map((set) => context.programOfSet.get(set) ?? set);
  return {
    type: 'party',
    list: 'CH',
    entityId,
    schema,
    ...identifiers.property(),
    names,
    programs: [...new Set(programs)],
    birthDates: identities.flatMap((identity) =>
      childrenOf(identity, 'day-month-year')
        .map(({ attributes: { year, month, day } }) => partialDate(Number(year), Number(month), Number(day)))
        .filter((date) => date !== null),
    ),
    countries: readCountries([
      ...identities.flatMap((identity) => childrenOf(identity, 'nationality').map(countryText)),
      ...addresses.map((address) => context.countryOfPlace.get(address.attributes['place-id'] ?? '')),
    ]),
    ...listing(target, context.listedOn),
    addresses: findWallets(remarks.join('\n')).map((wallet) => ({ ...wallet, provenance })),
    remarks: remarks.length === 0 ? null : remarks.join('\n'),
    provenance,
  };
}

/**
 * Returns the date of the first listing, and the date of delisting if the newest modification is a delisting. If two modifications
 * have the same date, the first in the file is the newer. A delisting that takes effect after the date of the list does not count yet:
 * a later list says that it did.
 */
function listing(
  target: XmlElement,
  listedOn: string | null,
): { listedAt: string | null; delistedAt: string | null } {
  const modifications = childrenOf(target, 'modification')
    .map(({ attributes }) => ({
      type: attributes['modification-type'] ?? '',
      date:
        readDate(attributes['effective-date'] ?? '') ??
        readDate(attributes['publication-date'] ?? '') ??
        readDate(attributes['enactment-date'] ?? '') ??
        '',
    }))
    .filter(({ date }) => date !== '')
    .sort((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : 0));
  const newest = modifications.find(
    ({ type, date }) => type !== 'de-listed' || listedOn === null || date <= listedOn,
  );
  const listed = modifications.filter(({ type }) => type === 'listed').at(-1);
  return {
    listedAt: listed?.date ?? null,
    delistedAt: newest?.type === 'de-listed' ? newest.date : null,
  };
}

const NAME_KINDS: Readonly<Record<string, PartyName['kind']>> = {
  'primary-name': 'primary',
  'formerly-known-as': 'former',
};

/** Returns the name as printed, and one more name for each spelling (language, script) in which its parts have a variant. */
function readName(name: XmlElement): PartyName[] {
  const parts = [...childrenOf(name, 'name-part')].sort(
    (a, b) => Number(a.attributes.order ?? 0) - Number(b.attributes.order ?? 0),
  );
  const kind = NAME_KINDS[name.attributes['name-type'] ?? ''] ?? 'alias';
  const weak = name.attributes.quality === 'low';
  const base = parts.map((part) => textOf(part, 'value'));
  const spellings = new Map<string, { script: string | null; words: string[] }>();
  parts.forEach((part, index) => {
    const seen = new Map<string, number>();
    for (const variant of childrenOf(part, 'spelling-variant')) {
      const { lang = '', script = '' } = variant.attributes;
      const nth = seen.get(lang + script) ?? 0;
      seen.set(lang + script, nth + 1);
      const key = `${lang} ${script} ${nth}`;
      const spelling = spellings.get(key) ?? { script: script || null, words: [...base] };
      spelling.words[index] = variant.text;
      spellings.set(key, spelling);
    }
  });
  const print = (words: readonly string[]): string => words.filter((word) => word !== '').join(' ');
  const texts = [
    { text: print(base), kind, script: null as string | null },
    ...[...spellings.values()].map(({ script, words }) => ({
      text: print(words),
      kind: kind === 'primary' ? ('alias' as const) : kind,
      script,
    })),
  ];
  return texts.filter(({ text }) => text !== '').map((one) => ({ ...one, weak }));
}
