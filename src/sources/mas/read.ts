/**
 * Reads result pages of the MAS directory: links `/fid/institution/detail/{id}-NAME` with the name as text. The directory prints no
 * licence number; the id of its entry identifies the firm.
 */
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import { dateInName, type RegisterReader, registrationOf, rejectedRow } from '../registers/registration.ts';

const SITE = 'https://eservices.mas.gov.sg';

const SPEC = {
  register: 'sg-mas',
  jurisdiction: 'SG',
  authority: 'Monetary Authority of Singapore (MAS)',
  registeredAs: 'Payment institution for digital payment token services',
  sourceUrl: `${SITE}/fid`,
};

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a page of another layout. */
export const masReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { links, data } = await readHtml(path);
  const entries = links.flatMap(({ href, text, line }) => {
    const [, detail, id] = /\/fid\/institution\/detail\/((\d{1,12})-[^"?#\s]{0,200})/.exec(href) ?? [];
    return detail === undefined || id === undefined ? [] : [{ detail, id, text, line }];
  });
  if (entries.length === 0) throw unknownLayout(file, '', 'result pages of the MAS directory with its links');
  const whole = data.get('data-collected') === 'all';
  yield {
    type: 'register',
    whole: whole ? ['sg-mas'] : [],
    publishedAt: dateInName(file),
    layout: 'MAS_FID',
    file,
  };
  const seen = new Set<string>();
  for (const { detail, id, text, line } of entries) {
    const provenance = { file, line };
    if (text === '') {
      yield rejectedRow(provenance, 'The link has no name.', detail);
      continue;
    }
    if (seen.has(id)) continue;
    seen.add(id);
    yield registrationOf(
      SPEC,
      {
        legalName: text,
        status: 'AUTHORISED',
        registrationId: id,
        sourceUrl: `${SITE}/fid/institution/detail/${detail}`,
      },
      provenance,
    );
  }
};
