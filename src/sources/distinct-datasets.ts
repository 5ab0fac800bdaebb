/** Files of one import that would replace each other. */
import { AssayError } from '../base/errors.ts';

/** Files that are imported together, and the name of the dataset that they become. */
export interface FilesOfDataset {
  readonly files: readonly string[];
  readonly dataset: string;
}

/**
 * Checks that no two files of one import would be the same dataset: the second would replace the first.
 *
 * @throws INVALID_FILE with the files of the first two
 */
export function requireDistinctDatasets(datasets: readonly FilesOfDataset[]): void {
  const known = new Map<string, readonly string[]>();
  for (const { files, dataset } of datasets) {
    const same = known.get(dataset);
    if (same !== undefined)
      throw new AssayError(
        'INVALID_FILE',
        `file: ${same.join(', ')} and ${files.join(', ')} would both be the dataset '${dataset}', and only the last would stay. ` +
          'Join them to one file, or import each by a call of its own with another --dataset. No file of this call was imported.',
        { field: 'file' },
      );
    known.set(dataset, files);
  }
}
