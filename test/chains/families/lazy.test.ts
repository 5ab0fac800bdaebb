/** Starting the program loads no chain library: each is loaded at the first request to its chain. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';

const LIBRARIES = ['ethers', 'bitcoinjs-lib', '@solana/web3.js', 'tronweb', 'xrpl', '@polkadot/api'];

/** Lists every package and file that importing `entry` loads: only static imports, without types. */
function loadedBy(entry: string): { packages: Set<string>; files: Set<string> } {
  const packages = new Set<string>();
  const files = new Set<string>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    const text = readFileSync(path, 'utf8');
    for (const [, clause = '', name = ''] of text.matchAll(
      /^(?:import|export)\s+([^;]*?)\s*from\s+'([^']+)'/gms,
    )) {
      const names = clause
        .replace(/[{}]/g, '')
        .split(',')
        .map((part) => part.trim());
      const isOfTypes =
        clause.startsWith('type ') || names.every((part) => part === '' || part.startsWith('type '));
      if (isOfTypes) continue;
      if (name.startsWith('.')) visit(resolve(dirname(path), name));
      else packages.add(name);
    }
  };
  visit(entry);
  return { packages, files };
}

it.each(['src/program.ts', 'workers/pool.ts', 'src/app/services.ts'])(
  'loads no chain library: %s',
  (entry) => {
    const path = join(projectRoot, entry);
    const { packages, files } = loadedBy(path);
    expect(files.size).toBeGreaterThan(5);
    expect(LIBRARIES.filter((library) => packages.has(library))).toEqual([]);
  },
);

it('detects loaded chain libraries', () => {
  expect(loadedBy(join(projectRoot, 'src/chains/families/evm/adapter.ts')).packages).toContain('ethers');
});
