/** `npm run test:nodes`, with a cache that already has a Node. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const root = mkdtempSync(join(tmpdir(), 'assay-nodes-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const script = readFileSync(join(projectRoot, 'scripts', 'supply', 'test-nodes.mjs'), 'utf8');
const versions = [...(/^const VERSIONS = \[(.*)\];$/m.exec(script)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(
  ([, version]) => version as string,
);

/** Runs the script without building. */
function testNodes(version: string, path: string) {
  return spawnSync(process.execPath, ['scripts/supply/test-nodes.mjs', version, path], {
    cwd: projectRoot,
    encoding: 'utf8',
    env: { ...process.env, XDG_CACHE_HOME: root, ASSAY_TEST_PREBUILT: '1' },
  });
}

/** Puts the running Node into the cache, as the package of `version` would be. */
function cacheNode(version: string): void {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(root, 'assay', 'node', `${version}-${name}`, 'node_modules', name, 'bin');
  mkdirSync(folder, { recursive: true });
  symlinkSync(process.execPath, join(folder, 'node'));
}

describe('npm run test:nodes', () => {
  it('has the oldest supported version, and one of each line up to 24', () => {
    const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
    expect(engines.node).toMatch(new RegExp(`^\\^${versions[0]?.replaceAll('.', '\\.')} `));
    expect(versions[0]).toBe('20.19.0');
    expect(versions.map((version) => version.split('.')[0])).toEqual(['20', '22', '24']);
  });

  it.skipIf(process.platform === 'win32')('runs the named tests with the Node of the cache', () => {
    cacheNode('20.99.0');
    const { status, stderr } = testNodes('20.99.0', 'test/base/paths.test.ts');
    expect(stderr).toContain('assay: tests with Node 20.99.0: test/base/paths.test.ts');
    expect(stderr).toContain('assay: Node 20.99.0: passed');
    expect(status).toBe(0);
  });

  it.skipIf(process.platform === 'win32')('fails if a test fails', () => {
    cacheNode('20.98.0');
    const { status, stderr } = testNodes('20.98.0', 'test/no-such-folder');
    expect(stderr).toContain('assay: Node 20.98.0: failed');
    expect(status).toBe(1);
  });
});
