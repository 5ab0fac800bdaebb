/** The ADVANCED.XML layout (SDN_ADVANCED, CONS_ADVANCED): values are references to value sets or to other sections of the file. */
import { readCountries, readCountry } from '../countries.ts';
import { partialDate, yearRange } from '../dates.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import type { SourcePart } from '../open.ts';
import {
  type DesignatedParty,
  type ListedAddress,
  type PartyName,
  type PartySchema,
  type Provenance,
  partyOfRow,
  type Reject,
  type SourceRecord,
} from '../records.ts';
import { childOf, childrenOf, descend, readXml, textOf, type XmlElement } from '../xml.ts';
import { digitalCurrency, type OfacList } from './lists.ts';

const SECTIONS = new Set([
  'DateOfIssue',
  'ReferenceValueSets',
  'Location',
  'IDRegDocument',
  'DistinctParty',
  'SanctionsEntry',
]);

/** Maps the ids of one value set to texts. */
type Values = ReadonlyMap<string, string>;

interface References {
  readonly aliasTypes: Values;
  readonly countries: Values;
  readonly details: Values;
  readonly documents: Values;
  readonly features: Values;
  readonly lists: Values;
  readonly locationParts: Values;
  readonly nameParts: Values;
  readonly partySubTypes: Values;
  readonly scripts: Values;
}

/** Numbers of registers and documents, by the identity that they name. */
type Documents = Map<string, { readonly type: string; readonly number: string }[]>;

/** A party before its entry is known; entries come at the end of the file. */
type Profile = Omit<DesignatedParty, 'list' | 'programs' | 'listedAt'>;

interface Entry {
  readonly list: OfacList;
  readonly listedAt: string | null;
  readonly programs: readonly string[];
}

/** Name parts in the order in which OFAC's own search prints them: family name first, then given names. */
const NAME_PART_ORDER = [
  'Last Name',
  'Maiden Name',
  'First Name',
  'Middle Name',
  'Patronymic',
  'Matronymic',
  'Nickname',
];
const COUNTRY_FEATURES = new Set([
  'Location',
  'Nationality Country',
  'Citizenship Country',
  'Nationality of Registration',
  'Registration Country',
  'Vessel Flag',
]);
/** Stored in their own fields, or useless in a remark. */
const FEATURES_NOT_IN_REMARKS = new Set([...COUNTRY_FEATURES, 'Birthdate']);

/**
 * Yields the header and the parties of one file. Parties are kept until the end of the file, which contains their lists and programmes;
 * they are a fraction of it (17,600 parties take about 60 MB). Throws INVALID_FILE.
 */
