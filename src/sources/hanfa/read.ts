/** Reads the XML export of HANFA's register: one `Row` for each firm, with ID and LEI. The number of a firm is `R` and its ID. */
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  readHosts,
  readLei,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';
import { readXml, textOf } from '../xml.ts';

const SPEC = {
  register: 'hr-hanfa',
  jurisdiction: 'HR',
  authority: 'Croatian Financial Services Supervisory Agency (HANFA)',
  registeredAs: 'Crypto-asset service provider (MiCA)',
  sourceUrl:
    'https://www.hanfa.hr/registri/trziste-kriptoimovine/registar-drustava-ovlastenih-pruzati-usluge-povezane-s-kriptoimovinom/',
};

/** Elements that contain the name of the firm, in Croatian or English. */
const NAME = /^(?:naziv|tvrtka|drustvo|društvo|name|company)/i;
const SITE = /web|internet|url/i;

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const hanfaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let rows = 0;
  for await (const element of readXml(path, { roots: ['*'], elements: new Set(['Row']) })) {
    if (element.name !== 'Row') continue;
    if (rows++ === 0)
      yield {
        type: 'register',
        whole: ['hr-hanfa'],
        publishedAt: dateInName(file),
        layout: 'HANFA_XML',
        file,
      };
    const provenance = { file, line: element.line };
    const id = cleanText(textOf(element, 'ID'));
    const lei = readLei(textOf(element, 'LEI'));
    const legalName = cleanText(element.children.find(({ name }) => NAME.test(name))?.text ?? '');
    if (legalName === '' || (id === '' && lei === null)) {
      yield rejectedRow(
        provenance,
        legalName === '' ? 'The row has no element with the name.' : 'ID and LEI are empty.',
        element.children.map(({ text }) => text).join(' '),
      );
      continue;
    }
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: 'AUTHORISED',
        registrationId: id === '' ? lei : `R${id}`,
        lei,
        domains: readHosts(element.children.find(({ name }) => SITE.test(name))?.text ?? ''),
      },
      provenance,
    );
  }
  if (rows === 0) throw unknownLayout(file, '', "HANFA's XML export with `Row` elements");
};
