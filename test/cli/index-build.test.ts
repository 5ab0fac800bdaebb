/** The program as a user runs it in an empty folder, without ever serving. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newEmptyWorld, type World } from '../e2e/program.ts';

const OWN = '0x00000000000000000000000000000000a55a0007';
const FBI = '1F1tAaz5x1HUXrCNLbtMDqcw6o5GNn4xqX';
/** A bridge of the seed labels. */
const WORMHOLE = '0x3ee18b2214aff97000d974cf647e7c347e8fa585';

interface LookedUp {
  readonly labels: readonly { readonly source: string; readonly class: string }[];
}

describe('import and index build without serve', () => {
  let world: World;
  beforeEach(() => {
    world = newEmptyWorld();
  });
  afterEach(() => world.end());

  const done = async (...args: string[]): Promise<string> => {
    // Commands that read the index run in this process.
    const { code, out, err } =
      args[0] === 'lookup' || args[1] === 'stats' ? await world.here(args) : await world.run(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  };
  const lookup = async (chain: string, address: string): Promise<LookedUp> =>
    JSON.parse(await done('lookup', chain, address, '--json')) as LookedUp;

  it('include the shipped data and the imported data', async () => {
    const path = join(world.folder, 'own.csv');
    writeFileSync(path, `address,chain,entity,category\n${OWN},ETH,Somebody,SCAM\n`);
    await done('import', 'own', path);
    await done('index', 'build');
    expect((await lookup('ETH', OWN)).labels).toMatchObject([{ source: 'own', class: 'published' }]);
    expect((await lookup('ETH', WORMHOLE)).labels.map(({ source }) => source)).toContain('seed');
    expect((await lookup('BTC', FBI)).labels).toMatchObject([{ source: 'seed', class: 'published' }]);
    const stats = JSON.parse(await done('index', 'stats', '--json')) as {
      meta: { sources: readonly { id: string }[] };
    };
    expect(new Set(stats.meta.sources.map(({ id }) => id))).toEqual(new Set(['own', 'seed', 'packages']));
    expect(await done('index', 'build')).toContain('already has all of it');
  }, 60_000);
});