export async function* readAdvanced(
  part: SourcePart,
): AsyncGenerator<SourceRecord<OfacList>, void, undefined> {
  let publishedAt: string | null = null;
  let references: References = referencesOf(undefined);
  const countryOfLocation = new Map<string, string>();
  const documents: Documents = new Map();
  const profiles: Profile[] = [];
  const entries = new Map<string, Entry[]>();
  const rejects: Reject[] = [];

  for await (const element of readXml(part, { roots: ['Sanctions'], elements: SECTIONS })) {
    switch (element.name) {
      case 'DateOfIssue':
        publishedAt = dateOf(element);
        break;
      case 'ReferenceValueSets':
        references = referencesOf(element);
        break;
      case 'Location': {
        const country = locationCountry(element, references);
        if (country !== null) countryOfLocation.set(detached(element.attributes.ID ?? ''), country);
        break;
      }
      case 'IDRegDocument': {
        const identity = detached(element.attributes.IdentityID ?? '');
        const type = references.documents.get(element.attributes.IDRegDocTypeID ?? '') ?? '';
        const known = documents.get(identity) ?? [];
        for (const number of childrenOf(element, 'IDRegistrationNo'))
          known.push({ type, number: detached(number.text) });
        documents.set(identity, known);
        break;
      }
      case 'DistinctParty': {
        const profile = readProfile(element, references, countryOfLocation, documents, part.name);
        if (profile) profiles.push(profile);
        else rejects.push(rejectOf(element, part.name));
        break;
      }
      case 'SanctionsEntry': {
        const profileId = detached(element.attributes.ProfileID ?? '');
        const known = entries.get(profileId);
        const entry = readEntry(element, references);
        if (known) known.push(entry);
        else entries.set(profileId, [entry]);
        break;
      }
    }
  }

  // A party of the SDN list can also be on others, so the file is the list that most of its entries name.
  const all = [...entries.values()].flat();
  const sdn = all.filter((entry) => entry.list === 'OFAC_SDN').length;
  const list: OfacList = sdn * 2 >= all.length ? 'OFAC_SDN' : 'OFAC_CONS';
  yield {
    type: 'header',
    lists: [list],
    publishedAt,
    layout: list === 'OFAC_SDN' ? 'SDN_ADVANCED' : 'CONS_ADVANCED',
  };
  yield* rejects;
  for (const profile of profiles) {
    const own = entries.get(profile.entityId);
    if (!own) {
      yield {
        type: 'reject',
        reason: 'The party has no entry on any list of the file.',
        text: `${profile.entityId} ${profile.names[0]?.text ?? ''}`.slice(0, 500),
        entityId: profile.entityId,
        provenance: profile.provenance,
      };
      continue;
    }
    const main = own.find((entry) => entry.list === list) ?? own[0];
    yield {
      ...profile,
      list,
      listedAt: main?.listedAt ?? null,
      programs: [...new Set(own.flatMap((entry) => entry.programs))],
    };
  }
}

/**
 * Returns a copy that shares no memory with the original text: V8 keeps a whole chunk of the file alive for a slice of it, so the values
 * that are kept to the end would keep the whole file in memory.
 */
const detached = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');

function referencesOf(sets: XmlElement | undefined): References {
  const values = (set: string, item: string, read = (one: XmlElement): string => one.text): Values =>
    new Map(descend(sets, set, item).map((one) => [one.attributes.ID ?? '', detached(read(one))]));
  return {
    aliasTypes: values('AliasTypeValues', 'AliasType'),
    countries: values(
      'CountryValues',
      'Country',
      (one) => one.attributes.ISO2 ?? readCountry(one.text) ?? one.text,
    ),
    details: values('DetailReferenceValues', 'DetailReference'),
    documents: values('IDRegDocTypeValues', 'IDRegDocType'),
    features: values('FeatureTypeValues', 'FeatureType'),
    lists: values('ListValues', 'List'),
    locationParts: values('LocPartTypeValues', 'LocPartType'),
    nameParts: values('NamePartTypeValues', 'NamePartType'),
    partySubTypes: values('PartySubTypeValues', 'PartySubType', (one) =>
      one.text === 'Unknown' ? `Party type ${one.attributes.PartyTypeID}` : one.text,
    ),
    scripts: values('ScriptValues', 'Script', (one) => {
      const code = one.attributes.ScriptCode ?? one.text;
      return ISO_SCRIPTS[code] ?? code;
    }),
  };
}

/** ISO 15924 codes of the scripts for which OFAC's code is a word. */
const ISO_SCRIPTS: Readonly<Record<string, string>> = {
  Hebrew: 'Hebr',
  Japanese: 'Jpan',
  Korean: 'Kore',
  Latin: 'Latn',
};

const SCHEMAS: Readonly<Record<string, PartySchema>> = {
  'Party type 1': 'Person',
  'Party type 2': 'Organization',
  Vessel: 'Vessel',
  Aircraft: 'Aircraft',
};

function dateOf(element: XmlElement | undefined): string | null {
  return partialDate(
    Number(textOf(element, 'Year')),
    Number(textOf(element, 'Month')),
    Number(textOf(element, 'Day')),
  );
}

