/** Python 3 for tests of the Python client: the one of the machine, or Debian's package. */
import { spawn } from 'node:child_process';
import { execFileSync } from '../support/child-process.ts';
import { debianProgram } from './debian-package.ts';

/** Oldest version that the client supports. */
const MINOR_MIN = 9;

export interface Python {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

function isRecent(path: string): boolean {
  try {
    const out = execFileSync(path, ['-c', 'import sys; print(sys.version_info[0], sys.version_info[1])'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [major = 0, minor = 0] = out.trim().split(' ').map(Number);
    return major === 3 && minor >= MINOR_MIN;
  } catch {
    return false;
  }
}

/** Returns Python 3.9 or later, or null, with the reason on the console, if there is none. */
export function findPython(): Python | null {
  if (isRecent('python3')) return { path: 'python3', env: {} };
  return debianProgram('python3-minimal', 'bin/python3');
}

/**
 * Runs a script to its end, and returns its output.
 *
 * @throws with the output of the script if it fails
 */
export function runPython(
  python: Python,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<string> {
  const child = spawn(python.path, args, {
    cwd,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', ...python.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(out) : reject(new Error(`${args.join(' ')} ended with ${code}:\n${out}${err}`)),
    );
  });
}
