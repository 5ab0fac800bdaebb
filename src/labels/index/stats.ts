/** The output of `index stats`: the counts of the published snapshot, with real and synthetic labels apart. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { currentSnapshot } from './folder.ts';
import { snapshotFiles } from './format.ts';
import type { SnapshotMeta } from './reader.ts';
import { readSnapshotMeta } from './snapshot-views.ts';

export interface IndexStats {
  readonly path: string;
  readonly bytesOnDisk: number;
  readonly meta: Omit<SnapshotMeta, 'layout'>;
}

/**
 * Reads the counts of the published snapshot.
 *
 * @throws NOT_READY if no snapshot was published yet.
 */
export async function readIndexStats(root: string): Promise<IndexStats> {
  const path = currentSnapshot(root);
  if (path === null)
    throw new AssayError('NOT_READY', `There is no label index in ${root}. Run 'assay index build'.`);
  const { layout, ...meta } = await readSnapshotMeta(path);
  const bytesOnDisk = snapshotFiles(layout.partitions?.length ?? 1)
    .filter((name) => name.endsWith('.mdb'))
    .reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  return { path, bytesOnDisk, meta };
}
