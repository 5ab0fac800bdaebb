import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openLabelStore } from '../../src/labels/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is empty if it was never written', () => {
  expect(openLabelStore({ dataDir: join(folder, 'new') }).catalogue()).toMatchObject({
    datasets: [],
    lists: [],
  });
});

it('is not recreated if its catalogue was lost', () => {
  const dataDir = join(folder, 'lost');
  const dataset = join(dataDir, 'labels', 'datasets', 'seed-seed-0123');
  mkdirSync(dataset, { recursive: true });
  writeFileSync(join(dataset, 'segment.records'), '');
  expect(() => openLabelStore({ dataDir }).catalogue()).toThrow(
    expect.objectContaining({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('catalogue.json is missing'),
    }),
  );
});

it('refuses a second writer at once if no wait is asked for', async () => {
  const dataDir = join(folder, 'busy');
  const [first, second] = [0, 1].map(() => openLabelStore({ dataDir, lockWaitMs: 0 }));
  const started = performance.now();
  await first?.locked(async () => {
    await expect(second?.locked(async () => 'in')).rejects.toMatchObject({ code: 'STORE_BUSY' });
  });
  // The default is 15 seconds.
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(await second?.locked(async () => 'in')).toBe('in');
});
