/** Well-known addresses of all chains, looked up in an index of only the shipped labels. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseChainId } from '../../src/chains/registry.ts';
import { ensureShipped } from '../../src/labels/build-index.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import { makeWorld, type World } from './world.ts';

const [, ...rows] = readFileSync(new URL('./wellknown-addresses.csv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(','));

let world: World;
let snapshots: SnapshotSet;

beforeAll(async () => {
  world = makeWorld();
  await ensureShipped(world.deps);
  snapshots = await world.build();
}, 60_000);

afterAll(() => world.end());

describe('shipped data', () => {
  it('labels 300 addresses of 30 chains', () => {
    expect(new Set(rows.map(([, address]) => address)).size).toBeGreaterThanOrEqual(300);
    expect(new Set(rows.map(([chain]) => chain)).size).toBeGreaterThanOrEqual(30);
  });

  it.each(rows)('labels %s %s as %s: %s', (chain, address, category, name) => {
    const labels = world.lookup(snapshots, parseChainId(chain!), address!);
    expect(labels.map((label) => `${label.category} ${label.entity.name}`)).toContain(`${category} ${name}`);
  });
});
