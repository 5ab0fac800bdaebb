/**
 * Reads ESMA's interim MiCA register: five CSV layouts (service providers, non-compliant entities, and three kinds of white
 * papers), identified by their columns. The files are typed by hand in 30 countries: they have lost letters (U+FFFD),
 * non-breaking spaces, cells with several addresses or none, misspelt header names, and empty columns at the end.
 */
import { distance } from 'fastest-levenshtein';
import { readCountry } from '../countries.ts';
import { readDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import type { Reject } from '../records.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  type Registration,
  type RegistrationStatus,
  readHosts,
  readLei,
  splitNames,
} from '../registers/registration.ts';
import { readWholeTable } from '../rows.ts';

interface Layout {
  readonly register: string;
  readonly layout: string;
  /** Columns that only this layout has. */
  readonly marks: readonly string[];
  readonly status: RegistrationStatus;
  readonly registeredAs: string;
  /** Column of the date on which the registration begins. */
  readonly since: string;
  /** Column with text that is added to the category. */
  readonly detail: string | null;
}

const LAYOUTS: readonly Layout[] = [
  {
    register: 'esma-casp',
    layout: 'ESMA_CASP',
    marks: ['ac_serviceCode', 'ae_website_platform'],
    status: 'AUTHORISED',
    registeredAs: 'Crypto-asset service provider (MiCA)',
    since: 'ac_authorisationNotificationDate',
    detail: null,
  },
  {
    register: 'esma-ncasp',
    layout: 'ESMA_NCASP',
    marks: ['ae_infringement', 'ae_decision_date'],
    status: 'WARNING',
    registeredAs: 'Non-compliant entity providing crypto-asset services (MiCA)',
    since: 'ae_decision_date',
    detail: null,
  },
  {
    register: 'esma-emt',
    layout: 'ESMA_EMT',
    marks: ['ae_exemption48_4', 'ae_authorisation_other_emt'],
    status: 'AUTHORISED',
    registeredAs: 'Issuer of e-money tokens (MiCA)',
    since: 'ac_authorisationNotificationDate',
    detail: 'ae_authorisation_other_emt',
  },
  {
    register: 'esma-art',
    layout: 'ESMA_ART',
    marks: ['ae_credit_institution', 'wp_url_cou'],
    status: 'AUTHORISED',
    registeredAs: 'Issuer of asset-referenced tokens (MiCA)',
    since: 'ac_authorisationNotificationDate',
    detail: null,
  },
  {
    register: 'esma-other',
    layout: 'ESMA_OTHER',
    marks: ['ae_lei_name_casp', 'ae_offerCode_cou'],
    status: 'REGISTERED',
    registeredAs: 'Notified white paper for crypto-assets other than ART and EMT (MiCA)',
    since: 'wp_lastupdate',
    detail: null,
  },
];

const PAGE = 'https://www.esma.europa.eu/sites/default/files/2024-12/';
const FILES: Readonly<Record<string, string>> = {
  'esma-casp': 'CASPS.csv',
  'esma-ncasp': 'NCASP.csv',
  'esma-emt': 'EMTWP.csv',
  'esma-art': 'ARTZZ.csv',
  'esma-other': 'OTHER.csv',
};

/**
 * Maximum number of wrong letters in a header: `ae_infrigment` has one, and `ac_authorisationNotificationDate` had one once.
 */
const HEADER_FAULTS_MAX = 2;

type Cell = (column: string) => string;

/**
 * Returns a function that finds the position of a column by name, with up to two wrong letters if the exact name is missing.
 */
function columnsIn(header: readonly string[]): (column: string) => number {
  const names = header.map((name) => cleanText(name).toLowerCase());
  const known = new Map<string, number>();
  return (column) => {
    const wanted = column.toLowerCase();
    let at = known.get(wanted);
    if (at === undefined) {
      at = names.indexOf(wanted);
      if (at < 0) {
        at = names.findIndex(
          (name) => name.length > 8 && distance(name, wanted) <= HEADER_FAULTS_MAX && !isOther(name, wanted),
        );
      }
      known.set(wanted, at);
    }
    return at;
  };
}

