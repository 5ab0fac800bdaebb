/**
 * The store of all listed parties: for each list the parties of its newest file, as lines of JSON, and the parties that only an
 * older file has. A catalogue names the file of each list; it is replaced atomically after the file is complete. A writer must
 * hold the lock of the label store, so that there is one writer across processes.
 */
import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { AssayError } from '../base/errors.ts';
import { openLines } from '../sources/open.ts';
import type { UnreadableRow } from '../sources/unreadable-rows.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { wrongFormat } from '../state/format-version.ts';
import type { NameEntity, NameListType } from './name.ts';

/** Returns the names folder inside the program's data folder. */
export const namesFolderOf = (dataDir: string): string => join(dataDir, 'names');

/** The catalogue row of one list. */
export interface NameListRow {
  /** Id of the list: `OFAC_SDN`, `EU`, `opensanctions:peps:pep`, `people:watch-list:adverse_media`. */
  readonly list: string;
  readonly listType: NameListType;
  /** Source id, as for `assay import`, or `seed`. */
  readonly source: string;
  readonly layout: string;
  /** Publication of the newest file: ISO date or time. */
  readonly publishedAt: string;
  /** ISO time at which the publisher was last known to publish nothing newer. */
  readonly checkedAt: string;
  readonly importedAt: string;
  readonly contentHash: string;
  /** Name of the file with the parties, in the folder of the lists. */
  readonly file: string;
  /** SHA-256 of the lines of that file, hex; absent for lists of earlier versions. */
  readonly sha256?: string;
  /** Number of parties on the list, and of former parties. */
  readonly parties: number;
  readonly delisted: number;
  readonly rejected: number;
  /** False for facts that ship with the product and were not checked against a publisher's file. */
  readonly verified: boolean;
  /** Version of the readers that read the file; absent for lists of earlier versions and of other sources than official lists. */
  readonly reader?: number;
  /** Hashes of rows that could not be read and show no party; absent like `reader`. */
  readonly unreadableRows?: readonly string[];
}

/** A list that was read but is not written yet. */
export type NewList = Pick<
  NameListRow,
  | 'list'
  | 'listType'
  | 'source'
  | 'layout'
  | 'publishedAt'
  | 'checkedAt'
  | 'importedAt'
  | 'contentHash'
  | 'rejected'
  | 'verified'
  | 'reader'
>;

export interface NameStore {
  readonly folder: string;
  /** Returns all lists, ordered by id. Throws STORE_CORRUPT, STORE_VERSION. */
  rows(): readonly NameListRow[];
  row(list: string): NameListRow | null;
  /** Returns a hash that changes whenever the content of a list changes. */
  revision(): string;
  /** Yields the parties of a list, including former ones (with `delistedAt`). */
  parties(row: NameListRow): AsyncGenerator<NameEntity, void, undefined>;
  /** Whether the file of a list is as it was written. */
  isIntact(row: NameListRow): Promise<boolean>;
  /** Creates a writer for a list's parties; `finish` replaces the former parties. */
  write(list: string): Promise<ListWriter>;
  /** Records a later check of a list, without changing its parties. */
  confirm(list: string, checkedAt: string): void;
  /** Removes lists. */
  remove(lists: readonly string[]): void;
}

export interface ListWriter {
  /** Number of parties so far, without those that the file itself marks as delisted. */
  readonly parties: number;
  add(party: NameEntity): Promise<void>;
  /**
   * Puts the list in force. Parties of the former file that the new one
   * lacks stay as history, delisted on the day of the new publication.
   *
   * @throws STORE_CORRUPT if the former file is damaged
   */
  finish(row: NewList, options?: FinishOptions): Promise<NameListRow>;
  /** Removes the written file, unless it is finished. */
  abort(): Promise<void>;
}

