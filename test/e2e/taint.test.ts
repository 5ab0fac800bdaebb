/** Block files of a Bitcoin node, from the command line to the taint of their outputs. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { newWorld, type World } from './program.ts';

describeWithSharedData('taint on the command line', () => {
  let world: World;
  let names: Record<string, string>;

  beforeAll(async () => {
    world = newWorld();
    const folder = (name: string): string => sharedData('transactions', 'bitcoin-regtest', name);
    names = JSON.parse(readFileSync(folder('output.json'), 'utf8')) as Record<string, string>;
    const { code, out } = await world.run([
      'ingest',
      'bitcoin-blk',
      folder('blk00000.dat'),
      '--chain',
      'BTC',
    ]);
    expect(code).toBe(0);
    expect(out).toMatch(/^202 blocks: 356 transactions stored, 0 already known;/);
  });
  afterAll(() => world.end());

  it('shows the five rules side by side, for an output and up to a block', async () => {
    const seed = `${names['taint-split-tx-1']}:0`;
    const all = await world.run(['taint', seed, '--chain', 'BTC', '--json']);
    const answers = JSON.parse(all.out) as { method: string; tainted: string; decimals: number }[];
    expect(answers.map(({ method }) => method)).toEqual(['poison', 'haircut', 'fifo', 'lifo', 'tiho']);
    expect(answers.slice(0, 2).map(({ tainted }) => tainted)).toEqual(['14.9994', '0.99985999']);
    const early = await world.run([
      ...['taint', seed, '--chain', 'BTC', '--method', 'haircut', '--until', '195'],
    ]);
    expect(early.out).toMatch(
      /^haircut: 0\.99986666 BTC on 1 outputs \(0\.99986666 BTC unspent\), 0\.00003333 BTC in fees/,
    );
  });

  it('reports an invalid request in one line', async () => {
    const run = async (...args: string[]): Promise<string> => (await world.run(['taint', ...args])).err;
    expect(await run('nothing', '--chain', 'BTC')).toMatch(/^assay: output: not a valid Bitcoin address/);
    expect(await run(`${'0'.repeat(64)}:1`, '--chain', 'BTC')).toMatch(/is not stored/);
    expect(await run(`${'0'.repeat(64)}:1`, '--chain', 'ETH')).toMatch(/no outputs of ETH are stored/);
    expect(await run('x', '--chain', 'BTC', '--method', 'guess')).toMatch(/--method: must be one of all/);
  });

  it('counts the CSV and the raw form of a mainnet block once together, and rejects a CSV as a block file', async () => {
    const path = (name: string): string => sharedData('transactions', 'bitcoin', name);
    const other = newWorld();
    try {
      const csv = path('block300025_inputs_outputs.csv');
      const first = await other.run(['ingest', 'bitcoin-resolved', csv, '--chain', 'BTC', '--json']);
      expect(JSON.parse(first.out)).toMatchObject({
        rows: 2653,
        transactions: 461,
        unresolved: 0,
        rejected: 0,
      });
      const raw = await other.run([
        'ingest',
        'bitcoin-blk',
        path('block300025.raw'),
        '--chain',
        'btc',
        '--json',
      ]);
      expect(JSON.parse(raw.out)).toMatchObject({ blocks: 1, known: 461, stored: 0, unresolved: 0 });
      const wrong = await other.run(['ingest', 'bitcoin-blk', csv, '--chain', 'BTC']);
      expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/no block begins here/)]);
    } finally {
      await other.end();
    }
  });
});
