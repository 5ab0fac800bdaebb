/** A build of clusters that is killed keeps the last build, and the next run ends with the clusters of an undisturbed one. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';
import { spawnSync } from '../../support/child-process.ts';
import { chainOfBlocks, numberAddresses, SMALL } from './killed-build.ts';
import { ClusterWorld } from './numbered.ts';

/** Blocks of the chain at each build, and where the runs before it are killed. The last settled blocks are read by every run. */
const BUILDS = [
  { blocks: 100, points: ['block:80', 'join', 'sort'] },
  { blocks: 140, points: ['block:125', 'sort'] },
] as const;

let world: ClusterWorld;
beforeEach(() => {
  world = new ClusterWorld();
});
afterEach(() => world.end());

/** Runs a build in a process of its own. Returns its signal, and the number of transactions that it did not read again. */
function build(
  { folder }: ClusterWorld,
  blocks: number,
  point: string,
): { signal: string | null; continuedAfter: number } {
  const program = join(projectRoot, 'dist/test/graph/cluster/killed-build.js');
  const args = [program, folder, String(blocks), point];
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (signal === null) expect(stderr).toBe('');
  return { signal, continuedAfter: Number(stdout) };
}

/** The members of each published cluster, and the last block of the build; null if nothing is published. */
function published(of: ClusterWorld, blocks: number): { lastBlock: number; clusters: string[] } | null {
  numberAddresses(chainOfBlocks(blocks), of.numbering);
  const reader = of.open();
  const lastBlock = reader.build('BTC')?.lastBlock ?? null;
  if (lastBlock === null) return null;
  const clusters = [...reader.clusters('BTC')].map(({ clusterId, memberKeys }) =>
    [clusterId, ...[...memberKeys()].map((key) => Buffer.from(key).toString('hex')).sort()].join(),
  );
  return { lastBlock, clusters: clusters.sort() };
}

it('continues after a kill at any step, and readers keep the last build until then', async () => {
  const whole = new ClusterWorld();
  let before: ReturnType<typeof published> = null;
  for (const { blocks, points } of BUILDS) {
    for (const point of points) {
      expect(build(world, blocks, point).signal).toBe('SIGKILL');
      expect(published(world, blocks)).toEqual(before);
    }
    const { signal, continuedAfter } = build(world, blocks, 'none');
    expect(signal).toBeNull();
    expect(continuedAfter).toBeGreaterThanOrEqual((blocks - 40) * 5);
    numberAddresses(chainOfBlocks(blocks), whole.numbering);
    await whole.build(chainOfBlocks(blocks), SMALL);
    before = published(world, blocks);
    expect(before).toEqual(published(whole, blocks));
    expect(before?.lastBlock).toBe(blocks - 1);
    expect(before?.clusters.length).toBeGreaterThan(30);
  }
  // A killed run leaves nothing behind: the files are those of an undisturbed folder, but for the times in their names.
  const files = ({ folder }: ClusterWorld): string[] =>
    readdirSync(join(folder, 'BTC'), { recursive: true, encoding: 'utf8' })
      .map((name) => name.replace(/\d{17}/, 'TIME'))
      .sort();
  expect(files(world)).toEqual(files(whole));
  await whole.end();
});
