/**
 * Every command on a full disk. Commands that write give one sentence and exit code 1, the data in force stays in force, and the same
 * command works once there is room. Commands that only read answer.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandModules } from '../../src/cli/commands.ts';
import type { Terminal } from '../../src/cli/context.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { bech32Address } from '../graph/cluster/addresses.ts';
import { type CommandProcess, startCommandProcess } from '../setup/command-process.ts';
import { freePort } from '../setup/free-port.ts';
import { type ListServer, serve, startListServer } from '../setup/list-server.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { newEmptyWorld, type World } from './program.ts';

/** The short suite skips commands that share the code path of another one in this table, or build more than their case is worth. */
const LONG = process.env.ASSAY_TEST_LONG === '1';
const SECRET = 'a-secret-of-the-cluster';
const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const UNI = '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984';

/** Addresses whose capitals are lost in a file of MBAL. */
const MBAL_ADDRESSES = ['34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'];

/** Commands that only read, with arguments. They answer on a full disk. */
const READS: Readonly<
  Record<string, readonly string[] | ((input: (name: string) => string) => readonly string[])>
> = {
  lists: [],
  'index stats': [],
  'index verify': [],
  'exposure status': [],
  'entities list': [],
  'entities propose': [],
  'snapshot status': [],
  lookup: ['ETH', LAZARUS],
  screen: ['ETH', LAZARUS],
  kyt: ['ETH', LAZARUS, UNI],
  trace: ['ETH', LAZARUS],
  taint: [`${'a0'.padStart(64, '0')}:0`, '--chain', 'BTC'],
  'monitor list': [],
  'monitor alerts': [],
  'prices show': ['ETH', 'ETH', '--at', '2024-06-01'],
  stats: [],
  'names screen': ['Zebulon Quaternion'],
  'names lists': [],
  'oracle signer': [],
  'keys list': [],
  'accounts list': [],
  'audit verify': [],
  'audit show': [],
  'credits show': ['local'],
  'ledger verify': [],
  'billing packages': [],
  'billing invoices': [],
  'billing verify': [],
  'billing statement': ['local', '2026-10'],
  'receipt keys list': [],
  'snapshot check': (input) => [input('exported')],
  'snapshot diff': (input) => [input('exported'), 'current', '--customers', input('customers.csv')],
  installation: [],
  verify: [],
};

/** Commands that are in neither table, with the reason. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'billing import camt053':
    'writes only if an invoice exists, and then like an event of Stripe: full-disk.test.ts',
  'billing keys': 'needs a configured key, and reads like billing invoices',
  'attribute explain': 'reads the labels of attribute run',
  'labels undispute': 'needs a dispute, and writes like labels dispute',
  'labels disputes': 'reads a small file of labels dispute',
  'labels reports': 'reads the store of labels report',
  'labels decide': 'needs a report, and writes like labels report',
  'billing refund': 'needs a paid invoice, and writes like billing import camt053',
  'billing release': 'needs a payment that is held, and writes like billing import camt053',
  'billing refuse': 'needs a payment that is held, and writes like billing import camt053',
  'billing cancel': 'needs an invoice, and writes like billing import camt053',
  serve: 'full-disk.test.ts',
  watch: 'full-disk-watch.test.ts',
  'monitor tail': 'follows changes until it is stopped, and writes nothing',
  'accounts notify': 'sends mail, and writes nothing',
  'accounts disable-totp': 'needs a person with a second factor, and writes like accounts add-person',
  doctor: 'reports the full disk with exit code 1, and writes nothing',
  'graph push': 'writes to another server',
  'log key': 'reads the log of an installation, which a server creates',
  'log verify': 'reads the log of an installation, which a server creates',
  'log audit':
    'reads a log that is published elsewhere, and writes one file of the auditor: test/cli/log.test.ts',
  'oracle push': 'sends to a node, and writes a tree that oracle status also writes',
  'oracle status': 'asks a node, and writes a tree: test/receipts/oracle',
  mcp: 'passes calls on to a server, and writes nothing',
  'receipt verify': 'reads a file, and writes nothing',
  'receipt replay': 'reads like receipt keys list, and needs a receipt',
  'receipt show': 'reads like receipt keys list, and needs a receipt',
  'receipt erase': 'needs a receipt, and writes like receipt keys rotate',
  'redis fill': 'full-disk-redis.test.ts',
  'redis found': 'full-disk-redis.test.ts',
  'redis newer': 'full-disk-redis.test.ts',
  'redis restore': 'full-disk-redis.test.ts',
};

const refusal = smallDiskRefusal('tmpfs');
/** The tests of all commands let the stores grow by fifty MiB (`takePages`), and those of the long suite leave as much more. */
const MIB = LONG ? 240 : 160;
/** A pull leaves 256 MiB to the other stores. */
const PULL_MIB = 320;

