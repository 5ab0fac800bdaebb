import { join } from 'node:path';
import { expect, test } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

test('the benchmark of tools makes more calls than the rate limit of a plan allows in a minute', () => {
  const script = join(projectRoot, 'dist', 'bench', 'mcp.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--calls', '120', '--no-save'], {
    encoding: 'utf8',
  });
  expect(stderr).not.toContain('429');
  // A missed goal ends it with 1 too.
  expect([0, 1]).toContain(status);
  expect(stdout).toContain('tool call by the official client, p50');
}, 120_000);
