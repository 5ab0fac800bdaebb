/** The output of `index stats`: the counts of the published snapshot, with real and synthetic labels apart. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { currentSnapshot } from './folder.ts';
import { ENVIRONMENT_FILE } from './format.ts';
import type { SnapshotMeta } from './reader.ts';
import { openViews } from './snapshot.ts';

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
  const { environment, views } = openViews(path);
  const { layout: _, ...meta } = views.meta;
  await environment.close();
  return { path, bytesOnDisk: statSync(join(path, ENVIRONMENT_FILE)).size, meta };
}
