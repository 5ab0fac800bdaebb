/**
 * A server with data for every part of the dashboard: an address that was paid by a mixer, an exchange and strangers, names that attack
 * whoever shows them, and a person who has registered. Tests and the screenshots use it.
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';
import { madeOnce } from '../setup/made-once.ts';
import { startMailServer } from '../setup/mail-server.ts';
import { isKeptInCopies, prepareFolder } from '../setup/prepared-folder.ts';
import { PROGRAM } from '../setup/program-path.ts';
import { spawnSync } from '../support/child-process.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

const address = (digit: string): string => `0x${digit.repeat(40)}`;

/** Paid by a mixer and an exchange; paid an exchange, a casino and, through another address, a darknet market. */
export const SUBJECT = '0xa11ce00000000000000000000000000000000001';
export const MIXER = address('1');
const EXCHANGE = address('2');
const CASINO = address('3');
const MARKET = address('4');
const BETWEEN = address('5');
const STRANGER = address('6');
/** Its label has a hostile name, and so have those of its counterparties. */
export const HOSTILE = '0xbad0000000000000000000000000000000000bad';
const HOSTILE_PAYER = address('7');
/** On the lists of the shipped data. */
export const SANCTIONED = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
/** No source knows it. */
export const NOBODY = '0x00000000000000000000000000000000deadc0de';

/** Would run, load, overflow or turn around whatever shows them as markup. */
export const HOSTILE_NAMES = [
  '<img src=x onerror="globalThis.attacked = true">',
  '</td></tr></table><script>globalThis.attacked = true</script>',
  '\u202Eevil\u202C \u2066right-to-left مرحبا\u2069',
  '=HYPERLINK("https://evil.example","click")',
  `long ${'x'.repeat(10_000)}`,
] as const;

export const EMAIL = 'ann@example.org';
export const PASSWORD = 'correct horse battery';

const csv = (cells: readonly string[]): string =>
  cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

const LABELS = [
  ['address', 'chain', 'entity', 'name', 'category', 'confidence', 'last_seen', 'source_url', 'first_seen'],
  [MIXER, 'ETH', 'mixer', 'Example Mixer', 'MIXER', '0.9', '2026-10-01', 'https://mixers.example/list', ''],
  [
    EXCHANGE,
    'ETH',
    'exchange',
    'Example Exchange',
    'EXCHANGE',
    '1',
    '2026-11-01',
    'https://exchange.example',
    '',
  ],
  // Its source has only the first day.
  [CASINO, 'ETH', 'casino', 'Example Casino', 'GAMBLING', '0.8', '', '', '2026-09-15'],
  [MARKET, 'ETH', 'market', 'Example Market', 'DARKNET_MARKET', '0.9', '2026-08-01', '', ''],
  ...HOSTILE_NAMES.map((name, index) => [
    index === 0 ? HOSTILE : index === 1 ? HOSTILE_PAYER : `0xbad${String(index).padStart(37, '0')}`,
    'ETH',
    `hostile-${index}`,
    name,
    'SCAM',
    '0.9',
    '2026-10-01',
    '',
    '',
  ]),
];

