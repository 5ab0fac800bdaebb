/** The location of the publishers' real files. If they are missing, the tests that need them are skipped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';

const folder =
  process.env.ASSAY_TEST_SHARED_DATA ?? fileURLToPath(new URL('../../../shared/data', import.meta.url));

export const hasSharedData = existsSync(join(folder, 'README.md'));

/** Returns the path of one of the publishers' real files. */
export const sharedData = (...parts: string[]): string => join(folder, ...parts);

/**
 * A `describe` for tests that read the publishers' real files. If the files are missing, it is skipped, and its body, which may read them,
 * does not run.
 */
export function describeWithSharedData(name: string, body: () => void): void {
  if (hasSharedData) describe(name, body);
  else describe.skip(name, () => it("needs the publishers' files", () => {}));
}
