/**
 * Reads the workbook of the Japanese FSA: A bureau (only in its first row), B registration number, C date, D name, E corporate
 * number. The registration number counts within its bureau: `Kanto No.00004`.
 */
import { readDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';
import { readSheet, serialDate } from '../xlsx.ts';

const SPEC = {
  register: 'jp-fsa',
  jurisdiction: 'JP',
  authority: 'Financial Services Agency (FSA)',
  registeredAs: 'Crypto-asset exchange service provider',
  sourceUrl: 'https://www.fsa.go.jp/en/regulated/licensed/index.html',
};

const BUREAU = /([A-Z][A-Za-z]+)\s+(?:Local\s+)?Financ(?:e|ial)\s+Bureau/;

/** Yields the registrations of one file, then the header. Throws INVALID_FILE for a file of another layout. */
export const jfsaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let bureau: string | null = null;
  let rows = 0;
  for await (const { line, cells } of readSheet(path)) {
    const [office = '', number = '', since = '', name = '', corporate = ''] = cells.map(cleanText);
    bureau = BUREAU.exec(office)?.[1] ?? BUREAU.exec(number)?.[1] ?? bureau;
    const digits = /No\.?\s*(\d{1,6})/i.exec(number)?.[1];
    // Titles, the header row and notes have no number.
    if (digits === undefined) continue;
    const provenance = { file, line };
    if (name === '' || bureau === null) {
      const reason = name === '' ? 'The name is empty.' : 'The bureau is not known.';
      yield rejectedRow(provenance, reason, cells.join('\t'));
      continue;
    }
    rows++;
    yield registrationOf(
      SPEC,
      {
        legalName: name,
        status: 'REGISTERED',
        registrationId: `${bureau} No.${digits.padStart(5, '0')}`,
        registeredAt: serialDate(since) ?? readDate(since.replaceAll('/', '-')) ?? readDate(since),
        note: corporate === '' ? null : `Corporate number ${corporate.replace(/\.0$/, '')}.`,
      },
      provenance,
    );
  }
  if (rows === 0) throw unknownLayout(file, '', "the FSA's workbook with registration numbers in column B");
  yield { type: 'register', whole: ['jp-fsa'], publishedAt: dateInName(file), layout: 'JFSA_CAESP', file };
};
