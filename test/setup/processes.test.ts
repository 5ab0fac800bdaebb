/** Which test files get a process of their own, and which start first. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { filesAlone } from './alone.ts';
import { LONGEST } from './order.ts';

describe('a process of its own', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-alone-'));
    mkdirSync(join(root, 'test', 'inner'), { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it.each([
    ['replaces a module', "vi.mock('lmdb', () => ({}));"],
    ['stops the clock', 'vi.useFakeTimers();'],
    ['replaces a function', "vi.spyOn(console, 'log');"],
    ['replaces a global', 'globalThis.fetch = other;'],
    ['measures the heap', 'const before = process.memoryUsage().heapUsed;'],
    ['counts timers', 'process.getActiveResourcesInfo();'],
    ['counts open files', "readdirSync('/proc/self/fd');"],
    ['asks for it', '/** It needs a process of its own. */'],
    ['changes the environment', "process.env.ASSAY_PORT = '1';"],
  ])('has a file that %s', (_, line) => {
    writeFileSync(join(root, 'test', 'inner', 'one.test.ts'), line);
    writeFileSync(join(root, 'test', 'other.test.ts'), 'expect(process.env.ASSAY_PORT).toBe(1);');
    // Not a test file.
    writeFileSync(join(root, 'test', 'world.ts'), line);
    expect(filesAlone(root, ['test'])).toEqual(['test/inner/one.test.ts']);
  });
});

it('starts files first that exist', () => {
  expect(LONGEST.filter((path) => !existsSync(join(projectRoot, path)))).toEqual([]);
});
