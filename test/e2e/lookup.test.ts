/** `assay lookup` runs without the rest of the program (src/app/lookup.ts), and behaves as in the whole program. */
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareFolder } from '../setup/prepared-folder.ts';
import { MODULES_PROGRAM } from '../setup/program-path.ts';
import { newWorld } from './program.ts';

/** Labels of both ship. */
const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';
const SANCTIONED = '0x8589427373D6D84E98730D7795D8f6f8731FDA16';

const world = newWorld();
const modules = newWorld(MODULES_PROGRAM);
const store = join(world.folder, 'store');

beforeAll(async () => {
  prepareFolder(store);
  // Without a prepared folder (test:mutants), it is built.
  await world.run(['index', 'build']);
});
afterAll(() => Promise.all([world.end(), modules.end()]));

describe('assay lookup, alone and in the whole program', () => {
  it.each<[string, string[], Record<string, string>?]>([
    ['labels', ['ETH', BINANCE]],
    ['labels as JSON', ['ETH', BINANCE, '--json']],
    ['a sanction', ['ETH', SANCTIONED, '--json']],
    ['no labels', ['BTC', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu']],
    ['an address with a bad checksum', ['ETH', '0xBE0eB53F46cd790Cd13851d5EFf43D12404d33E9']],
    ['an unknown chain', ['EHT', BINANCE]],
    ['a missing argument', ['ETH']],
    ['an unknown option', ['ETH', BINANCE, '--jsno']],
    ['help', ['--help']],
    ['an invalid setting', ['ETH', BINANCE], { ASSAY_WORKERS: 'many' }],
    ['a misspelt chain in a setting', ['ETH', BINANCE], { ASSAY_RPC_EHT: 'https://eth.example.org' }],
    ['a missing file of own links', ['ETH', BINANCE], { ASSAY_ENTITY_PARTIES: '/missing.json' }],
    ['a payment key that is none', ['ETH', BINANCE], { ASSAY_PAYMENT_KEY_BTC: 'xprv' }],
    ['a server of transfers', ['ETH', BINANCE], { ASSAY_GRAPH_STORE_ETH: 'redis://127.0.0.1:1' }],
  ])('answers the same: %s', async (_, args, environment = {}) => {
    const alone = await world.run(['lookup', ...args], { environment });
    expect(alone).toEqual(await world.here(['lookup', ...args], { environment }));
    expect(alone.out + alone.err).not.toBe('');
  });

  it('leaves no lease', async () => {
    const { code } = await world.run(['lookup', 'ETH', BINANCE]);
    expect(code).toBe(0);
    const snapshot = readdirSync(join(store, 'snapshots')).find((name) => name.startsWith('snapshot-'));
    expect(readdirSync(join(store, 'snapshots', snapshot ?? '', 'leases'))).toEqual([]);
  });

  it('reports that there is no index', async () => {
    const { code, err } = await modules.run(['lookup', 'ETH', BINANCE]);
    expect([code, err]).toEqual([1, expect.stringContaining("Run 'assay index build'")]);
  });

  it('reports a store that is missing', async () => {
    mkdirSync(join(store, 'accounts'), { recursive: true });
    const ledger = join(store, 'accounts', 'ledger.mdb');
    writeFileSync(ledger, 'a store');
    expect((await world.run(['lookup', 'ETH', BINANCE])).code).toBe(0);
    renameSync(ledger, `${ledger}.away`);
    const { code, err } = await world.run(['lookup', 'ETH', BINANCE]);
    expect([code, err]).toEqual([1, expect.stringMatching(/ledger\.mdb \(ledger\) is missing/)]);
  });
});
