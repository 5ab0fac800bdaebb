/** A server reads its large files into memory when it starts, so that requests do not wait for the disk. */
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { STATE_LIMITS } from '../../src/state/limits.ts';
import { newWorld, until } from './program.ts';

const world = newWorld();
afterAll(() => world.end());

it('reads a large store of transfers at the start of the server', async () => {
  const file = join(world.folder, 'transfers.ndjson');
  const transfer = {
    txHash: `0x${'1'.repeat(64)}`,
    position: 'value',
    blockNumber: 20_000_000,
    timestamp: '2024-06-01T00:00:00Z',
    from: `0x${'2'.repeat(40)}`,
    to: `0x${'3'.repeat(40)}`,
    asset: 'ETH',
    amount: '1',
  };
  writeFileSync(file, `${JSON.stringify(transfer)}\n`);
  const ingested = await world.run(['ingest', 'ndjson', file, '--chain', 'ETH', '--no-prices']);
  expect(ingested).toMatchObject({ code: 0 });
  const path = join(world.folder, 'store', 'transfers', 'eth.mdb');
  // LMDB accepts a file that is longer than its pages. The added part is a hole, which takes no room on the disk.
  const bytes = STATE_LIMITS.checkedAtOpenBytesMax + 1024 * 1024;
  truncateSync(path, bytes);
  const server = await world.serve();
  const lines = (): { readonly msg: string; readonly path?: string; readonly bytes?: number }[] =>
    server
      .output()
      .err.trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  await until(() => lines().some(({ msg }) => msg === 'file read into memory'));
  expect(lines().filter(({ msg }) => msg === 'file read into memory')).toEqual([
    expect.objectContaining({ path, bytes }),
  ]);
  await server.stop();
});
