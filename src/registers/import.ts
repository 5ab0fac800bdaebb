/** Imports files of registers: reads them, checks that they are plausible, and adds them to the history of their registers. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { readDate, requirePublished } from '../sources/dates.ts';
import { type DownloadBounds, downloadSource, type FileDownload } from '../sources/download.ts';
import { downloadable, REGISTER_SOURCES, type RegisterSourceId } from '../sources/index.ts';
import { noUsableRow } from '../sources/layout-error.ts';
import { openBytes, partName } from '../sources/open.ts';
import type { Reject } from '../sources/records.ts';
import type { RegisterHeader, RegisterReader, Registration } from '../sources/registers/registration.ts';
import { addFile, countInForce, type RegisterState, rowsByFirm } from './history.ts';
import { REGISTER_LIMITS } from './limits.ts';
import type { RegisterStore } from './store.ts';

/** Returns true if a text is the id of a source. */
export const isRegisterSource = (text: string): text is RegisterSourceId =>
  REGISTER_SOURCES.some(({ id }) => id === text);

export interface RegisterImportOptions {
  readonly source: RegisterSourceId;
  readonly files: readonly string[];
  /** ISO date of the register's content, if neither the file nor its name contains it. */
  readonly published?: string;
  /** For `registers`: the file contains the whole of its registers. */
  readonly whole?: boolean;
  /** Accepts a file that removes more than half of a register. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

export interface RegisterImportDeps {
  readonly store: RegisterStore;
  readonly clock: Clock;
}

/** The result of one file for one register. */
export interface RegisterReport {
  readonly register: string;
  readonly file: string;
  readonly asOf: string;
  readonly status: 'imported' | 'unchanged';
  /** Rows of the file for this register. */
  readonly records: number;
  readonly rejected: number;
  /** The first rejected rows. */
  readonly rejects: readonly Reject[];
  /** Firms on the register as of its newest complete file, and firms that are off it. */
  readonly inForce: number;
  readonly withdrawn: number;
}

/** Rejected rows that a report lists. */
const REJECTS_LISTED = 20;

/** Below this many firms, losing half of a register is not a sign of a truncated file. */
const IMPLAUSIBLE_FROM = 10;

/** Loads the reader of a source. */
function readerOf({ source, whole = false }: RegisterImportOptions): Promise<RegisterReader> {
  const found = REGISTER_SOURCES.find(({ id }) => id === source);
  if (found === undefined) throw new Error(`There is no source of registers '${source}'.`);
  return found.read({ whole });
}

interface ReadFile {
  readonly header: RegisterHeader;
  readonly rows: readonly Registration[];
  readonly rejects: readonly Reject[];
}

/** Reads a whole file. Throws INVALID_FILE. */
async function readFile(reader: RegisterReader, path: string, signal?: AbortSignal): Promise<ReadFile> {
  const rows: Registration[] = [];
  const rejects: Reject[] = [];
  let header: RegisterHeader | null = null;
  for await (const record of reader(path)) {
    signal?.throwIfAborted();
    if (record.type === 'register') header = record;
    else if (record.type === 'reject') rejects.push(record);
    else rows.push(record);
    if (rows.length + rejects.length > REGISTER_LIMITS.registerRowsMax) {
      throw new AssayError(
        'INVALID_FILE',
        `${partName(path)}: has more than ${REGISTER_LIMITS.registerRowsMax} rows, more than any register.`,
        { field: 'file' },
      );
    }
  }
  if (header === null)
    throw new AssayError('INVALID_FILE', `${partName(path)}: is empty.`, { field: 'file' });
  return { header, rows, rejects };
}

async function contentHash(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of openBytes(path)) hash.update(bytes);
  return hash.digest('hex');
}

/**
 * Imports files, all or none.
 *
 * @throws INVALID_FILE, INVALID_REQUEST, IMPLAUSIBLE_LIST, STORE_BUSY
 */