interface FinishOptions {
  /** Forget the former parties if their file is damaged. Default: false. */
  readonly force?: boolean | undefined;
  /** Parties of the former file that the new one lacks stay in force, unless `force`. Default: false. */
  readonly keepsFormer?: boolean;
  /**
   * Rows that could not be read, unless the source has no such rows. Their parties stay as they were, unless `force`. If one that shows no
   * party was not in the former file, so does any party that the new file lacks: it may be in this row.
   */
  readonly unreadable?: readonly UnreadableRow[];
}

const FORMAT = 1;
/** The parties that were delisted are in no newer file. */
const REMEDY =
  'Restore it from a backup. Or import the list again with --force, which forgets the parties that an earlier file had.';
/** Suffix of the files that this process is writing. */
const PARTIAL = `.${process.pid}.partial`;

interface Catalogue {
  readonly format: number;
  readonly lists: readonly NameListRow[];
}

/** Opens the name store in a folder; nothing is written before the first change. */
export function openNameStore(options: { readonly folder: string }): NameStore {
  const { folder } = options;
  const listsFolder = join(folder, 'lists');
  const cataloguePath = join(folder, 'catalogue.json');

  const rows = (): readonly NameListRow[] => readCatalogue(cataloguePath);
  const row = (list: string): NameListRow | null => rows().find((one) => one.list === list) ?? null;

  function save(lists: readonly NameListRow[]): void {
    const ordered = [...lists].sort((a, b) => (a.list < b.list ? -1 : 1));
    writeJsonAtomically(cataloguePath, { format: FORMAT, lists: ordered } satisfies Catalogue);
    const keep = new Set(ordered.map((one) => one.file));
    if (!existsSync(listsFolder)) return;
    for (const name of readdirSync(listsFolder)) {
      // Keep partial files: other lists of the same import are still being written. Other processes never write at the same
      // time, so their partial files are deleted.
      if (!keep.has(name) && !name.endsWith(PARTIAL)) rmSync(join(listsFolder, name), { force: true });
    }
  }

  async function* parties(of: NameListRow): AsyncGenerator<NameEntity, void, undefined> {
    const path = join(listsFolder, of.file);
    if (!existsSync(path)) throw new AssayError('STORE_CORRUPT', `${path} is missing. ${REMEDY}`);
    const digest = createHash('sha256');
    for await (const { line, text } of openLines(path)) {
      if (text === '') continue;
      digest.update(text).update('\n');
      let party: NameEntity;
      try {
        party = JSON.parse(text) as NameEntity;
      } catch (cause) {
        throw new AssayError('STORE_CORRUPT', `${path}, line ${line}: is not a listed party. ${REMEDY}`, {
          cause,
        });
      }
      yield party;
    }
    if (of.sha256 !== undefined && digest.digest('hex') !== of.sha256)
      throw new AssayError('STORE_CORRUPT', `${path} is damaged: it does not match its checksum. ${REMEDY}`);
  }

  async function isIntact(of: NameListRow): Promise<boolean> {
    try {
      for await (const _ of parties(of));
      return true;
    } catch (error) {
      if (error instanceof AssayError && error.code === 'STORE_CORRUPT') return false;
      throw error;
    }
  }

  async function write(list: string): Promise<ListWriter> {
    mkdirSync(listsFolder, PRIVATE_FOLDER);
    const name = list.replace(/[^\w.-]/g, '_');
    const partial = join(listsFolder, name + PARTIAL);
    const out = createWriteStream(partial);
    // A write error is thrown by the next write or by the end of the stream.
    let failure: Error | null = null;
    const digest = createHash('sha256');
    out.on('error', (error) => {
      failure = error;
    });
    const ids = new Set<string>();
    let inForce = 0;
    let gone = 0;
    let finishedWriting = false;

    async function put(party: NameEntity): Promise<void> {
      if (failure !== null) throw failure;
      const line = `${JSON.stringify(party)}\n`;
      digest.update(line);
      if (!out.write(line)) {
        await new Promise<void>((resolve) => {
          const go = (): void => {
            out.off('drain', go);
            out.off('close', go);
            resolve();
          };
          out.on('drain', go);
          out.on('close', go);
        });
      }
    }

    async function keepHistory(
      former: NameListRow,
      since: string,
      isHidden: (party: NameEntity) => boolean,
    ): Promise<{ readonly delisted: number; readonly hidden: number }> {
      let delisted = 0;
      let hidden = 0;
      for await (const party of parties(former)) {
        if (ids.has(party.entityId)) continue;
        if (party.delistedAt === null && isHidden(party)) {
          inForce++;
          hidden++;
          await put(party);
          continue;
        }
        delisted++;
        await put({ ...party, delistedAt: party.delistedAt ?? since.slice(0, 10) });
      }
      return { delisted, hidden };
    }

    return {
      get parties() {
        return inForce;
      },
      async add(party) {
        if (ids.has(party.entityId)) return;
        ids.add(party.entityId);
        if (party.delistedAt === null) inForce++;
        else gone++;
        await put(party);
      },
      async finish(fresh, { force = false, keepsFormer = false, unreadable } = {}) {
        const former = row(list);
        const isForgotten = former !== null && force && !(await isIntact(former));
        const misread = new Set(unreadable?.map(({ entityId }) => entityId));
        const unread = (unreadable ?? []).filter(({ entityId }) => entityId === null).map(({ hash }) => hash);
        // Publishers repeat a misprint for years. An earlier version did not keep the rows: any of them may be repeated.
        const known = new Set(former?.unreadableRows ?? (former?.rejected === 0 ? [] : unread));
        const added = unread.filter((hash) => !known.has(hash));
        let isHiding = false;
        if (former !== null && !isForgotten) {
          const { delisted, hidden } = await keepHistory(
            former,
            fresh.publishedAt,
            ({ entityId }) => !force && (keepsFormer || added.length > 0 || misread.has(entityId)),
          );
          gone += delisted;
          isHiding = added.length > 0 && hidden > 0;
        }
        out.end();
        await finished(out);
        const handle = await open(partial, 'r');
        await handle.sync();
        await handle.close();
        const file = `${name}-${hashOf([fresh.contentHash, former?.file ?? '']).slice(0, 16)}.ndjson`;
        await rename(partial, join(listsFolder, file));
        finishedWriting = true;
        const sha256 = digest.digest('hex');
        const written: NameListRow = {
          ...fresh,
          ...{ file, sha256, parties: inForce, delisted: gone },
          // Rows that hide a party count as new in the next file, too.
          ...(unreadable === undefined
            ? {}
            : { unreadableRows: unread.filter((hash) => !isHiding || known.has(hash)) }),
        };
        save([...rows().filter((one) => one.list !== list), written]);
        return written;
      },
      async abort() {
        if (finishedWriting) return;
        out.destroy();
        await finished(out).catch(() => {});
        rmSync(partial, { force: true });
      },
    };
  }

  return {
    folder,
    rows,
    row,
    revision: () => hashOf(rows().map((one) => [one.list, one.file, one.publishedAt])),
    parties,
    isIntact,
    write,
    confirm(list, checkedAt) {
      const lists = rows();
      const known = lists.find((one) => one.list === list);
      if (known === undefined || Date.parse(known.checkedAt) >= Date.parse(checkedAt)) return;
      save(lists.map((one) => (one === known ? { ...one, checkedAt } : one)));
    },
    remove(lists) {
      const before = rows();
      const after = before.filter((one) => !lists.includes(one.list));
      if (after.length < before.length) save(after);
    },
  };
}

const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');

function readCatalogue(path: string): readonly NameListRow[] {
  if (!existsSync(path)) return [];
  const catalogue = readJson(path) as Catalogue;
  if (catalogue.format !== FORMAT) throw wrongFormat(path, catalogue.format, FORMAT);
  return catalogue.lists;
}
