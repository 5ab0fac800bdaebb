/** Where the publishers' real files stand, if they do: tests that need them are skipped by name elsewhere. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';

const folder =
  process.env.ASSAY_TEST_SHARED_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url));

export const hasSharedData = existsSync(join(folder, 'README.md'));

/** Path of one of the publishers' real files. */
export const sharedData = (...parts: string[]): string => join(folder, ...parts);

/** A `describe` for tests that read the publishers' real files. */
export const describeWithSharedData = describe.skipIf(!hasSharedData);