/**
 * Returns the country of a location. Addresses refer to it; nationalities and citizenships refer to locations that only print its name, as
 * a part of unknown type.
 */
function locationCountry(location: XmlElement, references: References): string | null {
  for (const tag of ['LocationCountry', 'LocationAreaCode']) {
    const element = childOf(location, tag);
    const id = element?.attributes.CountryID ?? element?.attributes.AreaCodeID;
    const country = id === undefined ? undefined : references.countries.get(id);
    if (country !== undefined) return readCountry(country);
  }
  for (const part of childrenOf(location, 'LocationPart')) {
    if (references.locationParts.get(part.attributes.LocPartTypeID ?? '') !== 'Unknown') continue;
    for (const { text } of descend(part, 'LocationPartValue', 'Value')) {
      const country = readCountry(text);
      if (country !== null) return country;
    }
  }
  return null;
}

function readProfile(
  party: XmlElement,
  references: References,
  countryOfLocation: ReadonlyMap<string, string>,
  documents: Documents,
  file: string,
): Profile | null {
  const profile = childOf(party, 'Profile');
  const entityId = detached(profile?.attributes.ID ?? '');
  const names = childrenOf(profile, 'Identity')
    .flatMap((identity) => readNames(identity, references))
    .sort((a, b) => Number(b.kind === 'primary') - Number(a.kind === 'primary'));
  if (profile === undefined || entityId === '' || names.length === 0) return null;

  const schema =
    SCHEMAS[references.partySubTypes.get(profile.attributes.PartySubTypeID ?? '') ?? ''] ?? 'Unknown';
  const identifiers = new IdentifierList();
  for (const identity of childrenOf(profile, 'Identity')) {
    for (const { type, number } of documents.get(identity.attributes.ID ?? '') ?? [])
      identifiers.add(identifierKindOf(type, schema), number);
  }
  const birthDates = new Set<string>();
  const countries: string[] = [];
  const addresses: ListedAddress[] = [];
  const remarks: string[] = [];
  for (const feature of childrenOf(profile, 'Feature')) {
    const type = references.features.get(feature.attributes.FeatureTypeID ?? '') ?? '';
    const currency = digitalCurrency(type);
    for (const version of childrenOf(feature, 'FeatureVersion')) {
      const provenance: Provenance = { file, line: version.line };
      const details = childrenOf(version, 'VersionDetail')
        .map(
          (detail) => detail.text || references.details.get(detail.attributes.DetailReferenceID ?? '') || '',
        )
        .filter((text) => text !== '');
      if (currency !== null) {
        // One without an address stays: it is rejected, and not a wallet that was removed.
        for (const text of details.length === 0 ? [''] : details) {
          addresses.push({ address: detached(text), currency, provenance });
        }
        continue;
      }
      if (/tail number/i.test(type))
        for (const text of details) identifiers.add('tailNumber', detached(text));
      if (type === 'Birthdate') for (const date of readPeriod(version)) birthDates.add(date);
      if (COUNTRY_FEATURES.has(type)) {
        for (const location of childrenOf(version, 'VersionLocation')) {
          const country = countryOfLocation.get(location.attributes.LocationID ?? '');
          if (country !== undefined) countries.push(country);
        }
        if (type !== 'Location') countries.push(...details);
      }
      if (!FEATURES_NOT_IN_REMARKS.has(type)) {
        for (const text of details) remarks.push(`${type.replace(/[\s:-]+$/, '')}: ${text}`);
      }
    }
  }
  const comment = textOf(party, 'Comment');
  if (comment !== '') remarks.push(comment);
  return {
    type: 'party',
    entityId,
    schema,
    ...identifiers.property(),
    names,
    birthDates: [...birthDates],
    countries: readCountries(countries).map(detached),
    delistedAt: null,
    addresses,
    remarks: remarks.length === 0 ? null : detached(remarks.join('; ')),
    provenance: { file, line: party.line },
  };
}

