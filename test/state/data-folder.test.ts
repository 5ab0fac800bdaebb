import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ensureDataFolder } from '../../src/state/data-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-data-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('makes the folder and those above it, and finds it there again', () => {
  const path = join(folder, 'a', 'b', 'c');
  ensureDataFolder(path, 'ASSAY_DATA_DIR');
  ensureDataFolder(path, 'ASSAY_DATA_DIR');
  expect(statSync(path).isDirectory()).toBe(true);
});

it.each(['/proc/nope/store', '/dev/null/store', join(folder, 'file')])(
  '%s is refused with a sentence',
  (path) => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => ensureDataFolder(path, 'ASSAY_DATA_DIR')).toThrow(
      expect.objectContaining({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(/^ASSAY_DATA_DIR: .+ cannot be used/),
      }),
    );
  },
);
