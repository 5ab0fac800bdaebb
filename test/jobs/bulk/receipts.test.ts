/** Receipts of bulk jobs: the root binds every line of the result, whatever its chunks are, and every line has a proof. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ReceiptError } from '../../../sdk/typescript/src/core/errors.ts';
import { verifyLine } from '../../../sdk/typescript/src/receipt-proofs.ts';
import { MerkleFrontier } from '../../../src/base/merkle.ts';
import { LineLeaves, lineSalt } from '../../../src/base/salted-lines.ts';
import type { OpenBulkJobs } from '../../../src/jobs/bulk/open.ts';
import type { ChunkTask } from '../../../src/jobs/chunks.ts';
import {
  createTestBilling,
  createTestRunner,
  ended,
  type JobWorld,
  jobWorld,
  resultOf,
  send,
  WALLETS,
  wallet,
} from './world.ts';

let world: JobWorld;
let jobs: OpenBulkJobs;
beforeAll(async () => {
  world = await jobWorld();
  jobs = world.open(createTestRunner(world.work), createTestBilling());
  jobs.start();
});
afterAll(async () => {
  await jobs.close();
  await world.close();
});

/** Returns the root over a result, from its text and the secret alone. */
function rootOf(text: string, secret: string): string {
  const tree = new MerkleFrontier();
  const leaves = new LineLeaves();
  for (const line of text.split('\n').slice(0, -1))
    tree.append(leaves.leafOf(lineSalt(Buffer.from(secret, 'hex'), tree.size), Buffer.from(line)));
  return tree.root().toString('hex');
}

it('binds the lines of all chunks, and proves each of them', async () => {
  // With a header line, no chunk begins at a multiple of a power of two.
  const input = [
    'address',
    ...Array.from({ length: 70_000 }, (_, n) => (n % 999 === 0 ? 'wrong' : wallet(n))),
  ];
  const { id } = await send(jobs, `${input.join('\n')}\n`, { format: 'csv', hasReceipt: true });
  expect(await jobs.get('a', id)).toMatchObject({ receipt: { id: null } });
  const job = await ended(jobs, id);
  expect(job.receipt).toEqual({
    id: null,
    lines: { count: 70_000, root: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  const subject = jobs.unissued('a', id);
  const text = await resultOf(jobs, id);
  expect(subject?.lines).toEqual({ count: 70_000, root: rootOf(text, subject?.secret ?? '') });
  const lines = subject?.lines ?? null;
  const results = text.split('\n');
  for (const line of [0, 1, 998, 32_766, 32_767, 32_768, 65_535, 69_999]) {
    const proof = await jobs.proof('a', id, line);
    expect(proof).toMatchObject({ line, text: results[line] });
    if (proof === null) return;
    await verifyLine({ lines }, proof);
    await expect(verifyLine({ lines }, { ...proof, text: `${proof.text} ` })).rejects.toThrow(ReceiptError);
    await expect(verifyLine({ lines }, { ...proof, line: line + 1 })).rejects.toThrow(ReceiptError);
  }
  await expect(jobs.proof('a', id, 70_000)).rejects.toThrow('line: must be below 70000');
  expect(await jobs.proof('b', id, 0)).toBeNull();
  expect(jobs.unissued('b', id)).toBeNull();
});

it('binds lines over the graph, which are longer than the buffer that they are written with', async () => {
  const { id } = await send(
    jobs,
    `${[...Object.values(WALLETS), 'wrong', ...Object.values(WALLETS)].join('\n')}\n`,
    {
      kind: 'screening',
      hasReceipt: true,
    },
  );
  const { receipt } = await ended(jobs, id);
  const text = await resultOf(jobs, id);
  expect(receipt?.lines?.root).toBe(rootOf(text, jobs.unissued('a', id)?.secret ?? ''));
});

it('records one receipt', async () => {
  const { id } = await send(jobs, `${wallet(1)}\n`, { hasReceipt: true });
  await ended(jobs, id);
  expect(await jobs.setReceipt('b', id, 'of another account')).toBeNull();
  expect((await jobs.setReceipt('a', id, 'first'))?.receipt?.id).toBe('first');
  expect((await jobs.setReceipt('a', id, 'second'))?.receipt?.id).toBe('first');
  expect(jobs.unissued('a', id)).toBeNull();
});

it('binds the answered part of a job that was stopped', async () => {
  const runner = createTestRunner(world.work, 1);
  let hold: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  runner.before = ({ chunk }: ChunkTask) => (chunk === 1 ? held : undefined);
  const slow = world.open(runner, createTestBilling(), { name: 'slow' });
  slow.start();
  const input = Array.from({ length: 40_000 }, (_, n) => wallet(n));
  const { id } = await send(slow, `${input.join('\n')}\n`, { hasReceipt: true });
  await expect.poll(() => slow.get('a', id) as object).toMatchObject({ answered: 32_768 });
  const cancelled = slow.cancel('a', id);
  hold();
  await cancelled;
  const job = await ended(slow, id);
  expect([job.state, job.receipt?.lines?.count]).toEqual(['CANCELLED', 32_768]);
  const proof = await slow.proof('a', id, 32_767);
  if (proof !== null) await verifyLine({ lines: job.receipt?.lines ?? null }, proof);
  await slow.close();
});

it('has no proofs without a receipt, and reports a damaged result', async () => {
  const { id } = await send(jobs, `${wallet(1)}\n`);
  expect(await ended(jobs, id)).not.toHaveProperty('receipt');
  await expect(jobs.proof('a', id, 0)).rejects.toThrow('no receipt binds');
  const other = await send(jobs, `${wallet(1)}\n${wallet(2)}\n`, { hasReceipt: true });
  await ended(jobs, other.id);
  const [part] = (await jobs.result('a', other.id))?.parts(0, 10) ?? [];
  rmSync(dirname(part?.path ?? ''), { recursive: true });
  await expect(jobs.proof('a', other.id, 0)).rejects.toMatchObject({ code: 'NOT_FOUND', field: 'id' });
});
