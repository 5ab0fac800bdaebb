/** Options and progress of a snapshot build. The build itself is in build.ts. */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Designations } from '../designations.ts';
import type { Label } from '../label.ts';
import type { SnapshotSource } from './reader.ts';

/** One dataset to build from; the build fills in `labels` of its source. */
export interface SegmentRef {
  /** Path of the segment without suffix, as passed to `createSegmentWriter`. */
  readonly path: string;
  readonly source: Omit<SnapshotSource, 'labels'>;
}

export type BuildPhase = 'read' | 'sort' | 'filter' | 'merge' | 'write' | 'publish';

export interface BuildProgress {
  readonly phase: BuildPhase;
  /** Labels done in this phase, and in total. */
  readonly done: number;
  readonly total: number;
}

export interface BuildOptions {
  readonly segments: readonly SegmentRef[];
  /** The folder with all snapshots and the CURRENT pointer. */
  readonly folder: string;
  /** Order of an address's labels, primary first (negative: `a` before `b`). Ties are broken by content, never by file order. */
  readonly compareLabels: (a: Label, b: Label) => number;
  /** Designations of entities: labels of these entities get their entries. Default: none. */
  readonly designations?: Designations;
  /** Labels of one partition. Default: `partitionLabelsMax`; smaller in tests. */
  readonly partitionLabels?: number;
  readonly onProgress?: (progress: BuildProgress) => void;
  readonly signal?: AbortSignal;
}

export interface BuildDeps {
  readonly clock: Clock;
  readonly log: Logger;
}
