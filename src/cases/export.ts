/**
 * Exports a case as one ZIP archive: JSON, CSV, a printable page, the stored answers, the files, and a manifest of hashes. It contains no
 * time of the export, so the same version of a case gives the same bytes.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { caseAnswer, eventAnswer, linkAnswer } from './answers.ts';
import { casePageHtml } from './export-html.ts';
import type { CaseEvent, CaseRecord } from './records.ts';
import type { CaseExport } from './service.ts';
import type { CaseStore } from './store.ts';
import { traceText } from './trace-view.ts';
import { type ZipEntry, zipOf } from './zip.ts';

export const EXPORT_FORMAT = 1;

/** An entry with the hash that the manifest lists. */
type HashedEntry = ZipEntry & { readonly sha256: string };

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function textEntry(name: string, text: string): HashedEntry {
  const bytes = Buffer.from(text);
  return { name, bytes: bytes.length, crc32: crc32(bytes), sha256: sha256Of(bytes), read: () => bytes };
}

/** Characters with which spreadsheets begin a formula. Full-width forms are folded before. */
const FORMULA_START = /^[=+\-@\t\r\n|%]/;

/** Characters of a text that are folded to find its first one. Folding all of a long text can take longer than writing it. */
const FIRST_CHARS = 16;

/**
 * A place inside a text at which a spreadsheet may begin a cell with a formula. If the language of a person separates cells by semicolons, the
 * quotes of this file do not count there. A separator starts a match and ends the blanks of the one before, so that the time is linear.
 */
const INNER_FORMULA = /([;\t\r\n](?:[^\S\t\r\n]|["'])*)(?=[=+\-@|%\uff1d\uff0b\uff0d\uff20])/g;

/**
 * Returns a cell of a CSV file. A text that a spreadsheet would read as a formula begins with an apostrophe, also inside a cell after a
 * semicolon, a tab or a line break.
 *
 * @param value - text of a person, a number or null
 */
export function csvCell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const first = value.trimStart().slice(0, FIRST_CHARS).normalize('NFKC');
  const inner = value.replace(INNER_FORMULA, "$1'");
  const safe = FORMULA_START.test(first) || FORMULA_START.test(value) ? `'${inner}` : inner;
  return `"${safe.split('"').join('""')}"`;
}

const csvOf = (
  header: readonly string[],
  rows: readonly (readonly (string | number | boolean | null)[])[],
): string => [header, ...rows.map((row) => row.map(csvCell))].map((row) => `${row.join(',')}\r\n`).join('');

const EVENT_COLUMNS = [
  ...['sequence', 'at', 'by', 'type', 'note', 'field', 'from', 'to', 'link_type', 'link_id', 'link_chain'],
  ...['link_address', 'link_name', 'link_label', 'file', 'action', 'disposition', 'reason_code', 'is_final'],
];

function eventsCsv(events: readonly CaseEvent[]): string {
  const rows = events
    .map(eventAnswer)
    .map(({ change, link, file, decision, ...event }) => [
      ...[event.sequence, event.at, event.by, event.type, event.note],
      ...[change?.field ?? null, change?.from ?? null, change?.to ?? null],
      ...[link?.type ?? null, link?.id ?? null, link?.chain ?? null, link?.address ?? null],
      ...[link?.name ?? null, link?.label ?? null, file?.name ?? null],
      ...[decision?.action ?? null, decision?.disposition ?? null, decision?.reasonCode ?? null],
      decision?.isFinal ?? null,
    ]);
  return csvOf(EVENT_COLUMNS, rows);
}

const LINK_COLUMNS = [
  ...['event', 'type', 'id', 'chain', 'address', 'name', 'label', 'trace', 'trace_data_version'],
  ...['answer_origin', 'answer_data_version', 'answer_sha256', 'answer_file'],
];

const answerName = (event: number): string => `answers/${event}.json`;

function linksCsv({ links }: CaseRecord): string {
  const rows = links
    .map(linkAnswer)
    .map(({ answer, trace, ...link }) => [
      ...[link.event, link.type, link.id, link.chain, link.address, link.name, link.label],
      ...[trace === null ? null : traceText(trace), trace?.dataVersion ?? null],
      ...[answer?.origin ?? null, answer?.dataVersion ?? null, answer?.sha256 ?? null],
      answer === null ? null : answerName(link.event),
    ]);
  return csvOf(LINK_COLUMNS, rows);
}

/** Answers of links. Each is read when it is sent. */
const answerEntries = (record: CaseRecord, store: Pick<CaseStore, 'answer'>): HashedEntry[] =>
  record.links.flatMap(({ event, answer }) => {
    if (answer === null) return [];
    const { bytes, sha256, crc32: checksum } = answer;
    const read = (): Buffer => Buffer.from(store.answer(record, event) ?? '');
    return [{ name: answerName(event), bytes, sha256, crc32: checksum, read }];
  });

const fileEntries = (record: CaseRecord, store: Pick<CaseStore, 'content'>): HashedEntry[] =>
  record.files.map(({ event, name, bytes, sha256, crc32: checksum }) => ({
    name: `files/${event}-${name}`,
    bytes,
    sha256,
    crc32: checksum,
    read: () => store.content(record, event),
  }));

/** Returns the archive of a case. */
export function exportOf(
  record: CaseRecord,
  store: Pick<CaseStore, 'events' | 'answer' | 'content'>,
): CaseExport {
  const events = [...store.events(record, Number.MAX_SAFE_INTEGER)].reverse();
  const shown = { format: EXPORT_FORMAT, case: caseAnswer(record), events: events.map(eventAnswer) };
  const entries = [
    textEntry('case.json', `${JSON.stringify(shown, null, 2)}\n`),
    textEntry('events.csv', eventsCsv(events)),
    textEntry('links.csv', linksCsv(record)),
    textEntry('case.html', casePageHtml(record, events)),
    ...answerEntries(record, store),
    ...fileEntries(record, store),
  ];
  const manifest = {
    format: EXPORT_FORMAT,
    case: record.id,
    number: record.number,
    version: record.version,
    files: entries.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  };
  const archive = zipOf([...entries, textEntry('manifest.json', `${JSON.stringify(manifest, null, 2)}\n`)]);
  return { name: `case-${record.number}-v${record.version}.zip`, archive };
}
