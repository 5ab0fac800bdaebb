import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openLabelStore } from '../../src/labels/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a store that was never written is empty', () => {
  expect(openLabelStore({ dataDir: join(folder, 'new') }).catalogue()).toMatchObject({
    datasets: [],
    lists: [],
  });
});

it('labels whose catalogue was lost are not started over', () => {
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