/** Names of all commands that do something, like `index build`. */
function leaves(): string[] {
  const program = new Command('assay');
  const never = (): never => {
    throw new Error('no command runs here');
  };
  const mcp = { baseUrl: never, operations: never, version: '' };
  for (const add of commandModules({ apiKey: never, place: never, mcp, examine: never }))
    add(program, {} as Terminal, never);
  const below = (command: Command, path: string): string[] =>
    command.commands.flatMap((child) => {
      const name = `${path}${child.name()}`;
      const isLeaf = (child as unknown as { readonly _actionHandler: unknown })._actionHandler !== null;
      return [...(isLeaf ? [name] : []), ...below(child, `${name} `)];
    });
  return below(program, '');
}
/** An OFAC list with this many parties. */
const sanctionsList = (parties: number, program = 'CYBER2'): string =>
  `<?xml version="1.0" encoding="utf-8"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>03/04/2026</Publish_Date><Record_Count>${parties}</Record_Count></publshInformation>
  ${Array.from(
    { length: parties },
    (
      _,
      uid,
    ) => `<sdnEntry><uid>${uid + 1}</uid><lastName>Quaternion Works ${uid}</lastName><sdnType>Entity</sdnType>
    <programList><program>${program}</program></programList></sdnEntry>`,
  ).join('\n')}
</sdnList>`;

/** Transactions that each spend two outputs into one, so that their addresses form clusters. */
const bitcoinRows = (transactions: number): string[] =>
  Array.from({ length: transactions }, (_, n) => {
    const id = (kind: string): string => `${kind}${n.toString(16)}`.padStart(64, '0');
    const at = `${1 + n},${1_400_000_000 + n * 600}`;
    return [
      ...[0, 1].map((out) => `${at},${id('a')},out,${out},${bech32Address(3 * n + out)},50,,`),
      ...[0, 1].map(
        (spent) => `${at},${id('b')},in,${spent},${bech32Address(3 * n + spent)},50,${id('a')},${spent}`,
      ),
      `${at},${id('b')},out,0,${bech32Address(3 * n + 2)},90,,`,
    ];
  }).flat();

const address = (): string => `0x${randomBytes(20).toString('hex')}`;

