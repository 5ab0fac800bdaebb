/** Verdicts that include the stored transfers, over HTTP, with the built program. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, newWorld, type RunningServer, type World } from './program.ts';

/** Sanctioned in the shipped lists. */
const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const RECEIVER = '0x00000000000000000000000000000000a55e0001';

let world: World;
let server: RunningServer;
let key = '';
beforeAll(async () => {
  world = newWorld();
  const file = join(world.folder, 'transfers.ndjson');
  const row = {
    txHash: `0x${'1'.repeat(64)}`,
    position: 'value',
    blockNumber: 1,
    timestamp: '2024-06-01T00:00:00Z',
    from: LAZARUS,
    to: RECEIVER,
    asset: 'ETH',
    amount: '5000000000000000000',
  };
  writeFileSync(file, `${JSON.stringify(row)}\n`);
  for (const args of [
    ['index', 'build'],
    ['ingest', 'ndjson', file, '--chain', 'ETH'],
    ['exposure', 'build'],
  ]) {
    const { code, err } = await world.run(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
  }
  server = await world.serve();
  key = server.firstKey;
}, 60_000);
afterAll(() => world.end());

it('answers verdicts in a bulk request like the oracle', async () => {
  const oracle = await ask(server, key, `/api/v1/oracle/address/ETH/${RECEIVER}`);
  expect(oracle.body.data).toMatchObject({ verdict: 'danger', score: 80, assessed: true });
  const bulk = await ask(server, key, '/api/v1/screen/bulk', {
    addresses: [RECEIVER],
    chain: 'ETH',
    verdict: true,
  });
  expect(bulk.body.data).toMatchObject({
    results: [{ verdict: 'danger', score: 80, assessed: true, exposureAsOf: expect.any(String) }],
  });
});
