/**
 * Imports files of sanctions lists as history: the parties listed now, the dates, and the former parties. An import changes
 * all lists of its files or none.
 */
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import type { SanctionsList } from '../sources/index.ts';
import { noUsableRow } from '../sources/layout-error.ts';
import type { DesignatedParty, FileHeader } from '../sources/records.ts';
import { UnreadableRows } from '../sources/unreadable-rows.ts';
import { requireAfterPublication } from './attest.ts';
import { type ListCheck, type ListCheckMethod, readListChecks } from './freshness.ts';
import { type Reading, readRecords } from './import-reading.ts';
import type { DatasetReport, ImportRequest, ListChange } from './import-report.ts';
import { createRejectsWriter, type RejectsWriter } from './rejects.ts';
import {
  comparePublications,
  countsAgain,
  delistedAt,
  hasFile,
  heldBackIn,
  joinEntries,
  type ListFile,
  type ListState,
  type ObservedEntry,
  type ObservedParty,
  type PartyDetails,
  publicationOf,
  type ReadList,
  withFile,
} from './sanctions.ts';

/** One file of a publisher during reading: a zip can hold several. */
interface ListUnit {
  header: FileHeader<SanctionsList> | null;
  readonly lists: Map<
    SanctionsList,
    { readonly parties: Set<string>; readonly entries: ObservedEntry[]; readonly details: ObservedParty[] }
  >;
  readonly rejects: RejectsWriter;
  readonly unreadable: UnreadableRows;
  records: number;
}

/** The state of a list after one of its files was read. */
interface ReadPublication {
  readonly state: ListState;
  readonly publishedAt: string;
}

/**
 * Imports the lists of a reading.
 *
 * @throws INVALID_FILE if the publication date is not known, or if all entries were rejected.
 * @throws IMPLAUSIBLE_LIST if a file would delist more than half of a list or has no party, unless forced.
 * @throws INVALID_REQUEST if an attested check is before the publication.
 */
export async function importLists(
  reading: Reading,
  lists: readonly SanctionsList[],
): Promise<readonly DatasetReport[]> {
  const { contentHash } = reading;
  const { store } = reading.deps;
  const force = reading.request.force === true;
  const isAgain = (state: ListState): boolean =>
    countsAgain(fileOf(state, contentHash), { force, isConfirmed: isConfirmed(reading, state.list) });
  const known = lists.map((list) => store.listState(list)).filter((state) => hasFile(state, contentHash));
  if (known.length > 0 && !known.some(isAgain)) {
    const read = known.map((state) => ({ state, publishedAt: fileOf(state, contentHash).publishedAt }));
    commitLists(reading, [], read);
    return known.map((state) => unchangedList(reading, state));
  }
  const units: ListUnit[] = [];
  try {
    await readUnits(reading, units);
    return applyUnits(reading, units);
  } finally {
    for (const unit of units) unit.rejects.abort();
  }
}

/** Returns whether the files are the newest of their publisher, and no later check of the list is known. */
function isConfirmed({ request, deps }: Reading, list: SanctionsList): boolean {
  const known = readListChecks(deps.store.folder)[list]?.checkedAt;
  if (request.checkedAt === undefined) return false;
  return known === undefined || Date.parse(request.checkedAt) >= Date.parse(known);
}

/** Reads the files into `units`. The caller owns the array, so that it can abort the rejects of all units after an error. */
async function readUnits(reading: Reading, units: ListUnit[]): Promise<void> {
  const staged = reading.writer.stage();
  const open = (): ListUnit => {
    const rejects = createRejectsWriter(join(staged, `rejects-${units.length}`));
    const unreadable = new UnreadableRows(reading.contentHash);
    const unit: ListUnit = { header: null, lists: new Map(), rejects, unreadable, records: 0 };
    units.push(unit);
    return unit;
  };
  const current = (): ListUnit => units.at(-1) ?? open();
  await readRecords(
    reading,
    (record) => {
      if (record.type === 'header') {
        const unit = current().header === null ? current() : open();
        unit.header = record;
      } else if (record.type === 'party') addParty(reading, record, current());
      else {
        reading.rejected++;
        current().rejects.add('An address without a party.', record.address, record.provenance);
      }
    },
    (reason, text, provenance, entityId) => {
      current().rejects.add(reason, text, provenance);
      current().unreadable.add(entityId, `${reason} ${text}`);
    },
  );
}

