/**
 * Reads KoFIU's workbook: A number of the row, B name of the service, C legal name, I date on which the report was accepted, O date
 * of the ex officio cancellation. The business registration number (`119-86-54968`) is found by its form.
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
  splitNames,
} from '../registers/registration.ts';
import { readSheet, serialDate } from '../xlsx.ts';

const SPEC = {
  register: 'kr-fiu',
  jurisdiction: 'KR',
  authority: 'Korea Financial Intelligence Unit (KoFIU)',
  registeredAs: '가상자산사업자',
  sourceUrl: 'https://www.kofiu.go.kr/kor/notification/notice.do',
};

const SERVICE = 1;
const LEGAL_NAME = 2;
const ACCEPTED = 8;
const CANCELLED = 14;
/** Cancelled, expired, not renewed. */
const ENDED = /말소|만료|미갱신/;
const BUSINESS_NUMBER = /^\d{3}-\d{2}-\d{5}$/;

/** Reads `2021.10.06.`, and dates of a sheet. */
const dateOf = (text: string): string | null =>
  serialDate(text) ?? readDate(text.replace(/\s/g, '').replace(/\.$/, '').replaceAll('.', '-'));

/** Yields the registrations of one file, then the header. Throws INVALID_FILE for a file of another layout. */
export const kofiuReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let rows = 0;
  for await (const { line, cells } of readSheet(path)) {
    const cell = (at: number): string => cleanText(cells[at] ?? '');
    // Titles and header rows have no number in the first column.
    if (!/^\d{1,5}$/.test(cell(0))) continue;
    const provenance = { file, line };
    const legalName = cell(LEGAL_NAME);
    const registrationId = cells.map(cleanText).find((text) => BUSINESS_NUMBER.test(text)) ?? null;
    const accepted = dateOf(cell(ACCEPTED));
    if (legalName === '' || accepted === null) {
      const reason =
        legalName === '' ? 'The legal name (column C) is empty.' : 'Column I must be the date of acceptance.';
      yield rejectedRow(provenance, reason, cells.join('\t'));
      continue;
    }
    rows++;
    const cancelled =
      cell(CANCELLED) ||
      (cells
        .slice(ACCEPTED + 1)
        .map(cleanText)
        .find((text) => ENDED.test(text)) ??
        '');
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: cancelled === '' ? 'REGISTERED' : 'WITHDRAWN',
        registrationId,
        // `업비트(Upbit)` is two names.
        tradeNames: splitNames((cells[SERVICE] ?? '').replace(/\s*\(([^()]*)\)/g, '|$1'), legalName),
        registeredAt: accepted,
        endedAt: cancelled === '' ? null : dateOf(cancelled),
        note: cancelled === '' ? null : `Cancelled or expired: ${cancelled}`.slice(0, 1_000),
      },
      provenance,
    );
  }
  if (rows === 0)
    throw unknownLayout(file, '', "KoFIU's workbook with rows of legal name and date of acceptance");
  yield { type: 'register', whole: ['kr-fiu'], publishedAt: dateInName(file), layout: 'KOFIU_VASP', file };
};
