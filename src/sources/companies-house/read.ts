/**
 * Reads disqualified officers of Companies House: the resources of its API (https://api.company-information.service.gov.uk/disqualified-officers/)
 * and the events of its stream (https://stream.companieshouse.gov.uk/disqualified-officers), one JSON document on each line.
 */
import { readDate } from '../dates.ts';
import { IdentifierList } from '../identifiers.ts';
import { fieldText, isObject, type JsonObject, objectsIn } from '../json.ts';
import { namedJsonReader } from '../named-files.ts';

const PAGE = 'https://find-and-update.company-information.service.gov.uk';
const SELF = /^\/disqualified-officers\/(?:natural|corporate)\/([\w-]+)$/;

/** Returns the officer of a document: an event of the stream has it as `data`. */
const officerOf = (document: JsonObject): JsonObject => (isObject(document.data) ? document.data : document);

const isEvent = (document: JsonObject): boolean =>
  fieldText(document, 'resource_kind').startsWith('disqualified-officer');

const selfOf = (document: JsonObject): string => {
  const { links } = officerOf(document);
  return fieldText(document, 'resource_uri') || (isObject(links) ? fieldText(links, 'self') : '');
};

/** Returns the reason of a disqualification (`Company Directors Disqualification Act 1986, section 6`). */
function reasonOf(disqualification: JsonObject): string {
  const { reason } = disqualification;
  if (!isObject(reason)) return '';
  const section = fieldText(reason, 'section');
  const article = fieldText(reason, 'article');
  const place = section === '' ? article && `article ${article}` : `section ${section}`;
  return [fieldText(reason, 'act').replaceAll('-', ' '), place].filter((part) => part !== '').join(', ');
}

function periodOf(disqualification: JsonObject): string {
  const until = readDate(fieldText(disqualification, 'disqualified_until'));
  const reason = reasonOf(disqualification);
  return `disqualified${until === null ? '' : ` until ${until}`}${reason === '' ? '' : `: ${reason}`}`;
}

const idOf = (document: JsonObject): string =>
  fieldText(document, 'resource_id') || (SELF.exec(selfOf(document))?.[1] ?? '');

function partyOf(document: JsonObject) {
  const event = document.event;
  // The officer is no longer on the register.
  if (isObject(event) && event.type === 'deleted') return null;
  const officer = officerOf(document);
  const isCompany = officer.kind === 'corporate-disqualification' || selfOf(document).includes('/corporate/');
  const given = [fieldText(officer, 'forename'), fieldText(officer, 'other_forenames')];
  const family = fieldText(officer, 'surname');
  const person = [family, given.filter((part) => part !== '').join(' ')].filter((part) => part !== '');
  const disqualifications = objectsIn(officer.disqualifications);
  const identifiers = new IdentifierList();
  if (isCompany) identifiers.add('registrationNumber', fieldText(officer, 'company_number'));
  const starts = disqualifications
    .map((one) => readDate(fieldText(one, 'disqualified_from')))
    .filter((date) => date !== null);
  const self = selfOf(document);
  return {
    listType: 'adverse_media',
    entityId: idOf(document),
    schema: isCompany ? 'Organization' : 'Person',
    name: isCompany ? fieldText(officer, 'name') : person.join(', '),
    birthDates: [fieldText(officer, 'date_of_birth')],
    countries: [fieldText(officer, 'nationality'), fieldText(officer, 'country_of_registration')],
    programs: disqualifications.flatMap((one) => [
      periodOf(one),
      ...(Array.isArray(one.company_names)
        ? one.company_names
            .filter((name) => typeof name === 'string')
            .map((name) => `as an officer of ${name}`)
        : []),
    ]),
    listedAt: starts.sort()[0] ?? null,
    sourceUrl: SELF.test(self) ? `${PAGE}${self}` : null,
    ...identifiers.property(),
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if a document is in neither layout. */
export const companiesHouseReader = namedJsonReader({
  layout: 'COMPANIES_HOUSE_JSON',
  expected: 'a disqualified officer of Companies House, with disqualifications, or an event of its stream',
  rowsOf: (document) => (isEvent(document) || Array.isArray(document.disqualifications) ? [document] : null),
  partyOf,
  idOf,
  changedOf: ({ event }) => (isObject(event) ? fieldText(event, 'published_at') : ''),
});
