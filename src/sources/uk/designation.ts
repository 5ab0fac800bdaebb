/** One UK designation from any layout, and its conversion to a party. */
import { readCountries } from '../countries.ts';
import { readDate, readDates } from '../dates.ts';
import { findWallets } from '../free-text.ts';
import { IdentifierList } from '../identifiers.ts';
import {
  type DesignatedParty,
  type IdentifierKind,
  type PartyName,
  type PartySchema,
  type Provenance,
  partyOfRow,
  type Reject,
} from '../records.ts';

export interface Designation {
  readonly uniqueId: string;
  readonly designatedOn: string;
  readonly names: readonly PartyName[];
  readonly regimes: readonly string[];
  /** `Individual`, `Entity` or `Ship`. */
  readonly kind: string;
  readonly births: readonly string[];
  readonly countries: readonly string[];
  readonly remarks: readonly string[];
  /** Measures as printed, several in one text separated by `|`. */
  readonly measures: readonly string[];
  /** The file's own flag for an asset freeze; null if the layout has none. */
  readonly assetFreeze: boolean | null;
  /** Numbers of passports and registers as printed, with the kind of their element or column. */
  readonly numbers: readonly (readonly [kind: IdentifierKind, text: string])[];
  readonly provenance: Provenance;
}

const SCHEMAS: Readonly<Record<string, PartySchema>> = {
  individual: 'Person',
  entity: 'Organization',
  ship: 'Vessel',
};

/** Joins the six name fields: given names first, then `Name 6`, the family or whole name. */
export const joinName = (given: readonly string[], family: string): string =>
  [...given, family]
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join(' ');

/** Returns a name with the kind and strength from the publisher's words; empty if the text is empty. */
export function nameOf(
  text: string,
  type: string,
  strength: string,
  script: string | null = null,
): PartyName[] {
  if (text === '') return [];
  const folded = type.trim().toLowerCase();
  const kind =
    folded === 'primary name' ? 'primary' : /^(?:f\.?k\.?a|formerly)/.test(folded) ? 'former' : 'alias';
  return [{ text, kind, weak: strength.trim().toLowerCase().startsWith('low'), script }];
}

/** Converts a designation to a party, or to a reject if it has no id or no name. */
export function partyOf(designation: Designation): DesignatedParty<'UK'> | Reject {
  const { provenance } = designation;
  const names = uniqueNames(designation.names);
  if (designation.uniqueId === '' || names.length === 0) {
    return {
      type: 'reject',
      reason: 'The designation has no unique id or no name.',
      text: `${designation.uniqueId} ${names[0]?.text ?? ''}`.slice(0, 500),
      ...partyOfRow(designation.uniqueId),
      provenance,
    };
  }
  const measures = measuresOf(designation.measures);
  const identifiers = new IdentifierList();
  for (const [kind, text] of designation.numbers) identifiers.add(kind, text);
  const remarks = [...new Set(designation.remarks.map((text) => text.trim()))].filter((text) => text !== '');
  return {
    type: 'party',
    list: 'UK',
    entityId: designation.uniqueId,
    schema: SCHEMAS[designation.kind.trim().toLowerCase()] ?? 'Unknown',
    names,
    programs: [...new Set(designation.regimes)].filter((regime) => regime !== ''),
    birthDates: [...new Set(designation.births.flatMap(readDates))],
    countries: readCountries(designation.countries),
    listedAt: readDate(designation.designatedOn),
    delistedAt: null,
    addresses: findWallets(remarks.join('\n')).map((wallet) => ({ ...wallet, provenance })),
    remarks: remarks.length === 0 ? null : remarks.join('\n'),
    measures,
    ...identifiers.property(),
    assetFreeze: designation.assetFreeze ?? (measures.length === 0 ? null : measures.some(isAssetFreeze)),
    provenance,
  };
}

/** Splits the measures as printed (`Asset freeze|Travel Ban`) and drops duplicates. */
const measuresOf = (printed: readonly string[]): readonly string[] => [
  ...new Set(
    printed
      .flatMap((text) => text.split('|'))
      .map((text) => text.replace(/\s+/g, ' ').trim())
      .filter((text) => text !== ''),
  ),
];

const isAssetFreeze = (measure: string): boolean => /^asset freeze\b/i.test(measure);

/** Removes duplicate names: the CSV layouts repeat a party's names for each of its addresses. */
function uniqueNames(names: readonly PartyName[]): PartyName[] {
  const byText = new Map<string, PartyName>();
  for (const name of names) {
    const key = `${name.kind} ${name.text}`;
    if (!byText.has(key)) byText.set(key, name);
  }
  return [...byText.values()];
}
