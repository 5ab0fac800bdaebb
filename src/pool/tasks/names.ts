/** Screening of names against the lists. Name lists are published independently of label snapshots. */
import type { NameRequest } from '../../names/screen-names.ts';
import { jsonBytes, task } from '../task.ts';

export const namesTask = task({
  name: 'names',
  run:
    ({ screenNames }) =>
    (requests: readonly NameRequest[]): Uint8Array =>
      jsonBytes(screenNames(requests)),
  readsSnapshots: false,
});
