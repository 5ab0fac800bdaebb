/** Commands that read state of nodes wait until it is ready. Without that, they end with an unexpected error if a Redis is configured. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { commandModules } from '../../src/cli/commands.ts';
import type { Terminal } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import type { Services } from '../../src/cli/services.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-shared-'));
const receipt = join(folder, 'receipt.jws');
writeFileSync(receipt, 'e30.e30.e30');
afterAll(() => rmSync(folder, { recursive: true }));

const never = (): never => {
  throw new Error('not used');
};

/** Services that only become ready; any other use of them is an error that names it. */
const services = (): Services =>
  new Proxy({} as Services, {
    get: (_, name) => {
      if (name === 'ready') return () => Promise.reject(new Error('waits until it is ready'));
      throw new Error(`${String(name)} was opened before it was ready`);
    },
  });

it.each([
  ['keys', 'list'],
  ['accounts', 'list'],
  ['receipt', 'show', 'r1'],
  ['receipt', 'erase', 'r1'],
  ['receipt', 'replay', 'r1'],
  ['receipt', 'verify', receipt],
  ['receipt', 'keys', 'list'],
  ['receipt', 'keys', 'rotate'],
  ['labels', 'reports'],
  ['snapshot', 'export', join(folder, 'export')],
  ['snapshot', 'check', folder],
])('assay %s %s waits for the state of nodes', async (...args) => {
  const modules = commandModules({
    apiKey: () => null,
    place: () => ({ dataDir: folder, jobsDir: null, isShared: true }),
    mcp: { baseUrl: never, operations: never, version: '' },
    examine: never,
  });
  const terminal = { out: { write: () => true }, err: { write: () => true } } as unknown as Terminal;
  const run = createProgram(modules, terminal, services, '').parseAsync(args, { from: 'user' });
  await expect(run).rejects.toThrow('waits until it is ready');
});
