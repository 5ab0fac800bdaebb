/** Requests, dependencies and reports of imports. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { SanctionsList, SourceId } from '../sources/index.ts';
import type { OwnMapping } from '../sources/own/columns.ts';
import type { SourceRecord } from '../sources/records.ts';
import type { Source } from '../sources/source.ts';
import type { Rulebook } from './map.ts';
import type { RejectReason } from './rejects.ts';
import type { DatasetRow, LabelStore } from './store.ts';

export interface ImportProgress {
  readonly source: SourceId;
  /** Name of the file that is being read. */
  readonly file: string;
  readonly records: number;
  readonly rejected: number;
}

export interface ImportRequest {
  readonly source: SourceId;
  readonly files: readonly string[];
  /** Publication date of a list if its file does not state it: ISO date. */
  readonly published?: string;
  /** Delist more than half of a list, replace a list by an empty one, import unchanged content again. */
  readonly force?: boolean;
  /** `own`: columns of the file and the fields they contain. */
  readonly mapping?: OwnMapping;
  /** Name of the dataset. Default: the name that the source gives (layout, file name). */
  readonly dataset?: string;
  /** The operator accepts the licence of a source with a restricted one. Default: false, such a source is refused. */
  readonly acceptLicence?: boolean;
  /** `Last-Modified` of a download: ISO time. */
  readonly lastModified?: string | null;
  /**
   * ISO time at which the files were fetched from their publisher. Default: a file proves the state of its list up to its
   * publication only.
   */
  readonly checkedAt?: string;
  /** `checkedAt` is an operator's statement, not the time of a download. */
  readonly isAttested?: boolean;
  readonly onProgress?: (progress: ImportProgress) => void;
  readonly signal?: AbortSignal;
}

export interface ImportDeps {
  readonly store: LabelStore;
  readonly rules: Rulebook;
  readonly clock: Clock;
  readonly log: Logger;
  /** The sources that exist. Default: SOURCES. */
  readonly sources?: readonly Source[];
  /** Starts a receiver for the records of one reading of sanctions lists, so that one parse feeds labels and names. */
  readonly receiveLists?: (files: ListFiles) => ListReceiver | null;
}

/** Files of sanctions lists that are read together. */
export interface ListFiles {
  readonly source: SourceId;
  readonly files: readonly string[];
  /** Hash of the content of the files. */
  readonly contentHash: string;
  /** As in the request. Default: false. */
  readonly force?: boolean;
}

/** Receives the records of one reading of sanctions lists. All calls are made while the lock of the label store is held. */
export interface ListReceiver {
  /** Takes the next record. No record arrives if the label store has the content of the files already. */
  take(record: SourceRecord<SanctionsList>): Promise<void>;
  /** Puts the records in force. Called once, after the wallets of the files are in the label store. */
  finish(read: ListsRead): Promise<void>;
  /** Discards what is not in force. Called last, also after `finish`. */
  abort(): Promise<void>;
}

/** Files of sanctions lists that were imported now or before. */
export interface ListsRead {
  readonly lists: readonly Pick<ListChange, 'list' | 'publishedAt'>[];
  /** ISO time at which the files were fetched from their publisher; null for files of unknown age. */
  readonly checkedAt: string | null;
}

/** The effect of an import on one list. */
export interface ListChange {
  readonly list: SanctionsList;
  readonly publishedAt: string;
  /** Publication of the newest file of the list, which decides; the imported file may be older. */
  readonly newestAt: string | null;
  readonly parties: number;
  readonly wallets: number;
  /** Wallets in force after the import, and wallets known as history. */
  readonly inForce: number;
  readonly delisted: number;
  /** Wallets in force that the newest file lacks, because it has an unreadable row in their place. */
  readonly heldBack: number;
}

export interface DatasetReport {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  /** `history`: an older file of a list, which adds to the history and changes nothing in force. */
  readonly status: 'imported' | 'unchanged' | 'history';
  /** Records of the publisher, without rejects; parties for a list. */
  readonly records: number;
  readonly labels: number;
  readonly rejected: number;
  /** File with the rejected rows; null if there are none. */
  readonly rejectsFile: string | null;
  /** Why rows were rejected, with the first rows of each reason; empty if the content is unchanged. */
  readonly reasons: readonly RejectReason[];
  /** Records in a segment that no index reads: lower-cased base58 addresses. */
  readonly keptApart: number;
  readonly lists: readonly ListChange[];
}

export interface ImportReport {
  readonly source: SourceId;
  readonly datasets: readonly DatasetReport[];
  /** Whether the store now holds anything that an earlier snapshot does not. */
  readonly changed: boolean;
}

/** Returns the report of a dataset from its row in the catalogue. */
export function datasetReport(
  row: Omit<DatasetRow, 'folder'>,
  status: DatasetReport['status'],
  files: readonly string[],
  rejectsFile: string | null,
  reasons: readonly RejectReason[] = [],
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
    reasons,
    keptApart: row.keptApart ?? 0,
    lists: [],
  };
}