describe.skipIf(refusal !== null)(`commands on a full disk${refusal === null ? '' : ` (${refusal})`}`, () => {
  let world: World;
  let disk: SmallDisk;
  let pulling: SmallDisk;
  let store: string;
  let inputs: string;
  let environment: Record<string, string>;
  let publisher: ListServer;
  let commands: CommandProcess;
  let from: string;
  let keyId = '';

  const input = (name: string): string => join(inputs, name);
  /**
   * Runs a command with the environment of the process. The short suite starts a process only for commands with input: the others run one
   * after the other in one, where all of their own code is the same.
   */
  const runWith = (args: readonly string[], environment: Record<string, string>, text?: string) =>
    LONG || text !== undefined
      ? world.run(args, { environment, ...(text === undefined ? {} : { input: text }) })
      : commands.run(args, { ...environment, ASSAY_WORKERS: '1' });
  const run = (args: readonly string[]) => runWith(args, environment);

  /** Lists the files of the store, without those that every opening creates. */
  const files = (): string[] =>
    (readdirSync(disk.path, { recursive: true, withFileTypes: true }) as import('node:fs').Dirent[])
      .filter((entry) => entry.isFile() && !/-lock$|^filling$/.test(entry.name))
      .map((entry) => relative(disk.path, join(entry.parentPath, entry.name)))
      .sort();

  /**
   * Leaves no free page in the files of the live stores, because a small commit that finds one succeeds on a full disk. Readers hold the
   * pages that are freed from now on, and commits use up those that were free before.
   */
  function takePages(): () => Promise<void> {
    const held = files()
      .filter((name) => /^store\/(accounts|monitoring|jobs|receipts|transfers|outputs).*\.l?mdb$/.test(name))
      .map((name) => {
        const path = join(disk.path, name);
        const root = openEnvironment(path, { maxDbs: 64 });
        const reading = root.useReadTransaction();
        const { size } = statSync(path);
        const own = root.openDB<string, number>({ name: 'of-the-test', encoding: 'json' });
        // Each commit takes thirty pages: three records fit into one.
        for (let commit = 0; statSync(path).size === size; commit++)
          root.transactionSync(() => {
            for (let record = 0; record < 90; record++) own.putSync(record, `${commit}`.padEnd(1_000));
          });
        return { root, reading };
      });
    return async () => {
      for (const { root, reading } of held) {
        reading.done();
        await root.close();
      }
    };
  }

  beforeAll(async () => {
    world = newEmptyWorld();
    disk = smallDisk('tmpfs', MIB);
    store = join(disk.path, 'store');
    inputs = join(world.folder, 'inputs');
    mkdirSync(inputs);
    pulling = smallDisk('tmpfs', PULL_MIB);
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
    writeFileSync(input('many.ndjson'), transfers(6_000));
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
    writeFileSync(
      input('bitcoin.csv'),
      ['block,time,txid,dir,index,address,sats,prev_txid,prev_index', ...bitcoinRows(1_000)].join('\n'),
    );
    commands = startCommandProcess();
    publisher = await startListServer();
    publisher.paths.set('/SDN_ADVANCED.ZIP', serve(sanctionsList(2_000)));
    publisher.paths.set('/CONS_ADVANCED.ZIP', serve(sanctionsList(1, 'CMIC-EO13959')));
    const server = await world.serve(environment);
    expect(await server.stop()).toBe(0);
    const port = await freePort();
    from = `http://127.0.0.1:${port}`;
    await world.serve({ ASSAY_SNAPSHOT_LISTEN: `127.0.0.1:${port}`, ASSAY_CLUSTER_SECRET: SECRET });
    const signing = await run(['receipt', 'keys', 'rotate']);
    expect(signing.code, signing.err).toBe(0);
    const made = await run(['keys', 'create', '--name', 'to be revoked', '--json']);
    keyId = (JSON.parse(made.out) as { id: string }).id;
    writeFileSync(
      input('few-bitcoin.csv'),
      ['block,time,txid,dir,index,address,sats,prev_txid,prev_index', ...bitcoinRows(10)].join('\n'),
    );
    const exported = await run(['snapshot', 'export', input('exported')]);
    expect(exported.code, exported.err).toBe(0);
    writeFileSync(input('customers.csv'), `chain,address\nETH,${LAZARUS}\n`);
    writeFileSync(input('seen.txt'), MBAL_ADDRESSES.join('\n'));
    writeFileSync(
      input('mbal.csv'),
      [
        'chain,address,categories,entity,source',
        ...MBAL_ADDRESSES.map((one) => `bitcoin_mainnet,${one.toLowerCase()},exchange,binance,external`),
      ].join('\n'),
    );
    const lowered = await run(['import', 'mbal', input('mbal.csv')]);
    expect(lowered.code, lowered.err).toBe(0);
    const few = await run(['ingest', 'bitcoin-resolved', input('few-bitcoin.csv'), '--chain', 'BTC']);
    expect(few.code, few.err).toBe(0);
    const ingested = await run(['ingest', 'ndjson', input('few.ndjson'), '--chain', 'ETH', '--no-prices']);
    expect(ingested.code, ingested.err).toBe(0);
  });
  afterAll(async () => {
    await commands.end();
    await world.end();
    await publisher.close();
    pulling.remove();
    disk.remove();
  });

  interface Case {
    readonly args: () => readonly string[];
    readonly input?: () => string;
    /** A command that must give the same answer after the refusal. */
    readonly state: readonly string[];
    /** The bytes left free, so that the work fails in the middle; the first value leaves none. */
    readonly spares: readonly number[];
    readonly environment?: () => Readonly<Record<string, string>>;
    /** Files that a refusal leaves, so that the next attempt continues from them. */
    readonly leaves?: RegExp;
    readonly disk?: () => SmallDisk;
    /** Runs only in the long suite. */
    readonly isLong?: boolean;
    /** How it ends once there is room; default: with exit code 0. */
    readonly again?: { readonly code: number; readonly err: RegExp };
  }
  const own = (name: string) => input(name);
  /** Creates a folder with a record of a store that is missing. */
  function lost(): Record<string, string> {
    const folder = join(disk.path, 'lost');
    mkdirSync(folder, { recursive: true });
    const record = { format: 1, id: 'inst_test', createdAt: '2026-10-01T00:00:00.000Z' };
    const stores = [{ path: 'outputs/btc-outputs.mdb', kind: 'outputs', since: record.createdAt }];
    writeFileSync(join(folder, 'installation.json'), JSON.stringify({ ...record, stores }));
    return { ASSAY_DATA_DIR: folder };
  }

  const cases: Readonly<Record<string, Case>> = {
    'sync ofac': {
      args: () => ['sync', 'ofac', '--from', publisher.url],
      state: ['index', 'stats', '--json'],
      spares: [0, 1_000_000],
      // The list may have been imported completely, and the smaller index of names published, before the build of the label index was
      // refused; the next run continues from there. The log of runs has the failure, if there is room for it.
      leaves:
        /^store\/(?:labels\/(?:downloads\/|lists\/|freshness\.json$|runs\.json$)|names\/(?:index|lists)\/)/,
    },
    'lists attest': {
      args: () => ['lists', 'attest', 'OFAC_SDN', '--checked', '2026-10-15'],
      state: ['lists', '--json'],
      spares: [0],
    },
    'ingest bitcoin-resolved': {
      args: () => ['ingest', 'bitcoin-resolved', own('bitcoin.csv'), '--chain', 'BTC', '--no-prices'],
      state: ['stats', '--json'],
      spares: [0, 300_000],
      leaves: /^store\/outputs\//,
    },
    'attribute run': {
      args: () => ['attribute', 'run', 'ETH'],
      state: ['stats', '--json'],
      spares: [0],
      leaves: /^store\/attribution\//,
    },
    'labels dispute': {
      args: () => ['labels', 'dispute', 'ETH', UNI, '--reason', 'the token of a DEX', '--name', 'Uniswap'],
      state: ['index', 'stats', '--json'],
      spares: [0],
      leaves: /^store\/attribution\//,
    },
    'labels report': {
      args: () => ['labels', 'report', 'ETH', LAZARUS, '--reason', 'not theirs'],
      state: ['index', 'stats', '--json'],
      spares: [0],
    },
    cluster: {
      args: () => ['cluster', 'BTC'],
      state: ['index', 'stats', '--json'],
      spares: [0, 60_000],
      // The next run continues with the links that were written.
      leaves: /clusters\/BTC\/building\/links\//,
    },
    'snapshot pull': {
      args: () => ['snapshot', 'pull', '--from', from],
      environment: () => ({ ASSAY_DATA_DIR: join(pulling.path, 'store'), ASSAY_CLUSTER_SECRET: SECRET }),
      disk: () => pulling,
      state: ['names', 'lists', '--json'],
      spares: [0, 1_000_000],
    },
    'index synth': {
      args: () => ['index', 'synth', '--count', '20000', '--seed', '1'],
      state: ['index', 'stats', '--json'],
      spares: [0, 100_000],
      isLong: true,
    },
    'accounts disable': {
      args: () => ['accounts', 'disable', 'local'],
      state: ['keys', 'list', '--json'],
      spares: [0],
      isLong: true,
    },
    'accounts enable': {
      args: () => ['accounts', 'enable', 'local'],
      state: ['keys', 'list', '--json'],
      spares: [0],
      isLong: true,
    },
    'accounts operator': {
      args: () => ['accounts', 'operator', 'local', '--on'],
      state: ['keys', 'list', '--json'],
      spares: [0],
      isLong: true,
    },
    'credits adjust': {
      args: () => ['credits', 'adjust', 'local', '7', '--reason', 'tests'],
      state: ['credits', 'show', 'local', '--json'],
      spares: [0],
      isLong: true,
    },
    'keys revoke': {
      args: () => ['keys', 'revoke', keyId],
      state: ['keys', 'list', '--json'],
      spares: [0],
      isLong: true,
    },
    'oracle signer --new': {
      args: () => ['oracle', 'signer', '--new'],
      state: ['oracle', 'signer', '--json'],
      spares: [0],
      // The key of the installation, which the first secret creates.
      leaves: /^store\/installation\.key/,
    },
    'installation accept-loss': {
      args: () => ['installation', 'accept-loss', 'outputs/btc-outputs.mdb'],
      environment: lost,
      state: ['installation', '--json'],
      spares: [0],
    },
    'keys create': {
      args: () => ['keys', 'create', '--name', 'x'.repeat(60)],
      state: ['keys', 'list', '--json'],
      spares: [0],
    },
    'billing agree': {
      args: () => ['billing', 'agree', 'local', '--credits', '50000', '--cents', '4500000'],
      state: ['billing', 'packages', '--json'],
      spares: [0],
    },
    'billing rate': {
      args: () => ['billing', 'rate', 'EUR', '0.92', '--source', 'https://example.org', '--at', '2026-01-01'],
      state: ['billing', 'rate', '--json'],
      spares: [0],
      isLong: true,
    },
    'receipt keys rotate': {
      args: () => ['receipt', 'keys', 'rotate'],
      state: ['receipt', 'keys', 'list', '--json'],
      spares: [0],
      isLong: true,
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
      isLong: true,
    },
    'accounts create': {
      args: () => ['accounts', 'create', '--email', 'person@example.com'],
      input: () => 'a long enough password 1\n',
      state: ['accounts', 'list', '--json'],
      spares: [0],
      isLong: true,
    },
    'accounts add-person': {
      args: () => ['accounts', 'add-person', 'local', '--email', 'second@example.com'],
      input: () => 'a long enough password 1\n',
      state: ['accounts', 'list', '--json'],
      spares: [0],
    },
    'monitor add': {
      args: () => ['monitor', 'add', 'ETH', LAZARUS],
      state: ['monitor', 'list', '--json'],
      spares: [0],
    },
    'import own': {
      args: () => ['import', 'own', own('own.csv')],
      state: ['lookup', 'ETH', LAZARUS, '--json'],
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
      isLong: true,
    },
    'import registers': {
      args: () => ['import', 'registers', own('hk-2026-10-01.csv')],
      state: ['index', 'stats', '--json'],
      spares: [0, 30_000],
      isLong: true,
    },
    'prices import': {
      args: () => ['prices', 'import', own('prices.json'), '--chain', 'ETH', '--asset', UNI],
      state: ['prices', 'show', 'ETH', UNI, '--at', '2024-06-01', '--json'],
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
      isLong: true,
    },
    'snapshot publish': {
      args: () => ['snapshot', 'publish'],
      state: ['index', 'stats', '--json'],
      spares: [0],
      isLong: true,
    },
    backup: {
      args: () => ['backup', join(disk.path, 'backup')],
      state: ['index', 'stats', '--json'],
      spares: [0, 1_000_000],
    },
    'labels sync': {
      args: () => ['labels', 'sync', '--all', '--from', publisher.url],
      state: ['index', 'stats', '--json'],
      spares: [0],
      // As of `sync ofac`; the next run continues after the last source that was imported.
      leaves:
        /^store\/(?:labels\/(?:downloads\/|lists\/|freshness\.json$|runs\.json$|sync)|names\/(?:index|lists)\/)/,
      // The publisher of the test has one list only.
      again: { code: 1, err: /Not refreshed: / },
    },
    'labels restore': {
      args: () => ['labels', 'restore', '--addresses', own('seen.txt')],
      state: ['index', 'stats', '--json'],
      spares: [0],
    },
    'snapshot export': {
      args: () => ['snapshot', 'export', join(disk.path, 'exported')],
      state: ['index', 'stats', '--json'],
      spares: [0, 100_000],
    },
    'bulk --output': {
      args: () => ['bulk', '--chain', 'ETH', '--output', join(disk.path, 'answers.ndjson')],
      input: () => Array.from({ length: 1_000 }, address).join('\n'),
      state: ['index', 'stats', '--json'],
      spares: [0, 100_000],
    },
  };

  /** Titles begin with the command's name. */
  const commandOf = (title: string): string => {
    const names = leaves().filter((name) => title === name || title.startsWith(`${name} `));
    return names.sort((a, b) => b.length - a.length)[0] ?? title;
  };

  it('covers every command of the program', () => {
    const tables = [...Object.keys(cases).map(commandOf), ...Object.keys(READS), ...Object.keys(ELSEWHERE)];
    expect([...new Set(tables)].sort()).toEqual(leaves().sort());
  });

  it.each(Object.entries(READS).filter(([, args]) => LONG || args.length > 0))(
    '%s answers',
    async (name, args) => {
      disk.fill();
      const words = typeof args === 'function' ? args(input) : args;
      const result = await run([...name.split(' '), ...words]);
      disk.free();
      expect(result, result.err).toMatchObject({ code: 0, err: '' });
    },
  );

  for (const [
    title,
    { args, input: text, state, spares, leaves: kept, isLong = false, again: ending, ...more },
  ] of Object.entries(cases))
    it.skipIf(isLong && !LONG)(title, async () => {
      const own = { ...environment, ...more.environment?.() };
      const runOwn = (words: readonly string[], text?: string) => runWith(words, own, text);
      const full = more.disk?.() ?? disk;
      const before = await runOwn(state);
      const filesBefore = files();
      // The short suite fails where the work has begun; the long one also where nothing can be written.
      for (const spare of LONG ? spares : spares.slice(-1)) {
        const release = takePages();
        full.fill(spare);
        const refused = await runOwn(args(), text?.());
        await release();
        full.free();
        const lines = refused.err.split('\n').filter((line) => line.startsWith('assay: '));
        expect({ spare, code: refused.code, lines, err: refused.err.slice(0, 3_000) }).toMatchObject({
          code: 1,
          lines: [
            expect.stringMatching(/(cannot be written|could not be written|no space|disk space| left\.)/i),
          ],
        });
        expect(lines[0]).toContain(full.path);
        expect(lines[0]).not.toContain('unexpected error');
        const left = files().filter((name) => !filesBefore.includes(name) && kept?.test(name) !== true);
        expect(left).toEqual([]);
      }
      expect((await runOwn(state)).out).toBe(before.out);
      const again = await runOwn(args(), text?.());
      expect(again.code, again.err).toBe(ending?.code ?? 0);
      expect(again.err).toMatch(ending?.err ?? /(?:)/);
    });
});