export async function importRegisters(
  options: RegisterImportOptions,
  { store, clock }: RegisterImportDeps,
): Promise<readonly RegisterReport[]> {
  const reader = await readerOf(options);
  const published = options.published === undefined ? null : readDate(options.published);
  if (options.published !== undefined && published?.length !== 10) {
    throw new AssayError('INVALID_REQUEST', `published: '${options.published.slice(0, 32)}' is not a date.`, {
      field: 'published',
    });
  }
  return store.locked(async (commit) => {
    const states = new Map<string, RegisterState>();
    const changed = new Set<string>();
    const reports: RegisterReport[] = [];
    for (const path of options.files) {
      const { header, rows, rejects } = await readFile(reader, path, options.signal);
      // A complete register may be empty; an empty table of unknown registers, or one of nothing but rejects, is another file.
      if (rows.length === 0 && (rejects.length > 0 || header.whole.length === 0))
        throw noUsableRow([header.file], `the source '${options.source}'`, {
          rejected: rejects.length,
          rejects,
        });
      const asOf = published ?? header.publishedAt;
      if (asOf === null) {
        throw new AssayError(
          'INVALID_REQUEST',
          `published: ${header.file} does not state its date. Pass the date with --published YYYY-MM-DD.`,
          { field: 'published' },
        );
      }
      requirePublished(asOf, clock.now(), published === null ? 'INVALID_FILE' : 'INVALID_REQUEST');
      const hash = await contentHash(path);
      const registers = new Set([...header.whole, ...rows.map((row) => row.register)]);
      for (const register of registers) {
        const own = rows.filter((row) => row.register === register);
        const before = states.get(register) ?? store.state(register, options.source);
        const whole = header.whole.includes(register);
        const file = { asOf, contentHash: hash, layout: header.layout, whole, records: own.length };
        const after = addFile(before, file, rowsByFirm(own, asOf));
        if (after.files.length > REGISTER_LIMITS.registerFilesMax) {
          throw new AssayError(
            'INVALID_REQUEST',
            `${register}: has ${after.files.length} files, more than ${REGISTER_LIMITS.registerFilesMax}.`,
          );
        }
        const isNew = after !== before;
        if (isNew && options.force !== true) requirePlausible(before, after, header.file);
        if (isNew) changed.add(register);
        states.set(register, after);
        const inForce = countInForce(after);
        reports.push({
          register,
          file: header.file,
          asOf,
          status: isNew ? 'imported' : 'unchanged',
          records: own.length,
          rejected: rejects.length,
          rejects: rejects.slice(0, REJECTS_LISTED),
          inForce,
          withdrawn: after.firms.length - inForce,
        });
      }
    }
    const written = [...states.values()].filter((state) => changed.has(state.register));
    if (written.length > 0) commit(written, isoTime(clock.now()));
    return reports;
  });
}

/** Throws IMPLAUSIBLE_LIST if more than half of the firms on the register would be off it at once, which suggests a truncated file. */
function requirePlausible(before: RegisterState, after: RegisterState, file: string): void {
  const was = countInForce(before);
  const is = countInForce(after);
  if (was < IMPLAUSIBLE_FROM || is * 2 >= was) return;
  throw new AssayError(
    'IMPLAUSIBLE_LIST',
    `${file}: would leave ${is} of ${was} firms on ${after.register}. If that is correct, import it with --force.`,
    { field: 'file' },
  );
}

/** Argument of `assay sync` for all registers that can be downloaded. */
export const ALL_REGISTERS = 'registers';

type DownloadableRegister = (typeof REGISTER_SOURCES)[number];

/** Sources of registers that can be downloaded. */
export const downloadableRegisters: readonly DownloadableRegister[] = downloadable(REGISTER_SOURCES);

export interface RegisterRefresh {
  readonly source: RegisterSourceId;
  readonly ok: boolean;
  readonly downloads: readonly FileDownload[];
  readonly registers: readonly RegisterReport[];
  readonly errors: readonly string[];
}

export interface RegisterRefreshOptions {
  /** URL of a mirror; file names are appended to it. */
  readonly from?: string | undefined;
  readonly force?: boolean;
  /** Headers that authenticate requests to the publisher. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal;
  readonly bounds?: Partial<DownloadBounds>;
}

/**
 * Downloads the files of a source and imports those that changed. Failures are listed in `errors`, and leave the last valid state in
 * force.
 */
export async function refreshRegister(
  source: DownloadableRegister,
  options: RegisterRefreshOptions,
  deps: RegisterImportDeps & { readonly log: Logger },
): Promise<RegisterRefresh> {
  const { from, force = false, credentials, signal, bounds } = options;
  const errors: string[] = [];
  const registers: RegisterReport[] = [];
  const downloads = await downloadSource(
    source,
    {
      folder: join(deps.store.folder, 'downloads', source.id),
      force,
      ...(from === undefined ? {} : { from }),
      ...(credentials === undefined ? {} : { credentials }),
      ...(signal ? { signal } : {}),
      ...(bounds ? { bounds } : {}),
    },
    {
      clock: deps.clock,
      log: deps.log,
      parse: async (path) => void (await readFile(await source.read({ whole: false }), path, signal)),
    },
  );
  for (const file of downloads) {
    signal?.throwIfAborted();
    if (file.status === 'failed' && !file.optional) errors.push(`${file.name}: ${file.reason}`);
    if (file.path === null) continue;
    const day = (file.lastModified ?? file.checkedAt ?? isoTime(deps.clock.now())).slice(0, 10);
    try {
      if (file.status !== 'updated' && (await isNewest(deps.store, file.path))) continue;
      registers.push(
        ...(await importRegisters(
          { source: source.id, files: [file.path], published: day, force, ...(signal ? { signal } : {}) },
          deps,
        )),
      );
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(`${file.name}: ${messageOf(error)}`);
    }
  }
  return { source: source.id, ok: errors.length === 0, downloads, registers, errors };
}

/** Returns true if the confirmed file is already the newest file of a register: importing it with another date would add no information. */
async function isNewest(store: RegisterStore, path: string): Promise<boolean> {
  const hash = await contentHash(path);
  return store.catalogue().registers.some((row) => row.files.at(-1)?.contentHash === hash);
}
