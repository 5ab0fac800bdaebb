/** Commands on a full disk: one sentence, exit code 1, what was in force stays in force, and the same command works with room. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEnvironment } from '../../src/base/lmdb.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { newWorld, type World } from './program.ts';

const refusal = smallDiskRefusal('tmpfs');
const MIB = 96;
const address = (): string => `0x${randomBytes(20).toString('hex')}`;

describe.skipIf(refusal !== null)(`commands on a full disk${refusal === null ? '' : ` (${refusal})`}`, () => {
  let world: World;
  let disk: SmallDisk;
  let store: string;
  let inputs: string;
  let environment: Record<string, string>;

  const input = (name: string): string => join(inputs, name);
  const run = (args: readonly string[], text = '') => world.run(args, { environment, input: text });

  /** Files of the store, but for what every opening makes. */
  const files = (): string[] =>
    (readdirSync(disk.path, { recursive: true, withFileTypes: true }) as import('node:fs').Dirent[])
      .filter((entry) => entry.isFile() && !/-lock$|^filling$/.test(entry.name))
      .map((entry) => relative(disk.path, join(entry.parentPath, entry.name)))
      .sort();

  /** Holds the pages of all live stores, so that no commit finds a free one in their files. */
  function holdPages(): () => Promise<void> {
    const held = files()
      .filter((name) => /^store\/(accounts|monitoring|jobs|transfers|outputs).*\.l?mdb$/.test(name))
      .map((name) => {
        const root = openEnvironment(join(disk.path, name), { readOnly: true, maxDbs: 64 });
        return { root, reading: root.useReadTransaction() };
      });
    return async () => {
      for (const { root, reading } of held) {
        reading.done();
        await root.close();
      }
    };
  }

  beforeAll(async () => {
    world = newWorld();
    disk = smallDisk('tmpfs', MIB);
    store = join(disk.path, 'store');
    inputs = join(world.folder, 'inputs');
    mkdirSync(inputs);
    environment = { ASSAY_DATA_DIR: store };
    const own = ['address,chain,entity,name,category'];
    for (let row = 0; row < 20_000; row++) own.push(`${address()},ETH,e${row},Entity ${row},EXCHANGE`);
    writeFileSync(input('own.csv'), own.join('\n'));
    const names = ['name,list,id'];
    for (let row = 0; row < 5_000; row++) names.push(`Zebulon Quaternion ${row},adverse_media,z-${row}`);
    writeFileSync(input('people.csv'), names.join('\n'));
    const transfer = (row: number): string =>
      JSON.stringify({
        txHash: `0x${randomBytes(32).toString('hex')}`,
        position: 'value',
        blockNumber: 1 + Math.floor(row / 100),
        timestamp: '2026-10-15T12:00:00Z',
        from: address(),
        to: address(),
        asset: 'ETH',
        amount: '1000000000000000000',
        decimals: 18,
      });
    const transfers = (count: number): string =>
      Array.from({ length: count }, (_, row) => transfer(row)).join('\n');
    writeFileSync(input('few.ndjson'), transfers(500));
    writeFileSync(input('many.ndjson'), transfers(20_000));
    const day = (at: number): number => Date.UTC(2024, 0, 1 + at);
    writeFileSync(
      input('prices.json'),
      JSON.stringify({ prices: Array.from({ length: 600 }, (_, at) => [day(at), 1 + at / 100]) }),
    );
    writeFileSync(
      input('hk-2026-10-01.csv'),
      [
        'register,jurisdiction,authority,legal_name,status,registered_as,registered_at',
        ...Array.from(
          { length: 500 },
          (_, row) => `hk-sfc,HK,SFC,Firm number ${row} Limited,AUTHORISED,Platform,2022-11`,
        ),
      ].join('\n'),
    );
    const server = await world.serve(environment);
    expect(await server.stop()).toBe(0);
    const ingested = await run(['ingest', 'ndjson', input('few.ndjson'), '--chain', 'ETH', '--no-prices']);
    expect(ingested.code, ingested.err).toBe(0);
  });
  afterAll(async () => {
    await world.end();
    disk.remove();
  });

  interface Case {
    readonly args: () => readonly string[];
    readonly input?: () => string;
    /** A command whose answer must be the same after the refusal. */
    readonly state: readonly string[];
    /** Bytes that are left, so that the work breaks off in its middle; none first. */
    readonly spares: readonly number[];
  }
  const token = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';
  const own = (name: string) => input(name);
  const cases: Readonly<Record<string, Case>> = {
    'keys create': {
      args: () => ['keys', 'create', '--name', 'x'.repeat(60)],
      state: ['keys', 'list', '--json'],
      spares: [0],
    },
    'credits grant': {
      args: () => ['credits', 'grant', 'local', '5'],
      state: ['credits', 'show', 'local', '--json'],
      spares: [0],
    },
    'plan set': {
      args: () => ['plan', 'set', 'local', 'GROWTH'],
      state: ['keys', 'list', '--json'],
      spares: [0],
    },
    'accounts create': {
      args: () => ['accounts', 'create', '--email', 'person@example.com'],
      input: () => 'a long enough password 1\n',
      state: ['accounts', 'list', '--json'],
      spares: [0],
    },
    'monitor add': {
      args: () => ['monitor', 'add', 'ETH', '0x098b716b8aaf21512996dc57eb0615e2383e2f96'],
      state: ['monitor', 'list', '--json'],
      spares: [0],
    },
    'import own': {
      args: () => ['import', 'own', own('own.csv')],
      state: ['lookup', 'ETH', '0x098b716b8aaf21512996dc57eb0615e2383e2f96', '--json'],
      spares: [0, 200_000],
    },
    'index build': {
      args: () => ['index', 'build'],
      state: ['index', 'stats', '--json'],
      spares: [0, 100_000, 1_000_000],
    },
    'import people': {
      args: () => ['import', 'people', own('people.csv')],
      state: ['names', 'lists', '--json'],
      spares: [0, 50_000],
    },
    'import registers': {
      args: () => ['import', 'registers', own('hk-2026-10-01.csv')],
      state: ['index', 'stats', '--json'],
      spares: [0, 30_000],
    },
    'prices import': {
      args: () => ['prices', 'import', own('prices.json'), '--chain', 'ETH', '--asset', token],
      state: ['prices', 'show', 'ETH', token, '--at', '2024-06-01', '--json'],
      spares: [0, 4_096],
    },
    ingest: {
      args: () => ['ingest', 'ndjson', own('many.ndjson'), '--chain', 'ETH', '--no-prices'],
      state: ['index', 'stats', '--json'],
      spares: [0, 500_000],
    },
    'exposure build': {
      args: () => ['exposure', 'build'],
      state: ['exposure', 'status', '--json'],
      spares: [0, 100_000],
    },
    'snapshot publish': {
      args: () => ['snapshot', 'publish'],
      state: ['index', 'stats', '--json'],
      spares: [0],
    },
    backup: {
      args: () => ['backup', join(disk.path, 'backup')],
      state: ['index', 'stats', '--json'],
      spares: [0, 1_000_000],
    },
    'bulk --output': {
      args: () => ['bulk', '--chain', 'ETH', '--output', join(disk.path, 'answers.ndjson')],
      input: () => Array.from({ length: 20_000 }, address).join('\n'),
      state: ['index', 'stats', '--json'],
      spares: [0, 100_000],
    },
  };

  for (const [title, { args, input: text, state, spares }] of Object.entries(cases))
    it(title, async () => {
      const before = await run(state);
      const filesBefore = files();
      for (const spare of spares) {
        const release = holdPages();
        disk.fill(spare);
        const refused = await run(args(), text?.());
        await release();
        disk.free();
        const lines = refused.err.split('\n').filter((line) => line.startsWith('assay: '));
        expect({ spare, code: refused.code, lines, err: refused.err.slice(0, 3_000) }).toMatchObject({
          code: 1,
          lines: [expect.stringMatching(/(cannot be written|could not be written|no space)/i)],
        });
        expect(lines[0]).toContain(disk.path);
        expect(lines[0]).not.toContain('unexpected error');
        expect((await run(state)).out).toBe(before.out);
        const left = files().filter((name) => !filesBefore.includes(name));
        expect(left).toEqual([]);
      }
      const again = await run(args(), text?.());
      expect(again.code, again.err).toBe(0);
    });
});