let count = 0;
/** One transfer of ether; its value is given, so that the picture does not depend on prices. */
function transfer(from: string, to: string, ether: number, day: string): string {
  count++;
  return JSON.stringify({
    txHash: `0x${count.toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: 20_000_000 + count,
    timestamp: `${day}T12:00:00Z`,
    from,
    to,
    asset: 'ETH',
    amount: (BigInt(Math.round(ether * 1_000)) * 10n ** 15n).toString(),
  });
}

const TRANSFERS = [
  transfer(MIXER, SUBJECT, 12, '2026-10-02'),
  transfer(EXCHANGE, SUBJECT, 30, '2026-10-03'),
  transfer(STRANGER, SUBJECT, 3.5, '2026-10-05'),
  transfer(SUBJECT, EXCHANGE, 18, '2026-10-07'),
  transfer(SUBJECT, CASINO, 4, '2026-10-08'),
  transfer(SUBJECT, BETWEEN, 9, '2026-10-09'),
  transfer(BETWEEN, MARKET, 8, '2026-10-11'),
  transfer(HOSTILE_PAYER, HOSTILE, 5, '2026-10-12'),
  ...HOSTILE_NAMES.slice(2).map((_, index) =>
    transfer(HOSTILE, `0xbad${String(index + 2).padStart(37, '0')}`, 2, '2026-10-13'),
  ),
];

/** Hashes of the transfers above. Another chain also has that of `several`. */
export const TRANSACTIONS = {
  mixer: `0x${'1'.padStart(64, '0')}`,
  several: `0x${'3'.padStart(64, '0')}`,
  hostile: `0x${'8'.padStart(64, '0')}`,
  unknown: `0x${'9'.repeat(64)}`,
} as const;

/**
 * Returns a file with many addresses, and twice as many edges. Columns from -3 to 3; every address pays a few of the next column.
 *
 * @param addresses - how many; the largest file that the page opens has 5,000
 */
export function largeTrace(addresses = 5_000): string {
  const nodes = Array.from({ length: addresses }, (_, at) => ({
    address: at === 0 ? SUBJECT : `n${at}`,
    name: at % 7 === 0 ? `Name ${at}` : null,
    category: 'UNKNOWN',
    threatLevel: ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL', null][at % 5],
    shown: true,
  }));
  // Chains of seven around the start, so that the columns are even.
  const column = (at: number): number => (at === 0 ? 0 : ((at - 1) % 7) - 3);
  const columns = new Map<number, string[]>();
  for (const [at, { address }] of nodes.entries()) {
    const known = columns.get(column(at)) ?? [];
    columns.set(column(at), [...known, address]);
  }
  const edges = new Map<string, object>();
  for (let at = 0; edges.size < 2 * addresses; at++) {
    const from = column(at % addresses);
    const next = columns.get(from + 1) ?? columns.get(-2) ?? [];
    const pair = {
      from: nodes[at % addresses]?.address,
      to: next[(at * 31 + Math.floor(at / addresses)) % next.length],
    };
    if (pair.from === pair.to) continue;
    const times = { firstSeen: '2026-01-01T00:00:00Z', lastSeen: '2026-02-01T00:00:00Z' };
    edges.set(`${pair.from} ${pair.to}`, {
      ...pair,
      asset: 'ETH',
      value: '1',
      usd: at,
      transfers: 1,
      ...times,
    });
  }
  return JSON.stringify({
    format: 'assay-trace',
    version: 1,
    chain: 'ETH',
    start: SUBJECT,
    dataVersions: [],
    tracedAt: '',
    nodes,
    edges: [...edges.values()],
  });
}

export interface DashboardWorld {
  readonly world: World;
  readonly server: RunningServer;
  readonly mail: Awaited<ReturnType<typeof startMailServer>>;
  /** Registers a person over the API, confirms the address, and returns the value of the session cookie. */
  person(email?: string): Promise<string>;
  /** Logs that person in once more, and returns the value of the session cookie. */
  login(email?: string): Promise<string>;
  end(): Promise<void>;
}

const ON_BASE = JSON.stringify({
  ...JSON.parse(TRANSFERS[2] as string),
  from: address('8'),
  to: address('9'),
});
const FILES = {
  'labels.csv': `${LABELS.map(csv).join('\n')}\n`,
  'eth.ndjson': `${TRANSFERS.join('\n')}\n`,
  'base.ndjson': `${ON_BASE}\n`,
} as const;
const COMMANDS = [
  ['import', 'own', 'labels.csv'],
  ['ingest', 'ndjson', 'eth.ndjson', '--chain', 'ETH'],
  ['ingest', 'ndjson', 'base.ndjson', '--chain', 'BASE'],
  ['index', 'build'],
] as const;

/**
 * Fills a folder of state with the data. The commands take two seconds of processor time, so the first test file that needs it runs them
 * once, until the program is built again, and the others copy the result.
 */
function fillStore(store: string): void {
  const content = createHash('sha256')
    .update(JSON.stringify([FILES, COMMANDS]))
    .digest('hex');
  const made = join(projectRoot, 'dist', 'bundled', 'worlds', `dashboard-${content.slice(0, 16)}`);
  madeOnce(made, (path) => {
    prepareFolder(path);
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(path, name), text);
    const env = { PATH: process.env.PATH, ASSAY_DATA_DIR: path, ASSAY_SYNC: 'off', ASSAY_WORKERS: '1' };
    for (const args of COMMANDS) {
      const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
        cwd: path,
        env,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    }
    for (const name of Object.keys(FILES)) rmSync(join(path, name));
  });
  mkdirSync(store, { mode: 0o700 });
  cpSync(made, store, { recursive: true, filter: isKeptInCopies });
}

/**
 * Starts the server with its data.
 *
 * @param environment - further settings of the server
 */
export async function openDashboardWorld(environment: Record<string, string> = {}): Promise<DashboardWorld> {
  const world = newWorld();
  const mail = await startMailServer();
  fillStore(join(world.folder, 'store'));
  const server = await world.serve({
    ASSAY_REGISTRATION: 'open',
    ASSAY_SMTP_URL: mail.url,
    ASSAY_MAIL_FROM: 'assay@example.org',
    ...environment,
  });
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${server.url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: server.url },
      body: JSON.stringify(body),
    });
  async function login(email = EMAIL): Promise<string> {
    const response = await post('/auth/login', { email, password: PASSWORD });
    return /assay_session=([^;]+)/.exec(response.headers.get('set-cookie') ?? '')?.[1] ?? '';
  }
  let letters = 0;
  return {
    world,
    server,
    mail,
    async person(email = EMAIL) {
      await post('/auth/register', { email, password: PASSWORD });
      const token = await mail.token(letters++);
      await post('/auth/verify', { token });
      return login(email);
    },
    login,
    async end() {
      await world.end();
      await mail.close();
    },
  };
}
