/** Reads pages of the Members API of the UK Parliament (https://members-api.parliament.uk/api/Members/Search): one page, or one on each line. */
import { readDate } from '../dates.ts';
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

const HOUSES: Readonly<Record<string, string>> = { 1: 'House of Commons', 2: 'House of Lords' };

const inside = (object: JsonObject, field: string): JsonObject => {
  const value = object[field];
  return isObject(value) ? value : {};
};

function partyOf(row: JsonObject) {
  const member = inside(row, 'value');
  const seat = inside(member, 'latestHouseMembership');
  const status = inside(seat, 'membershipStatus');
  // Former members stay in the results of a search without `IsCurrentMember`.
  if (status.statusIsActive === false || fieldText(seat, 'membershipEndDate') !== '') return null;
  const house = HOUSES[fieldText(seat, 'house')] ?? 'UK Parliament';
  const id = fieldText(member, 'id');
  return {
    listType: 'pep',
    entityId: id,
    schema: 'Person',
    name: fieldText(member, 'nameDisplayAs'),
    aliases: [fieldText(member, 'nameListAs')],
    countries: ['GB'],
    programs: [
      ['Member', house, fieldText(seat, 'membershipFrom')].filter((part) => part !== '').join(', '),
      fieldText(inside(member, 'latestParty'), 'name'),
    ],
    listedAt: readDate(fieldText(seat, 'membershipStartDate').slice(0, 10)),
    sourceUrl: id === '' ? null : `https://members.parliament.uk/member/${id}`,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if a document is not a page of the API. */
export const ukParliamentReader = namedJsonReader({
  layout: 'UK_PARLIAMENT_JSON',
  expected: 'a page of the Members API of the UK Parliament, with items that have a value',
  rowsOf: ({ items }) =>
    Array.isArray(items) && items.every((item) => isObject(item) && isObject(item.value))
      ? objectsIn(items)
      : null,
  partyOf,
});
