/** A server over files that were cut, changed or lost ends with one sentence at its start, and never by a signal. */
import { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newWorld, type World } from './program.ts';

const TRANSFERS = Array.from({ length: 3000 }, (_, index) =>
  JSON.stringify({
    txHash: `0x${index.toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: 1 + index,
    timestamp: new Date(1_600_000_000_000 + index * 1000).toISOString(),
    from: `0x${(1 + (index % 7)).toString(16).padStart(40, '0')}`,
    to: `0x${(1 + ((index * 31) % 900)).toString(16).padStart(40, '0')}`,
    asset: 'ETH',
    amount: String(1 + index),
  }),
).join('\n');

describe('startup with damaged state', () => {
  let world: World;
  let store: string;
  const at = (path: string): string => join(store, path);

  beforeAll(async () => {
    world = newWorld();
    store = join(world.folder, 'store');
    const server = await world.serve();
    await server.stop();
    const file = join(world.folder, 'transfers.ndjson');
    writeFileSync(file, `${TRANSFERS}\n`);
    expect(await world.here(['ingest', 'ndjson', file, '--chain', 'ETH', '--no-prices'])).toMatchObject({
      code: 0,
    });
    expect(await world.here(['credits', 'grant', 'local', '100'])).toMatchObject({ code: 0 });
    expect(await world.here(['verify'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('all are intact.'),
    });
    cpSync(store, join(world.folder, 'sound'), { recursive: true });
  });
  beforeEach(() => {
    rmSync(store, { recursive: true });
    cpSync(join(world.folder, 'sound'), store, { recursive: true });
  });
  afterAll(() => world.end());

  it.each(['accounts/ledger.mdb', 'accounts/keys.mdb', 'transfers/eth.mdb'])(
    'names %s with both sizes if it was truncated to half',
    async (path) => {
      const { size } = statSync(at(path));
      truncateSync(at(path), Math.floor(size / 2));
      const result = await world.run(['serve']);
      expect(result.code).toBe(1);
      expect(result.err).toContain(
        `${path} is damaged: it has ${Math.floor(size / 2)} bytes, and its header gives ${size}`,
      );
      expect(result.err.trim().split('\n')).toHaveLength(1);
    },
  );

  it('rejects transfers with one changed byte, and `verify` names them', async () => {
    const bytes = readFileSync(at('transfers/eth.mdb'));
    const where = bytes.indexOf(Buffer.from('000000000000000000000000000000000000012c', 'hex'));
    bytes[where + 19] = 0x2d;
    writeFileSync(at('transfers/eth.mdb'), bytes);
    const verified = await world.here(['verify', '--json']);
    expect(verified.code).toBe(1);
    expect(JSON.parse(verified.out).faults).toEqual([
      expect.stringContaining('transfers/eth.mdb is damaged: page '),
    ]);
    expect(await world.run(['serve'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not match its checksum'),
    });
  });

  it('does not create a new ledger for existing keys until the loss is accepted', async () => {
    rmSync(at('accounts/ledger.mdb'));
    for (const command of [['serve'], ['ledger', 'verify'], ['credits', 'grant', 'local', '5']]) {
      const result = command[0] === 'serve' ? await world.run(command) : await world.here(command);
      expect(result).toMatchObject({
        code: 1,
        err: expect.stringContaining('accounts/ledger.mdb (ledger) is missing'),
      });
      expect(existsSync(at('accounts/ledger.mdb'))).toBe(false);
    }
    expect(await world.here(['installation'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('MISSING'),
    });
    expect(await world.here(['verify'])).toMatchObject({ code: 1 });
    expect(await world.here(['installation', 'accept-loss', 'accounts/ledger.mdb'])).toMatchObject({
      code: 0,
    });
    expect(await world.here(['ledger', 'verify'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('0 entries'),
    });
  });

  it('succeeds after a kill, and renews the checksums', async () => {
    const server = await world.serve();
    await server.stop('SIGKILL');
    const again = await world.serve();
    expect(await again.stop()).toBe(0);
    expect(await world.here(['verify'])).toMatchObject({ code: 0 });
  });
});
