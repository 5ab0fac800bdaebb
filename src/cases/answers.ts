/**
 * Cases, events and files as the API and the export show them: ISO times, EVM addresses in lower case, and no data of the account or of the
 * four-eyes rule.
 */
import { isoTime } from '../base/clock.ts';
import { shownAddress } from '../chains/address/parse.ts';
import type { CaseEvent, CaseFile, CaseLink, CaseRecord } from './records.ts';

const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

/** Returns a link as the API shows it. */
export function linkAnswer({ answer, trace = null, ...link }: CaseLink) {
  const shown = (canonical: string | null): string | null =>
    canonical === null || link.chain === null ? canonical : shownAddress({ chain: link.chain, canonical });
  const facts = {
    ...link,
    address: shown(link.address),
    trace: trace === null ? null : { ...trace, targetAddress: shown(trace.targetAddress) },
  };
  if (answer === null) return { ...facts, answer };
  const { crc32: _, ...kept } = answer;
  return { ...facts, answer: kept };
}

/** Returns a case as the API shows it. */
export function caseAnswer(record: CaseRecord) {
  const { proposal, outcome } = record;
  return {
    id: record.id,
    number: record.number,
    version: record.version,
    title: record.title,
    status: record.status,
    priority: record.priority,
    assignee: record.assignee,
    dueAt: time(record.dueAtMs),
    fourEyes: record.fourEyes,
    proposal:
      proposal === null
        ? null
        : {
            event: proposal.event,
            disposition: proposal.disposition,
            reasonCode: proposal.reasonCode,
            by: proposal.by,
          },
    disposition: outcome?.disposition ?? null,
    reasonCode: outcome?.reasonCode ?? null,
    decidedBy: outcome?.decidedBy ?? null,
    approvedBy: outcome?.approvedBy ?? null,
    links: record.links.map(linkAnswer),
    eventCount: record.events,
    fileCount: record.files.length,
    createdAt: isoTime(record.createdAtMs),
    createdBy: record.createdBy,
    updatedAt: isoTime(record.updatedAtMs),
    closedAt: time(outcome?.closedAtMs ?? null),
  };
}

/** Returns a file as the API shows it, without its content. */
export const fileAnswer = ({ addedAtMs, addedBy, crc32: _, ...file }: CaseFile) => ({
  ...file,
  addedAt: isoTime(addedAtMs),
  addedBy,
});

/** Returns an event as the API shows it. */
export const eventAnswer = ({ sequence, type, atMs, by, file, ...event }: CaseEvent) => ({
  sequence,
  type,
  at: isoTime(atMs),
  by,
  note: event.note,
  change: event.change,
  link: event.link === null ? null : linkAnswer(event.link),
  file: file === null ? null : fileAnswer(file),
  decision: event.decision,
});
