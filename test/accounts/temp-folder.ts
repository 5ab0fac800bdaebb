/** A folder for one test, removed after it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempFolder {
  readonly path: string;
  remove(): void;
}

export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), 'assay-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
