/** Builds a published snapshot of the datasets and lists in the label store that count now, if something has changed. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { packagesFiles } from '../sources/packages/read.ts';
import { seedFiles } from '../sources/seed/read.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { designationsOf } from './designations.ts';
import type { EntityParties } from './entity-parties.ts';
import { importFiles } from './import.ts';
import type { ImportDeps, ImportReport } from './import-report.ts';
import { buildSnapshot } from './index/build.ts';
import type { BuildProgress, SegmentRef } from './index/build-types.ts';
import { dayFromIso } from './index/days.ts';
import { currentSnapshot } from './index/folder.ts';
import { ENVIRONMENT_FILE } from './index/format.ts';
import type { SnapshotMeta } from './index/reader.ts';
import { createSegmentWriter } from './index/segment.ts';
import type { When } from './map.ts';
import { primaryOrder } from './primary.ts';
import { sanctionLabels } from './sanction-labels.ts';
import type { ListState } from './sanctions.ts';
import type { LabelStore, ListRow } from './store.ts';

export interface BuildIndexOptions {
  readonly snapshotsFolder: string;
  /** Build even if nothing has changed. */
  readonly force?: boolean;
  /** See BuildOptions. */
  readonly partitionLabels?: number;
  readonly onProgress?: (progress: BuildProgress) => void;
  readonly signal?: AbortSignal;
}

export interface BuildIndexReport {
  /** False if the published snapshot already matches the store. */
  readonly built: boolean;
  /** Of the new snapshot; null if none was built. */
  readonly meta: SnapshotMeta | null;
}

/** The inputs of the last snapshot. */
interface BuiltFile {
  readonly revision: string;
  /** Its path when it was built. A copied or restored data folder has another path and the same name. */
  readonly snapshot: string;
}

/**
 * Builds a snapshot of everything in the store that counts and publishes it, unless the published snapshot already matches.
 *
 * @throws STORE_BUSY while an import runs.
 * @throws INVALID_REQUEST if the store holds no label at all.
 */
export async function buildLabelIndex(
  options: BuildIndexOptions,
  deps: ImportDeps,
): Promise<BuildIndexReport> {
  const { store, rules, clock, log } = deps;
  return store.locked(async () => {
    // List labels and entries of designated owners are made at build time, so the snapshot also depends on rules and links.
    const parties = rules.parties();
    const revision = createHash('sha256')
      .update(`${store.revision()} ${rules.fingerprint} ${parties.fingerprint}`)
      .digest('hex');
    if (options.force !== true && isBuilt(store, options.snapshotsFolder, revision)) {
      return { built: false, meta: null };
    }
    const staging = join(store.folder, 'building');
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, PRIVATE_FOLDER);
    try {
      const states = store.catalogue().lists.map((row) => store.listState(row.list));
      const segments = [...datasetSegments(store), ...(await listSegments(staging, states, parties, deps))];
      const meta = await buildSnapshot(
        {
          segments,
          folder: options.snapshotsFolder,
          compareLabels: primaryOrder(rules.sources),
          designations: designationsOf(parties, states, rules.sources),
          ...(options.partitionLabels === undefined ? {} : { partitionLabels: options.partitionLabels }),
          ...(options.onProgress ? { onProgress: options.onProgress } : {}),
          ...(options.signal ? { signal: options.signal } : {}),
        },
        { clock, log },
      );
      const snapshot = currentSnapshot(options.snapshotsFolder) ?? '';
      writeJsonAtomically(builtPath(store), { revision, snapshot } satisfies BuiltFile);
      return { built: true, meta };
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  });
}

const builtPath = (store: LabelStore): string => join(store.folder, 'built.json');

function isBuilt(store: LabelStore, snapshotsFolder: string, revision: string): boolean {
  const current = currentSnapshot(snapshotsFolder);
  if (current === null || !existsSync(join(current, ENVIRONMENT_FILE)) || !existsSync(builtPath(store)))
    return false;
  try {
    const built = readJson(builtPath(store)) as Partial<Record<keyof BuiltFile, unknown>> | null;
    const snapshot = built?.snapshot;
    return (
      built?.revision === revision && typeof snapshot === 'string' && basename(snapshot) === basename(current)
    );
  } catch (error) {
    // A new build repairs an unreadable file.
    if (error instanceof AssayError) return false;
    throw error;
  }
}

/** Returns the segments of datasets that count, given which lists have been loaded. */
function datasetSegments(store: LabelStore): SegmentRef[] {
  const { datasets, lists } = store.catalogue();
  const loaded = new Set(lists.filter((row) => row.publishedAt !== null).map((row) => row.list));
  const counts = (when: When): boolean =>
    when === 'always' || ('unless' in when ? !loaded.has(when.unless) : loaded.has(when.once));
  return datasets.flatMap((row) =>
    row.segments
      .filter((segment) => counts(segment.when))
      .map((segment) => ({
        path: store.segmentPath(row, segment),
        source: {
          id: row.source,
          dataset: row.dataset,
          publishedAt: row.publishedAt,
          importedAt: row.importedAt,
          url: row.url,
          lists: [],
        },
      })),
  );
}

/** Writes the labels of each list as a segment. */
async function listSegments(
  staging: string,
  states: readonly ListState[],
  parties: EntityParties,
  deps: ImportDeps,
): Promise<SegmentRef[]> {
  const { store, rules } = deps;
  const rows = new Map(store.catalogue().lists.map((row) => [row.list, row]));
  const refs: SegmentRef[] = [];
  for (const state of states) {
    const row = rows.get(state.list) as ListRow;
    const path = join(staging, row.list);
    const writer = createSegmentWriter(path);
    for (const { key, template, firstSeen, lastSeen } of sanctionLabels(state, rules, parties)) {
      const id = writer.template(template);
      writer.add(key, 0, key.length, id, dayFromIso(firstSeen), dayFromIso(lastSeen));
    }
    await writer.close();
    const source = rules.sources.sourceOf(row.list);
    refs.push({
      path,
      source: {
        id: source,
        dataset: row.list,
        publishedAt: row.publishedAt,
        importedAt: row.importedAt,
        url: rules.sources.of(source)?.url ?? null,
        lists: [row.list],
      },
    });
  }
  return refs;
}

/**
 * Imports the labels that ship with Assay if the store lacks their present content, so that a fresh clone has an index.
 *
 * @throws NOT_FOUND if the shipped files are missing.
 */
export async function ensureShipped(deps: ImportDeps): Promise<readonly ImportReport[]> {
  const shipped = [
    { source: 'seed', files: await seedFiles() },
    { source: 'packages', files: await packagesFiles() },
  ] as const;
  const reports: ImportReport[] = [];
  for (const { source, files } of shipped) {
    if (files.length === 0) {
      throw new AssayError('NOT_FOUND', `The ${source} labels that ship with Assay are missing from data/.`);
    }
    reports.push(await importFiles({ source, files }, deps));
  }
  return reports;
}
