/**
 * `watch --ingest` on a disk that becomes full ends with one sentence. With room it resumes where it ended, without a gap or a duplicate.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { newEmptyWorld, type Outcome, type World } from './program.ts';

const refusal = smallDiskRefusal('tmpfs');
const BLOCKS = 24;
const [FROM] = ACCOUNTS;

describe.skipIf(refusal !== null || !hasAnvil)('watch --ingest on a full disk', () => {
  let anvil: Anvil;
  let disk: SmallDisk;
  let world: World;

  beforeAll(async () => {
    anvil = await startAnvil();
    disk = smallDisk('tmpfs', 32);
    world = newEmptyWorld();
    for (let n = 1; n <= BLOCKS; n++) {
      const to = `0x${(0x1000 + n).toString(16).padStart(40, '0')}`;
      await anvil.send({ from: FROM, to, value: 1n });
      await anvil.mine();
    }
  });
  afterAll(async () => {
    await world.end();
    await anvil.stop();
    disk.remove();
  });

  const run = (...args: string[]): Promise<Outcome> =>
    world.run(args, {
      environment: { ASSAY_DATA_DIR: join(disk.path, 'store'), ASSAY_RPC_ETH: anvil.url },
    });
  const transfers = async (): Promise<number> => {
    const { code, out, err } = await run('stats', '--json');
    expect(code, err).toBe(0);
    const { chains } = JSON.parse(out) as { chains: { chain: string; transfers: number }[] };
    return chains.find(({ chain }) => chain === 'ETH')?.transfers ?? 0;
  };

  it('ends with one message, and resumes with space where it stopped', async () => {
    const begun = await run('watch', 'ETH', '--ingest', '--from', '1', '--blocks', '8');
    expect(begun.code, begun.err).toBe(0);
    disk.fill();
    const refused = await run('watch', 'ETH', '--ingest', '--blocks', String(BLOCKS - 8));
    disk.free();
    const sentences = refused.err.split('\n').filter((line) => line.startsWith('assay: '));
    expect({ code: refused.code, sentences, err: refused.err }).toMatchObject({
      code: 1,
      sentences: [expect.stringMatching(/cannot be written|no space/i)],
    });
    expect(sentences[0]).toContain(disk.path);
    const before = await transfers();
    expect(before).toBeGreaterThanOrEqual(8);
    const again = await run('watch', 'ETH', '--ingest', '--blocks', String(BLOCKS - before));
    expect(again.code, again.err).toBe(0);
    expect(await transfers()).toBe(BLOCKS);
  });
});
