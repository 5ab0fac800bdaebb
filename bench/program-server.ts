/** The built program as a server, for benchmarks of the whole of it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { LOCAL_ACCOUNT } from '../src/accounts/keys.ts';
import { openKeyStore } from '../src/accounts/keys-lmdb.ts';
import { RATE_CLASSES } from '../src/accounts/plans.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { projectRoot } from '../src/base/paths.ts';
import { systemRandom } from '../src/base/random.ts';

export const PROGRAM = join(projectRoot, 'dist', 'joined', 'main.cjs');
/** Finite, but out of reach. */
const REQUESTS_A_MINUTE = 900_000_000;

export interface ProgramServer {
  readonly url: string;
  /** From its start to the line that it answers. */
  readonly startMs: number;
  /** A key of the installation's own account, without limits. */
  readonly key: string;
  stop(): Promise<void>;
}

/** Environment of the program over a folder. */
export const environmentOf = (folder: string): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  ASSAY_DATA_DIR: join(folder, 'store'),
  ASSAY_PORT: '0',
  ASSAY_SYNC: 'off',
});

/**
 * Runs a command of the program over a folder to its end.
 *
 * @throws with its errors if it fails
 */
export function runProgram(folder: string, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: environmentOf(folder),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`${args.join(' ')}: ${code} ${errors.slice(-2_000)}`)),
    );
  });
}

/** Starts the program over a folder, with the options of Node that `npm run bench` has from `npm start`, and creates a key without limits. */
export async function startProgram(folder: string): Promise<ProgramServer> {
  const beganMs = systemClock.monotonic();
  const child = spawn(process.execPath, [PROGRAM, 'serve'], {
    env: { ...environmentOf(folder), NODE_OPTIONS: process.env.NODE_OPTIONS },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  let out = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      const found = /^Assay answers on (\S+) /m.exec(out)?.[1];
      if (found !== undefined) resolve(found);
    });
    void ended.then(() => reject(new Error(`serve ended: ${out}`)));
  });
  const startMs = systemClock.monotonic() - beganMs;
  const parts = { clock: systemClock, random: systemRandom, log: silentLogger };
  const keys = openKeyStore({ path: join(folder, 'store', 'accounts', 'keys.mdb') }, parts);
  const rateLimits = Object.fromEntries(RATE_CLASSES.map((name) => [name, REQUESTS_A_MINUTE]));
  const { apiKey } = await keys.create({ name: 'bench', accountId: LOCAL_ACCOUNT, rateLimits });
  await keys.close();
  return {
    url,
    startMs,
    key: apiKey,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
