import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

const inJoined = (name: string): string => join(projectRoot, 'dist', 'joined', name);

describe('the joined program', () => {
  it('starts the threads of bulk files from a file of their own', () => {
    expect(readFileSync(inJoined('workers/bulk-file.cjs'), 'utf8')).toContain("'bulk-file.cjs'");
    expect(statSync(inJoined('bulk-file.cjs')).size).toBeLessThan(
      statSync(inJoined('program.cjs')).size / 10,
    );
  });

  it('has the modules of that file in one scope, not in functions that load them', () => {
    expect(readFileSync(inJoined('bulk-file.cjs'), 'utf8')).not.toContain('__esm(');
  });
});