function addParty(reading: Reading, party: DesignatedParty<SanctionsList>, unit: ListUnit): void {
  let observed = unit.lists.get(party.list);
  if (!observed) {
    observed = { parties: new Set(), entries: [], details: [] };
    unit.lists.set(party.list, observed);
  }
  unit.records++;
  if (party.delistedAt === null) observed.parties.add(party.entityId);
  if (canOwnAddresses(party)) observed.details.push({ entityId: party.entityId, details: detailsOf(party) });
  for (const listed of party.addresses) {
    // The currency word may be unknown: the address alone decides then, because a sanctioned wallet must not be lost.
    const resolved = reading.mapper.resolve(listed.address, listed.currency, false);
    if (!resolved.ok) {
      reading.rejected++;
      const text = `${listed.currency ?? ''} ${listed.address} (${party.list} ${party.entityId})`;
      unit.rejects.add(resolved.reason, text, listed.provenance);
      unit.unreadable.add(party.entityId, text);
      continue;
    }
    const { chain, canonical, key } = resolved.parsed;
    observed.entries.push({
      entityId: party.entityId,
      key: Buffer.from(key).toString('hex'),
      chain,
      address: canonical,
      details: {
        entityName: nameOf(party),
        program: programOf(party),
        jurisdiction: party.countries.find((country) => /^[A-Z]{2}$/.test(country)) ?? null,
        listedAt: party.listedAt,
        delistedAt: party.delistedAt,
        currencies: listed.currency === null ? [] : [listed.currency],
      },
    });
  }
}

/** Returns false for ships and aircraft, which own no addresses; they are a tenth of the UK list. */
const canOwnAddresses = ({ schema }: DesignatedParty): boolean =>
  schema !== 'Vessel' && schema !== 'Aircraft';

const programOf = ({ programs }: DesignatedParty): string | null =>
  programs.length > 0 ? programs.join(', ') : null;

const detailsOf = (party: DesignatedParty): PartyDetails => ({
  entityName: nameOf(party),
  schema: party.schema,
  program: programOf(party),
  reference: party.reference ?? null,
  listedAt: party.listedAt,
  delistedAt: party.delistedAt,
  assetFreeze: party.assetFreeze ?? null,
  measures: party.measures ?? [],
});

/** Returns the primary name of a party, or its first name if none is primary. */
const nameOf = (party: DesignatedParty): string =>
  (party.names.find((name) => name.kind === 'primary') ?? party.names[0])?.text ?? party.entityId;

/** Computes the new state of every list before anything is written. */
function applyUnits(reading: Reading, units: readonly ListUnit[]): readonly DatasetReport[] {
  const { contentHash, names } = reading;
  const { store, rules, clock, log } = reading.deps;
  const { source, force = false, published = null, lastModified = null } = reading.request;
  const states = new Map<SanctionsList, ListState>();
  const read: ReadPublication[] = [];
  const reports: (() => DatasetReport)[] = [];
  for (const [at, unit] of units.entries()) {
    const { header } = unit;
    if (header === null) throw new Error(`The reader of ${source} yielded no header.`);
    if (!force && unit.records === 0 && unit.rejects.count > 0)
      throw noUsableRow(names, `the source '${source}'`, {
        rejected: unit.rejects.count,
        rejects: unit.rejects.first,
      });
    const publishedAt = publicationOf({
      inside: header.publishedAt,
      option: published,
      names,
      lastModified,
      now: clock.now(),
    });
    for (const list of new Set([...header.lists, ...unit.lists.keys()])) {
      const observed = unit.lists.get(list);
      const file: ReadList = {
        list,
        publishedAt,
        contentHash: at === 0 ? contentHash : `${contentHash}-${at}`,
        layout: header.layout,
        whole: header.lists.includes(list),
        parties: observed?.parties ?? new Set(),
        entries: joinEntries(observed?.entries ?? []),
        details: observed?.details ?? [],
        unreadable: unit.unreadable.all(),
        isConfirmed: isConfirmed(reading, list),
      };
      const state = withFile(states.get(list) ?? store.listState(list), file, { force });
      states.set(list, state);
      read.push({ state, publishedAt });
      reports.push(() => listReport(reading, state, file, unit));
    }
  }
  commitLists(reading, [...states.values()], read);
  log.debug({ source, lists: [...states.keys()], rules: rules.fingerprint.slice(0, 8) }, 'lists imported');
  return reports.map((report) => report());
}

