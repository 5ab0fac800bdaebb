/** A real Monero node: monerod (Debian: monero) on a private chain, which the test starts. It makes blocks only on request. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianProgram } from '../../../setup/debian-package.ts';
import { freePort } from '../../../setup/free-port.ts';
import { sleep } from '../../../support/wait.ts';

const program = debianProgram('monero', 'bin/monerod');

/** Whether the program is installed. If not, the tests of real nodes are skipped. */
export const hasMonerod = program !== null;

export interface Monerod {
  readonly url: string;
  /** Makes blocks that pay the address. */
  mine(address: string, blocks: number): Promise<void>;
  /** Reverts the newest blocks. */
  pop(blocks: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startMonerod(): Promise<Monerod> {
  if (program === null) throw new Error('There is no monerod.');
  const folder = mkdtempSync(join(tmpdir(), 'assay-monerod-'));
  const [rpcPort, p2pPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${rpcPort}`;
  const child: ChildProcess = spawn(
    program.path,
    [
      '--regtest',
      '--offline',
      '--fixed-difficulty=1',
      '--non-interactive',
      '--no-zmq',
      '--no-igd',
      '--disable-rpc-ban',
      '--log-level=0',
      `--log-file=${join(folder, 'log')}`,
      `--data-dir=${folder}`,
      `--rpc-bind-port=${rpcPort}`,
      `--p2p-bind-port=${p2pPort}`,
    ],
    { stdio: 'ignore', env: { ...process.env, ...program.env } },
  );

  async function ask(
    path: string,
    body: unknown,
  ): Promise<{ result?: unknown; error?: { message: string } }> {
    const response = await fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { result?: unknown; error?: { message: string } };
  }

  async function rpc(method: string, params: unknown): Promise<unknown> {
    const { result, error } = await ask('json_rpc', { jsonrpc: '2.0', id: '0', method, params });
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null)
      await new Promise<void>((resolve) => {
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      });
    rmSync(folder, { recursive: true, force: true });
  };

  for (let tries = 0; ; tries++) {
    await sleep(100);
    try {
      await rpc('get_block_count', {});
      break;
    } catch (error) {
      if (tries < 1_200 && child.exitCode === null) continue;
      await stop();
      throw new Error(`monerod did not start: ${String(error)}`);
    }
  }
  return {
    url,
    mine: async (address, blocks) => {
      await rpc('generateblocks', { amount_of_blocks: blocks, wallet_address: address });
    },
    pop: async (blocks) => {
      await ask('pop_blocks', { nblocks: blocks });
    },
    stop,
  };
}
