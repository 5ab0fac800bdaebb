/**
 * The history of one register, computed from its imported files; their order does not matter. A firm has the status that the newest file
 * gives it. If a complete file no longer contains a firm, the firm is WITHDRAWN from that file's date. An older file only adds history.
 */
import { createHash } from 'node:crypto';
import type { Registration, RegistrationStatus } from '../sources/registers/registration.ts';
import { foldWithoutForm } from './name-index.ts';

/** One imported file of a register. */
export interface RegisterFile {
  /** ISO date of the register's content. */
  readonly asOf: string;
  readonly contentHash: string;
  readonly layout: string;
  /** True if the file contains the whole register: a missing firm is then off the register. */
  readonly whole: boolean;
  readonly records: number;
}

/** The properties that can change while a firm stays on the register. */
export interface FirmState {
  readonly status: RegistrationStatus;
  readonly registeredAs: string;
  readonly registeredAt: string | null;
  readonly endedAt: string | null;
  readonly services: readonly string[];
  readonly passportedTo: readonly string[];
}

/** Names and places of a firm, from the newest file that contains it. */
export type FirmDetails = Omit<Registration, keyof FirmState | 'type' | 'register' | 'provenance'>;

/** Consecutive files with the same state of a firm: key of the first and the last file, and the position of the state. */
export type Run = readonly [from: string, to: string, state: number];

export interface Firm {
  readonly id: string;
  readonly details: FirmDetails;
  /** All legal names that files give it, sorted; absent if it has one. */
  readonly names?: readonly string[];
  readonly states: readonly FirmState[];
  readonly runs: readonly Run[];
}

export interface RegisterState {
  readonly register: string;
  /** The importer of the files: `esma`, `fincen`, `registers`. */
  readonly source: string;
  /** By date, then content. */
  readonly files: readonly RegisterFile[];
  readonly firms: readonly Firm[];
}

/** Returns a register without files. */
export const emptyRegister = (register: string, source: string): RegisterState => ({
  register,
  source,
  files: [],
  firms: [],
});

/** One status of a firm, with the dates of the first and the last file that give it. */
export interface StatusSpan extends FirmState {
  readonly firstSeen: string;
  readonly lastSeen: string;
}

const IN_FORCE: ReadonlySet<RegistrationStatus> = new Set(['AUTHORISED', 'REGISTERED', 'PENDING']);

/** Returns the status on a day: after the last day of a registration, or of the whole month or year of a partial date, it is withdrawn. */
export const statusOn = (
  day: string,
  { status, endedAt }: Pick<Registration, 'status' | 'endedAt'>,
): RegistrationStatus =>
  IN_FORCE.has(status) && endedAt !== null && endedAt < day.slice(0, endedAt.length) ? 'WITHDRAWN' : status;

const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Registers whose authority does not check LEIs: whoever notifies a white paper types that of the issuer, and some are those of other firms,
 * such as the exchange that lists the token.
 */
export const UNVERIFIED_LEIS: ReadonlySet<string> = new Set(['esma-other']);

type FirmIdentity = Pick<Registration, 'jurisdiction' | 'legalName' | 'lei' | 'registrationId'>;

const identityOf = (
  register: string,
  { jurisdiction, legalName, lei, registrationId }: FirmIdentity,
): string =>
  lei !== null && UNVERIFIED_LEIS.has(register)
    ? `${jurisdiction}|${lei}|${foldWithoutForm(legalName)}`
    : `${jurisdiction}|${lei ?? registrationId ?? plain(legalName)}`;

/**
 * Returns the id by which two rows are the same registration. A warning is a decision, so its id includes the date and the site; any other
 * firm is on a register once, by its LEI, its number, or its name; by both if the LEI is not verified.
 */
export function firmId(row: Registration): string {
  const decision = row.status === 'WARNING' ? `|${row.registeredAt ?? ''}|${row.domains[0] ?? ''}` : '';
  return `${identityOf(row.register, row)}${decision}`;
}

const stateOf = (row: Registration, asOf: string): FirmState => ({
  status: statusOn(asOf, row),
  registeredAs: row.registeredAs,
  registeredAt: row.registeredAt,
  endedAt: row.endedAt,
  services: [...row.services].sort(),
  passportedTo: [...row.passportedTo].sort(),
});

const detailsOf = (row: Registration): FirmDetails => ({
  jurisdiction: row.jurisdiction,
  authority: row.authority,
  legalName: row.legalName,
  tradeNames: row.tradeNames,
  lei: row.lei,
  domains: row.domains,
  registrationId: row.registrationId,
  note: row.note,
  sourceUrl: row.sourceUrl,
});

export interface FirmRow {
  readonly details: FirmDetails;
  readonly state: FirmState;
}

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];
const earlier = (a: string | null, b: string | null): string | null =>
  a === null || b === null ? (a ?? b) : a < b ? a : b;
