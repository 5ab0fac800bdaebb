/**
 * Downloads and imports every source of labels that needs no account, one after the other, and builds the index once. The state of a
 * run is a file beside the labels: a run that was interrupted continues after the last source that it finished.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { downloadable, SOURCES, type SourceId } from '../sources/index.ts';
import type { Source } from '../sources/source.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import type { ImportDeps } from './import-report.ts';
import { type RefreshOptions, type RefreshReport, refreshLists } from './refresh.ts';

/** The sources of one complete run. */
export interface SyncPlan {
  readonly wanted: readonly SourceId[];
  /** Sources of which the licence must be accepted first. */
  readonly restricted: readonly SourceId[];
  /** Sources that are imported by hand, because their download needs an account. */
  readonly accounts: readonly {
    readonly source: SourceId;
    readonly account: string;
    readonly command: string;
  }[];
}

export interface SyncAllReport extends RefreshReport {
  /** Sources that an interrupted run had finished. */
  readonly resumed: readonly string[];
  readonly restricted: readonly string[];
  readonly accounts: SyncPlan['accounts'];
}

interface SyncState {
  readonly format: number;
  readonly startedAt: string;
  readonly done: readonly string[];
}

const FORMAT = 1;

/** An interrupted run is continued for a day: later, the publishers have newer files of the sources that it finished. */
const RESUME_MS_MAX = 24 * 3_600_000;

/**
 * Returns which sources a complete run downloads.
 *
 * @param accepted - sources with a restricted licence that the operator accepts
 * @throws INVALID_REQUEST if an accepted source does not exist or has no restricted licence
 */
export function planSync(accepted: ReadonlySet<string>, sources: readonly Source[] = SOURCES): SyncPlan {
  const restricted = sources.filter(({ restriction }) => restriction !== null);
  for (const id of accepted) {
    if (restricted.some((source) => source.id === id)) continue;
    throw new AssayError(
      'INVALID_REQUEST',
      `acceptLicence: must be one of ${restricted.map((source) => source.id).join(', ')} (got '${id.slice(0, 40)}').`,
      { field: 'acceptLicence' },
    );
  }
  const ids = (found: readonly Source[]): SourceId[] => found.map(({ id }) => id as SourceId);
  return {
    wanted: ids(
      downloadable(sources).filter(({ id, restriction }) => restriction === null || accepted.has(id)),
    ),
    restricted: ids(restricted.filter(({ id }) => !accepted.has(id))),
    accounts: sources
      .filter(({ account }) => account !== null)
      .map(({ id, account }) => ({
        source: id as SourceId,
        account: account as string,
        command: `assay import ${id} FILE`,
      })),
  };
}

/**
 * Runs the plan. A source that fails does not stop the others; its last good state stays in force.
 *
 * @throws STORE_BUSY if another refresh runs
 * @throws the reason of the signal if it is aborted: the next run continues
 */
export async function syncAllLabels(
  options: Omit<RefreshOptions, 'sources' | 'onSource'>,
  deps: ImportDeps,
): Promise<SyncAllReport> {
  const plan = planSync(options.acceptedLicences ?? new Set(), deps.sources);
  const path = join(deps.store.folder, 'sync-all.json');
  const state = stateAt(path, deps.clock.now());
  const resumed = state?.done ?? [];
  const startedAt = state?.startedAt ?? isoTime(deps.clock.now());
  const done = new Set(resumed);
  const report = await refreshLists(
    {
      ...options,
      sources: plan.wanted.filter((source) => !done.has(source)),
      onSource({ source, ok }) {
        // A source that failed is tried again by a run that continues.
        if (!ok) return;
        done.add(source);
        writeJsonAtomically(path, { format: FORMAT, startedAt, done: [...done] } satisfies SyncState);
      },
    },
    deps,
  );
  if (report.buildError === null) rmSync(path, { force: true });
  return { ...report, resumed, restricted: plan.restricted, accounts: plan.accounts };
}

/** Returns the state of an interrupted run; null if none can be continued. */
function stateAt(path: string, nowMs: number): SyncState | null {
  if (!existsSync(path)) return null;
  try {
    const state = readJson(path) as SyncState;
    const age = nowMs - Date.parse(state.startedAt);
    return state.format === FORMAT && Array.isArray(state.done) && age >= 0 && age < RESUME_MS_MAX
      ? state
      : null;
  } catch (error) {
    // A run from the beginning is complete too.
    if (error instanceof AssayError) return null;
    throw error;
  }
}
