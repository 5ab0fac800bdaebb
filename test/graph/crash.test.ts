/** If a process is killed while it stores transfers, it leaves whole batches, and the next run ends in the state of an undisturbed run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { openTransferStore } from '../../src/graph/store.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-crash-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the transfer of a number; the child gets this function as text. */
const transferOf = (index: number): Transfer => ({
  chain: 'ETH',
  txHash: `0x${(index >> 1).toString(16).padStart(64, '0')}`,
  position: `log:${index}`,
  blockNumber: 1 + (index >> 4),
  timestampMs: 1_600_000_000_000 + index,
  from: `0x${(1 + (index % 7)).toString(16).padStart(40, '0')}`,
  to: `0x${(1 + ((index * 31) % 900)).toString(16).padStart(40, '0')}`,
  asset: 'ETH',
  amount: BigInt(index),
  decimals: 18,
  valueUsd: index % 3 === 0 ? null : index / 100,
});

const BATCH = GRAPH_LIMITS.ingestBatchTransfers;
const COUNT = 3 * BATCH;
const numbers = (count: number): Transfer[] => Array.from({ length: count }, (_, index) => transferOf(index));

it('a kill in the middle loses no whole batch, keeps no half, and a second run makes up for it', async () => {
  const path = join(folder, 'killed');
  const script = `
    import { openTransferStore } from ${JSON.stringify(pathToFileURL(join(projectRoot, 'dist/src/graph/store.js')).href)};
    const transferOf = ${transferOf.toString()};
    function* forever() {
      for (let index = 0; ; index++) {
        if (index === ${2 * BATCH + 1}) console.log('two batches');
        yield transferOf(index % ${COUNT});
      }
    }
    await openTransferStore({ path: ${JSON.stringify(path)}, readOnly: false }).ingest(forever());
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await exited;

  const store = openTransferStore({ path, readOnly: false });
  const { transfers } = store.coverage('ETH');
  expect(transfers % BATCH).toBe(0);
  expect(transfers).toBeGreaterThanOrEqual(BATCH);
  const report = await store.ingest(numbers(COUNT));
  expect(report).toEqual({ stored: COUNT - transfers, duplicates: transfers });

  const whole = openTransferStore({ path: join(folder, 'whole'), readOnly: false });
  await whole.ingest(numbers(COUNT));
  for (const node of [1, 4, 7, 500]) {
    const { key } = parseAddress('ETH', `0x${node.toString(16).padStart(40, '0')}`);
    expect(store.totals('ETH', key)).toEqual(whole.totals('ETH', key));
    for (const direction of ['in', 'out'] as const) {
      const options = { direction, limit: 1_000 };
      expect(store.counterparties('ETH', key, options)).toEqual(whole.counterparties('ETH', key, options));
    }
  }
  await store.close();
  await whole.close();
});