function readNames(identity: XmlElement, references: References): PartyName[] {
  const partTypes = new Map(
    descend(identity, 'NamePartGroups', 'MasterNamePartGroup', 'NamePartGroup').map((group) => [
      group.attributes.ID ?? '',
      references.nameParts.get(group.attributes.NamePartTypeID ?? '') ?? '',
    ]),
  );
  const rank = (part: XmlElement): number => {
    const at = NAME_PART_ORDER.indexOf(partTypes.get(part.attributes.NamePartGroupID ?? '') ?? '');
    return at < 0 ? NAME_PART_ORDER.length : at;
  };
  const names: PartyName[] = [];
  for (const alias of childrenOf(identity, 'Alias')) {
    const type = references.aliasTypes.get(alias.attributes.AliasTypeID ?? '') ?? '';
    for (const documented of childrenOf(alias, 'DocumentedName')) {
      const parts = descend(documented, 'DocumentedNamePart', 'NamePartValue').filter(
        (part) => part.text !== '',
      );
      if (parts.length === 0) continue;
      const ordered = [...parts].sort((a, b) => rank(a) - rank(b)).map((part) => part.text);
      const script = references.scripts.get(parts[0]?.attributes.ScriptID ?? '') ?? null;
      names.push({
        text: detached(joinName(ordered, ordered.length > 1 && parts.some((part) => rank(part) === 0))),
        // The primary name in another script is documented in addition to the Latin one.
        kind: kindOf(type, alias.attributes.Primary === 'true' && (script === null || script === 'Latn')),
        weak: alias.attributes.LowQuality === 'true',
        script,
      });
    }
  }
  return names;
}

/** Joins name parts: `LAST, First Middle`, as OFAC prints people; all other names with spaces. */
function joinName(parts: readonly string[], withComma: boolean): string {
  const [family = '', ...given] = parts;
  return withComma ? `${family}, ${given.join(' ')}` : parts.join(' ');
}

function kindOf(aliasType: string, primary: boolean): PartyName['kind'] {
  if (primary) return 'primary';
  return aliasType === 'F.K.A.' ? 'former' : 'alias';
}

/** Returns the possible dates of a DatePeriod: one day, one month, or the years from the earliest start to the latest end. */
function readPeriod(version: XmlElement): string[] {
  return childrenOf(version, 'DatePeriod').flatMap((period) => {
    const from = dateOf(descend(period, 'Start', 'From')[0]);
    const to = dateOf(descend(period, 'End', 'To')[0]) ?? from;
    if (from === null || to === null) return [from, to].filter((date) => date !== null);
    if (from === to) return [from];
    if (from.slice(0, 7) === to.slice(0, 7)) return [from.slice(0, 7)];
    return yearRange(Number(from.slice(0, 4)), Number(to.slice(0, 4)));
  });
}

function readEntry(element: XmlElement, references: References): Entry {
  const programs = childrenOf(element, 'SanctionsMeasure')
    .map((measure) => textOf(measure, 'Comment'))
    .filter((text) => text !== '');
  const dates = descend(element, 'EntryEvent', 'Date')
    .map(dateOf)
    .filter((date) => date !== null)
    .sort();
  return {
    list: references.lists.get(element.attributes.ListID ?? '') === 'SDN List' ? 'OFAC_SDN' : 'OFAC_CONS',
    listedAt: dates[0] ?? null,
    programs: programs.map(detached),
  };
}

const rejectOf = (party: XmlElement, file: string): Reject => ({
  type: 'reject',
  reason: 'The party has no profile id or no name.',
  text: `${party.name} ${JSON.stringify(party.attributes)}`.slice(0, 500),
  ...partyOfRow(childOf(party, 'Profile')?.attributes.ID ?? party.attributes.FixedRef ?? ''),
  provenance: { file, line: party.line },
});