/** Writes the changed states, and the time at which each list of the files was last known to be the newest. */
function commitLists(
  { writer, deps, request }: Reading,
  changed: readonly ListState[],
  read: readonly ReadPublication[],
): void {
  const { store, clock } = deps;
  const checks: Partial<Record<SanctionsList, ListCheck>> = { ...readListChecks(store.folder) };
  for (const { state, publishedAt } of read) {
    if (state.newestAt === null) continue;
    const before = checks[state.list];
    if (request.isAttested === true && request.checkedAt !== undefined)
      requireAfterPublication(request.checkedAt, { list: state.list, publishedAt: state.newestAt });
    const known = before?.checkedAt ?? state.newestAt;
    // A publisher or a mirror that serves a file older than the newest known one has not confirmed the newest.
    const newest = comparePublications(publishedAt, state.newestAt) >= 0;
    const checkedAt = newest ? (request.checkedAt ?? state.newestAt) : known;
    const isLater = before === undefined || Date.parse(checkedAt) > Date.parse(known);
    const checkedBy = isLater ? methodOf(request) : before.checkedBy;
    checks[state.list] = {
      publishedAt: state.newestAt,
      checkedAt: Date.parse(checkedAt) > Date.parse(known) ? checkedAt : known,
      ...(checkedBy === undefined ? {} : { checkedBy }),
      records: state.parties.length,
    };
  }
  writer.commit({ lists: changed, checks, at: isoTime(clock.now()) });
}

function methodOf({ checkedAt, isAttested = false }: ImportRequest): ListCheckMethod {
  if (checkedAt === undefined) return 'IMPORT';
  return isAttested ? 'ATTESTATION' : 'DOWNLOAD';
}

function listReport(
  { request, names, deps }: Reading,
  state: ListState,
  read: ReadList,
  unit: ListUnit,
): DatasetReport {
  const decides = state.newestAt === null || comparePublications(read.publishedAt, state.newestAt) >= 0;
  return {
    source: request.source,
    dataset: state.list,
    layout: read.layout,
    files: names,
    publishedAt: read.publishedAt,
    status: decides ? 'imported' : 'history',
    records: unit.records,
    labels: read.entries.length,
    rejected: unit.rejects.count,
    rejectsFile: unit.rejects.close(deps.store.rejectsPath(request.source, state.list)),
    reasons: unit.rejects.reasons,
    keptApart: 0,
    lists: [changeOf(state, read.publishedAt, read.parties.size, read.entries.length)],
  };
}

function unchangedList({ request, names, contentHash }: Reading, state: ListState): DatasetReport {
  const file = fileOf(state, contentHash);
  return {
    source: request.source,
    dataset: state.list,
    layout: file.layout,
    files: names,
    publishedAt: file.publishedAt,
    status: 'unchanged',
    records: file.parties,
    labels: file.wallets,
    rejected: 0,
    rejectsFile: null,
    reasons: [],
    keptApart: 0,
    lists: [changeOf(state, file.publishedAt, file.parties, file.wallets)],
  };
}

function fileOf(state: ListState, contentHash: string): ListFile {
  const file = state.files.find((one) => one.contentHash === contentHash);
  if (file === undefined) throw new Error(`The ${state.list} list does not know ${contentHash}.`);
  return file;
}

function changeOf(state: ListState, publishedAt: string, parties: number, wallets: number): ListChange {
  const inForce = state.entries.filter((entry) => delistedAt(state, entry) === null).length;
  return {
    list: state.list,
    publishedAt,
    newestAt: state.newestAt,
    parties,
    wallets,
    inForce,
    delisted: state.entries.length - inForce,
    heldBack: heldBackIn(state),
  };
}
