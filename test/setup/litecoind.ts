/** A real Litecoin node on its regtest network, which the test starts on free ports. It makes blocks only on request. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../support/wait.ts';
import { debianProgram } from './debian-package.ts';
import { freePort } from './free-port.ts';

// The program on the path writes into the home folder first.
const program = debianProgram('litecoind', 'lib/litecoin/litecoind');
/** Whether this machine has, or could unpack, the program. If not, its tests are skipped. */
export const hasLitecoind = program !== null;

export interface BitcoinNode {
  /** The URL with credentials, as an operator configures it. */
  readonly url: string;
  /** The parameters of `getblock` after the hash for whole transactions. */
  readonly wholeBlock: readonly unknown[];
  rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>;
  stop(): Promise<void>;
}

export interface Litecoind extends BitcoinNode {
  /** Makes blocks that pay the wallet. */
  mine(blocks?: number): Promise<void>;
  /** Replaces the newest blocks with empty ones; their transactions return to the pool. */
  reorg(depth: number): Promise<void>;
}

/** Returns a JSON-RPC client for these nodes. */
export function rpcOf(url: string): BitcoinNode['rpc'] {
  const { origin, username, password } = new URL(url);
  return async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const response = await fetch(origin, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      },
      body: JSON.stringify({ jsonrpc: '1.0', id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } | null };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

/** Waits until a node answers; throws the reason if it does not. */
export async function untilReady(child: ChildProcess, ask: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 1_200; tries++) {
    await sleep(100);
    try {
      await ask();
      return;
    } catch (error) {
      if (child.exitCode !== null)
        throw new Error(`The node ended with ${child.exitCode}.`, { cause: error });
    }
  }
  throw new Error('The node did not start.');
}

export const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });

export async function startLitecoind(
  options: { readonly args?: readonly string[] } = {},
): Promise<Litecoind> {
  if (program === null) throw new Error('There is no litecoind.');
  const folder = mkdtempSync(join(tmpdir(), 'assay-litecoind-'));
  const port = await freePort();
  const url = `http://assay:secret@127.0.0.1:${port}`;
  const rpc = rpcOf(url);
  const child = spawn(
    program.path,
    [
      '-regtest',
      `-datadir=${folder}`,
      '-server',
      '-rest',
      '-listen=0',
      '-rpcuser=assay',
      '-rpcpassword=secret',
      `-rpcport=${port}`,
      '-fallbackfee=0.0001',
      ...(options.args ?? ['-txindex=1']),
    ],
    { stdio: 'ignore', env: { ...process.env, ...program.env } },
  );
  // A test that fails before it stops its node must not leave it running.
  const atExit = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', atExit);
  await untilReady(child, () => rpc('getblockchaininfo'));
  await rpc('createwallet', 'w');
  const own = await rpc<string>('getnewaddress');
  return {
    url,
    wholeBlock: [2],
    rpc,
    async mine(blocks = 1) {
      await rpc('generatetoaddress', blocks, own);
    },
    async reorg(depth) {
      const height = await rpc<number>('getblockcount');
      const other = await rpc<string>('getnewaddress');
      await rpc('invalidateblock', await rpc('getblockhash', height - depth + 1));
      // The transactions of the blocks return to the pool: make blocks without them, so that the other branch differs.
      for (let block = 0; block < depth; block++) await rpc('generateblock', other, []);
    },
    async stop() {
      await ended(child);
      process.off('exit', atExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
