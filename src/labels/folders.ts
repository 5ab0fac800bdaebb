/** Folders of labels and of their index inside the data folder. */
import { join } from 'node:path';

/** Returns the folder of all label state. */
export const labelsFolderOf = (dataDir: string): string => join(dataDir, 'labels');

/** Returns the folder of published snapshots. */
export const snapshotsFolderOf = (dataDir: string): string => join(dataDir, 'snapshots');
