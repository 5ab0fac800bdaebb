/** What an import is asked for, what it needs, and what it says that it did. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { OwnMapping } from '../sources/own/columns.ts';
import type { SanctionsList } from '../sources/records.ts';
import type { ImportSourceId } from './import-sources.ts';
import type { Rulebook } from './map.ts';
import type { DatasetRow, LabelStore } from './store.ts';

export interface ImportProgress {
  readonly source: ImportSourceId;
  /** Name of the file that is being read. */
  readonly file: string;
  readonly records: number;
  readonly rejected: number;
}

export interface ImportRequest {
  readonly source: ImportSourceId;
  readonly files: readonly string[];
  /** Publication of a list whose file does not say it: ISO date. */
  readonly published?: string;
  /** Delist more than half of a list, replace by an empty list, import unchanged content again. */
  readonly force?: boolean;
  /** `own`: columns of the file and the fields they stand for. */
  readonly mapping?: OwnMapping;
  /** Name of the dataset, where the one that the source gives (layout, file name) is not wanted. */
  readonly dataset?: string;
  /** `Last-Modified` of a download: ISO time. */
  readonly lastModified?: string | null;
  /** ISO time at which the files were fetched from their publisher. Default: a file proves its list up to its publication only. */
  readonly checkedAt?: string;
  /** `checkedAt` is an operator's statement, not a download. */
  readonly isAttested?: boolean;
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ImportDeps {
  readonly store: LabelStore;
  readonly rules: Rulebook;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of files of sanctions lists once their wallets are in the store, its lock still held: others read the same files. */
  readonly onLists?: (read: ListsRead) => Promise<void>;
}

/** Files of sanctions lists that were imported, or had been before. */
export interface ListsRead {
  readonly source: ImportSourceId;
  readonly files: readonly string[];
  readonly contentHash: string;
  readonly lists: readonly Pick<ListChange, 'list' | 'publishedAt'>[];
  readonly checkedAt: string | null;
}

/** What an import did to one list. */
export interface ListChange {
  readonly list: SanctionsList;
  readonly publishedAt: string;
  /** Publication of the newest file of the list, which decides; not this one's where this one is older. */
  readonly newestAt: string | null;
  readonly parties: number;
  readonly wallets: number;
  /** Wallets in force afterwards, and wallets known as history. */
  readonly inForce: number;
  readonly delisted: number;
}

export interface DatasetReport {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  /** `history`: an older file of a list, which adds to the past and changes nothing in force. */
  readonly status: 'imported' | 'unchanged' | 'history';
  /** Records of the publisher, rejects not counted; parties for a list. */
  readonly records: number;
  readonly labels: number;
  readonly rejected: number;
  /** File with the rejected rows; null where there are none. */
  readonly rejectsFile: string | null;
  readonly lists: readonly ListChange[];
}

export interface ImportReport {
  readonly source: ImportSourceId;
  readonly datasets: readonly DatasetReport[];
  /** Whether the store holds anything now that a snapshot built before does not. */
  readonly changed: boolean;
}

/** What is said of a dataset, as its row in the catalogue has it. */
export function datasetReport(
  row: Omit<DatasetRow, 'folder'>,
  status: DatasetReport['status'],
  files: readonly string[],
  rejectsFile: string | null,
): DatasetReport {
  return {
    source: row.source,
    dataset: row.dataset,
    layout: row.layout,
    files,
    publishedAt: row.publishedAt,
    status,
    records: row.records,
    labels: row.segments.reduce((sum, segment) => sum + segment.labels, 0),
    rejected: row.rejected,
    rejectsFile,
    lists: [],
  };
}