/** Returns the later of two last days; null is none. */
const later = (a: string | null, b: string | null): string | null =>
  a === null || b === null ? null : a > b ? a : b;

/**
 * Returns true if two rows with one LEI and different names are one firm, such as one that was renamed: the LEI is not the only number, or
 * they have a site or the day of the authorisation in common. Otherwise one of the rows has the LEI of another firm.
 */
const isRenamed = (known: FirmRow, row: FirmRow): boolean =>
  row.details.lei === null ||
  (row.details.registrationId !== null && row.details.registrationId !== row.details.lei) ||
  row.details.domains.some((domain) => known.details.domains.includes(domain)) ||
  (row.state.registeredAt !== null && row.state.registeredAt === known.state.registeredAt);

/** Returns the names of a firm; the trade names first. */
export const namesOf = ({ legalName, tradeNames }: FirmDetails): readonly string[] => [
  ...tradeNames,
  legalName,
];

/** Returns the legal names that a firm had before, without other spellings of its names. */
export function formerNames(legalNames: Iterable<string>, details: FirmDetails): readonly string[] {
  const known = new Set(namesOf(details).map(foldWithoutForm));
  const isNew = (name: string): boolean => {
    const folded = foldWithoutForm(name);
    return !known.has(folded) && known.add(folded) !== undefined;
  };
  return [...legalNames].filter(isNew);
}

/**
 * Groups the rows of one file by firm. If a firm has several rows (two white papers, a later service), they are merged, and
 * its other legal names are names of the firm.
 *
 * @param asOf - day of the file, ISO date
 */
export function rowsByFirm(rows: Iterable<Registration>, asOf: string): Map<string, FirmRow> {
  const firms = new Map<string, FirmRow>();
  for (const row of rows) {
    const read: FirmRow = { details: detailsOf(row), state: stateOf(row, asOf) };
    const id = firmId(row);
    const known = firms.get(id);
    const isSame = known === undefined || isNamed(known, read) || isRenamed(known, read);
    const own = isSame ? id : `${id}|${foldWithoutForm(row.legalName)}`;
    const earlierRow = isSame ? known : firms.get(own);
    firms.set(own, earlierRow === undefined ? read : merged(earlierRow, read));
  }
  return firms;
}

const isNamed = ({ details }: FirmRow, { details: { legalName } }: FirmRow): boolean =>
  namesOf(details).some((name) => foldWithoutForm(name) === foldWithoutForm(legalName));

function merged(known: FirmRow, row: FirmRow): FirmRow {
  const { details, state } = row;
  const names = isNamed(known, row) ? details.tradeNames : [...details.tradeNames, details.legalName];
  return {
    details: {
      ...known.details,
      tradeNames: union(known.details.tradeNames, names),
      domains: union(known.details.domains, details.domains),
      note: known.details.note ?? details.note,
    },
    state: {
      ...known.state,
      // The firm is withdrawn only if all its rows are.
      status: known.state.status === 'WITHDRAWN' ? state.status : known.state.status,
      endedAt: later(known.state.endedAt, state.endedAt),
      registeredAt: earlier(known.state.registeredAt, state.registeredAt),
      services: union(known.state.services, state.services).sort(),
      passportedTo: union(known.state.passportedTo, state.passportedTo).sort(),
    },
  };
}

const byDate = (a: RegisterFile, b: RegisterFile): number =>
  a.asOf < b.asOf ? -1 : a.asOf > b.asOf ? 1 : a.contentHash < b.contentHash ? -1 : 1;

const NOT_SEEN = -1;

/**
 * Adds one file. Importing the same file (content and date) twice is a no-op, unless it is now known to be the whole register: firms that it
 * lacks are then off the register.
 */
export function addFile(
  register: RegisterState,
  file: RegisterFile,
  rows: ReadonlyMap<string, FirmRow>,
): RegisterState {
  const isSame = (one: RegisterFile): boolean =>
    one.contentHash === file.contentHash && one.asOf === file.asOf;
  const known = register.files.find(isSame);
  if (known !== undefined && (known.whole || !file.whole)) return register;
  const files = [...register.files.filter((one) => one !== known), file].sort(byDate);
  const keys = files.map(keyOf);
  const at = keys.indexOf(keyOf(file));
  // An earlier release identified firms by unverified LEIs.
  const before = UNVERIFIED_LEIS.has(register.register)
    ? register.firms.map((firm) => ({ ...firm, id: identityOf(register.register, firm.details) }))
    : register.firms;
  const firms = new Map(before.map((firm) => [firm.id, firm]));
  const changed: Firm[] = [];
  for (const firm of before) changed.push(withFile(firm, rows.get(firm.id), files, keys, at));
  for (const [id, row] of rows) {
    if (firms.has(id)) continue;
    const key = keyOf(file);
    changed.push({ id, details: row.details, states: [row.state], runs: [[key, key, 0]] });
  }
  changed.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ...register, files, firms: changed };
}