/** Some real columns are one letter apart (`ae_DTI`, `ae_lei`); these names never count as a misspelling of another. */
const REAL = new Set([
  'ae_lei_name',
  'ae_lei_casp',
  'ae_website',
  'ae_exemption48_4',
  'ae_exemption48_5',
  'ac_servicecode',
]);
const isOther = (name: string, wanted: string): boolean => name !== wanted && REAL.has(name);

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const esmaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let layout: Layout | null = null;
  let at: (column: string) => number = () => -1;
  /** Member state of each authority, for rows without one. */
  const stateOf = new Map<string, string>();
  for await (const found of readWholeTable(path, {
    delimiter: ',',
    legacyEncoding: 'windows-1252',
    lenient: true,
  })) {
    if (found.kind === 'reject') {
      yield found.reject;
      continue;
    }
    if (layout === null) {
      at = columnsIn(found.cells);
      layout = LAYOUTS.find(({ marks }) => marks.every((mark) => at(mark) >= 0)) ?? null;
      const needed = ['ae_competentAuthority', 'ae_homeMemberState', 'ae_lei_name', 'ae_lei'];
      if (layout === null || needed.some((column) => at(column) < 0)) {
        throw unknownLayout(file, found.cells.join(','), 'one of the five CSV layouts of the MiCA register');
      }
      yield {
        type: 'register',
        whole: [layout.register],
        publishedAt: dateInName(file),
        layout: layout.layout,
        file,
      };
      continue;
    }
    const cells = found.cells;
    yield readRow(layout, (column) => cleanText(cells[at(column)] ?? ''), stateOf, {
      file,
      line: found.line,
      text: cells.join(','),
    });
  }
  if (layout === null) throw unknownLayout(file, '', 'one of the five CSV layouts of the MiCA register');
};

/** Words that stand for a name that is not known. */
const NO_NAME = /^(?:not available|not applicable|n\/?a|none|unknown|-+)$/i;

function readRow(
  layout: Layout,
  cell: Cell,
  stateOf: Map<string, string>,
  { file, line, text }: { readonly file: string; readonly line: number; readonly text: string },
): Registration | Reject {
  const provenance = { file, line };
  const reject = (reason: string): Reject => ({
    type: 'reject',
    reason,
    text: text.slice(0, 500),
    provenance,
  });
  const authority = cell('ae_competentAuthority');
  // A white paper without an issuer belongs to the service provider that wrote it.
  const issuer = NO_NAME.test(cell('ae_lei_name')) ? '' : cell('ae_lei_name');
  const named = issuer !== '';
  const legalName = issuer || cell('ae_lei_name_casp') || cell('ae_commercial_name');
  if (authority === '' || legalName === '') return reject('The authority or the name is empty.');
  const state = stateCode(cell('ae_homeMemberState')) ?? stateOf.get(authority) ?? null;
  if (state === null) return reject('ae_homeMemberState: must be a country.');
  stateOf.set(authority, state);
  const endedAt = readDate(cell('ac_authorisationEndDate'));
  const lei = readLei(cell(named ? 'ae_lei' : 'ae_lei_casp') || cell('ae_lei'));
  const detail = layout.detail === null ? '' : cell(layout.detail);
  const services = splitList(cell('ac_serviceCode'));
  return {
    type: 'registration',
    register: layout.register,
    jurisdiction: state,
    authority,
    legalName,
    tradeNames: splitNames(cell('ae_commercial_name'), legalName),
    lei,
    domains: [...new Set([...readHosts(cell('ae_website')), ...readHosts(cell('ae_website_platform'))])],
    // The register has no numbers of its own: it identifies firms by their LEI.
    registrationId: lei,
    registeredAs: detail === '' ? layout.registeredAs : `${layout.registeredAs}: ${detail}`,
    status: layout.status,
    registeredAt: readDate(cell(layout.since)),
    endedAt,
    services,
    passportedTo: [
      ...new Set(
        splitList(cell('ac_serviceCode_cou'))
          .map(stateCode)
          .filter((code) => code !== null),
      ),
    ],
    note: noteOf(cell('ac_comments') || cell('ae_comments') || cell('wp_comments'), cell('ae_reason')),
    sourceUrl: `${PAGE}${FILES[layout.register] ?? ''}`,
    provenance,
  };
}

const splitList = (text: string): string[] =>
  text
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Returns the code of a member state as written in the files; some write EL for Greece. */
function stateCode(text: string): string | null {
  const bare = text.replace(/[^A-Za-z ]/g, '').trim();
  if (bare.toUpperCase() === 'EL') return 'GR';
  const code = readCountry(bare.length === 2 ? bare.toUpperCase() : bare);
  return code !== null && /^[A-Z]{2}$/.test(code) ? code : null;
}

function noteOf(comment: string, reason: string): string | null {
  const parts = [reason, comment].filter((part) => part !== '' && part.toLowerCase() !== 'none');
  return parts.length === 0 ? null : parts.join(' ').slice(0, 1_000);
}
