/** Code that runs without a pause, like a chunk of a bulk job, reads the newest version of a remote graph once its reading has ended. */
import { expect, it } from 'vitest';
import { endReading } from '../../../src/base/reading.ts';
import { REMOTE_FORMAT } from '../../../src/graph/remote/layout.ts';
import { REMOTE_LIMITS } from '../../../src/graph/remote/limits.ts';
import { RemoteRecords } from '../../../src/graph/remote/records.ts';

it('looks for a newer version with a new reading, and never within one', () => {
  let nowMs = 0;
  let version = 1;
  const records = new RemoteRecords('ETH', {
    clock: { monotonic: () => nowMs },
    fetch: () => [
      Buffer.from(
        JSON.stringify({ format: REMOTE_FORMAT, generation: 1, version, state: { transfers: version } }),
      ),
    ],
  });
  expect(records.state().transfers).toBe(1);
  version = 2;
  nowMs += REMOTE_LIMITS.remoteHeadMs + 1;
  expect(records.state().transfers).toBe(1);
  endReading();
  expect(records.state().transfers).toBe(2);
});
