/**
 * Reads the AMF's white list: semicolons, a header row, one row for each activity of a firm. Rows of the former French regime
 * (PSAN) belong to the register `fr-amf`, all others to `fr-amf-casp`. The columns with e-mail addresses and telephone numbers
 * are not read.
 */
import { readCountry } from '../countries.ts';
import { readDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  type RegisterSpec,
  type RegistrationStatus,
  readHosts,
  readLei,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';
import { columnsOf, readWholeTable } from '../rows.ts';

const SPEC = {
  jurisdiction: 'FR',
  authority: 'Autorité des Marchés Financiers (AMF)',
  sourceUrl: 'https://www.data.gouv.fr/datasets/653135cf052c9a87787413c2',
};

const COLUMNS = ['no_amf', 'entite_nom', 'lei', 'nature_autorisation', 'statut'] as const;

/** `Radié` and every other status of the past end a registration; a date ends any other when it has come. */
function statusOf(statut: string, ended: string | null): RegistrationStatus | null {
  const word = statut.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  if (/^(?:radie|retire|expire|caduc|abroge)/.test(word)) return 'WITHDRAWN';
  if (word.startsWith('agre')) return 'AUTHORISED';
  if (word.startsWith('enregistre')) return 'REGISTERED';
  return ended === null ? null : 'WITHDRAWN';
}

/** Yields the registrations of one file, then the header. Throws INVALID_FILE for a file of another layout. */
export const amfReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let cellOf: ReturnType<typeof columnsOf> | null = null;
  let published = dateInName(file);
  for await (const found of readWholeTable(path, { delimiter: ';', legacyEncoding: 'windows-1252' })) {
    if (found.kind === 'reject') {
      yield found.reject;
      continue;
    }
    if (cellOf === null) {
      const names = new Set(found.cells.map((name) => cleanText(name).toLowerCase()));
      if (COLUMNS.some((column) => !names.has(column)))
        throw unknownLayout(file, found.cells.join(';'), "the AMF's white list as CSV");
      cellOf = columnsOf(found.cells);
      continue;
    }
    const { cells, line } = found;
    const cell = (name: string): string => cleanText(cellOf?.(cells, name) ?? '');
    const provenance = { file, line };
    const number = cell('no_amf');
    const legalName = cell('entite_nom');
    const nature = cell('nature_autorisation');
    const endedAt = readDate(cell('date_fin_autorisation'));
    const status = statusOf(cell('statut'), endedAt);
    if (legalName === '' || status === null) {
      const reason =
        legalName === '' ? 'entite_nom: is empty.' : 'statut: must be Agréé, Enregistré or Radié.';
      yield rejectedRow(provenance, reason, `${number};${legalName};${cell('statut')}`);
      continue;
    }
    published ??= readDate(cell('date_de_publication'));
    const passport = /passeport|^n\/a/i.test(number);
    const lei = readLei(cell('lei'));
    const home = cell('pays_siege');
    const spec: RegisterSpec = {
      ...SPEC,
      register: /psan/i.test(nature) ? 'fr-amf' : 'fr-amf-casp',
      registeredAs: nature === '' ? 'Prestataire de services sur crypto-actifs' : nature,
    };
    const activity = cell('libelle_activite');
    yield registrationOf(
      spec,
      {
        legalName,
        status,
        lei,
        // A passported firm has the number of its own authority; here its LEI identifies it.
        registrationId: passport || number === '' ? lei : number,
        domains: readHosts(cell('site_internet')),
        registeredAt: readDate(cell('date_debut_autorisation')),
        endedAt,
        services: activity === '' ? [] : [activity],
        note: passport
          ? `Passported into France${home === '' ? '' : ` from ${readCountry(home) ?? home}`}.`
          : null,
      },
      provenance,
    );
  }
  if (cellOf === null) throw unknownLayout(file, '', "the AMF's white list as CSV");
  yield {
    type: 'register',
    whole: ['fr-amf', 'fr-amf-casp'],
    publishedAt: published,
    layout: 'AMF_WHITE_LIST',
    file,
  };
};
