/** Reads the list of members of the European Parliament as XML (https://www.europarl.europa.eu/meps/en/full-list/xml). */
import { namedXmlReader } from '../named-files.ts';
import { textOf, type XmlElement } from '../xml.ts';

function partyOf(member: XmlElement) {
  const id = textOf(member, 'id');
  return {
    listType: 'pep',
    entityId: id,
    schema: 'Person',
    // The family name is in capitals: `Ana María EXAMPLE`.
    name: textOf(member, 'fullName'),
    countries: [textOf(member, 'country')],
    programs: [
      'Member of the European Parliament',
      textOf(member, 'politicalGroup'),
      textOf(member, 'nationalPoliticalGroup'),
    ],
    sourceUrl: /^\d+$/.test(id) ? `https://www.europarl.europa.eu/meps/en/${id}` : null,
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the file is not this XML. */
export const euParliamentReader = namedXmlReader({
  layout: 'EU_PARLIAMENT_XML',
  root: 'meps',
  element: 'mep',
  partyOf,
});