/** Returns the key of a file in the runs; it contains the date, because the same content can return at a later date. */
export const keyOf = (file: Pick<RegisterFile, 'asOf' | 'contentHash'>): string =>
  `${file.asOf}/${file.contentHash.slice(0, 12)}`;

function withFile(
  firm: Firm,
  row: FirmRow | undefined,
  files: readonly RegisterFile[],
  keys: readonly string[],
  at: number,
): Firm {
  const whole = files[at]?.whole === true;
  if (row === undefined && !whole) return firm;
  const seen = new Array<number>(files.length).fill(NOT_SEEN);
  for (const [from, to, state] of firm.runs) seen.fill(state, keys.indexOf(from), keys.indexOf(to) + 1);
  const isNewest = seen.findLastIndex((one) => one !== NOT_SEEN) <= at;
  const states = [...firm.states];
  let position = NOT_SEEN;
  if (row !== undefined) {
    const text = JSON.stringify(row.state);
    position = states.findIndex((state) => JSON.stringify(state) === text);
    if (position < 0) position = states.push(row.state) - 1;
  }
  seen[at] = position;
  const names = new Set([
    ...(firm.names ?? [firm.details.legalName]),
    ...(row ? [row.details.legalName] : []),
  ]);
  return {
    id: firm.id,
    details: row !== undefined && isNewest ? row.details : firm.details,
    ...(names.size > 1 ? { names: [...names].sort() } : {}),
    ...inOrder(states, runsOf(seen, files, keys)),
  };
}

/** Returns runs of equal states. An incomplete file without the firm gives no information, and ends no run. */
function runsOf(seen: readonly number[], files: readonly RegisterFile[], keys: readonly string[]): Run[] {
  const runs: [string, string, number][] = [];
  let last: [string, string, number] | null = null;
  for (const [position, state] of seen.entries()) {
    const key = keys[position] as string;
    if (state === NOT_SEEN) {
      if (files[position]?.whole === true) last = null;
    } else if (last !== null && last[2] === state) {
      last[1] = key;
    } else {
      last = [key, key, state];
      runs.push(last);
    }
  }
  return runs;
}

/** Numbers the states in the order in which the runs use them, so that equal histories are equal bytes. */
function inOrder(states: readonly FirmState[], runs: readonly Run[]): Pick<Firm, 'states' | 'runs'> {
  const order = [...new Set(runs.map(([, , state]) => state))];
  return {
    states: order.map((state) => states[state] as FirmState),
    runs: runs.map(([from, to, state]) => [from, to, order.indexOf(state)]),
  };
}

/** The positions of the files, and of the last complete one, as `spansOf` needs them. */
export interface FileOrder {
  readonly files: readonly RegisterFile[];
  readonly positions: ReadonlyMap<string, number>;
  readonly lastWhole: number;
}

/** Returns the positions of files that are in order. */
export function fileOrder(files: readonly RegisterFile[]): FileOrder {
  return {
    files,
    positions: new Map(files.map((file, position) => [keyOf(file), position])),
    lastWhole: files.findLastIndex((file) => file.whole),
  };
}

/**
 * Returns the statuses of a firm, oldest first; the last one is the current one. Between and after its runs the firm was off the register.
 */
export function spansOf(firm: Firm, order: FileOrder): StatusSpan[] {
  const { files, positions, lastWhole } = order;
  const spans: StatusSpan[] = [];
  for (const [index, [from, to, state]] of firm.runs.entries()) {
    const next = firm.runs[index + 1];
    const last = positions.get(to) ?? 0;
    const until = next === undefined ? files.length : (positions.get(next[0]) ?? files.length);
    const known = firm.states[state] as FirmState;
    spans.push({
      ...known,
      firstSeen: files[positions.get(from) ?? 0]?.asOf ?? '',
      lastSeen: files[last]?.asOf ?? '',
    });
    const gap = files.findIndex((file, position) => position > last && position < until && file.whole);
    if (gap < 0 || (next === undefined && gap > lastWhole)) continue;
    spans.push({
      ...known,
      status: 'WITHDRAWN',
      firstSeen: files[gap]?.asOf ?? '',
      lastSeen: files[until - 1]?.asOf ?? '',
    });
  }
  return spans;
}

/** Returns how many firms are on the register as of its newest complete file. */
export function countInForce(register: RegisterState): number {
  const order = fileOrder(register.files);
  return register.firms.filter((firm) => spansOf(firm, order).at(-1)?.status !== 'WITHDRAWN').length;
}

/** Returns the SHA-256 of a text, hex. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
