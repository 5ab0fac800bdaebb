/**
 * Programs `node` of other versions, for tests. They come from the package `node-<platform>-<architecture>`, which the registry has, and are
 * installed once into a cache folder of the user.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'assay', 'node');
const npm = (args, cwd) =>
  spawnSync('npm', args, {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });

/** Prints one line for the person who runs a script. */
export function note(text) {
  process.stderr.write(`assay: ${text}\n`);
}

/**
 * Returns the path of the program `node` of a version, installed at its first use.
 *
 * @param version - such as `22.23.3`; npm verifies its hash
 * @throws if the registry cannot be reached or lacks the version
 */
export function nodeOf(version) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const folder = join(cache, `${version}-${name}`);
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  const path = join(folder, 'node_modules', name, 'bin', file);
  if (existsSync(path)) return path;
  note(`installing Node ${version}`);
  const making = `${folder}.${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  writeFileSync(join(making, 'package.json'), '{"private":true}\n');
  const done = npm(
    ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', `${name}@${version}`],
    making,
  );
  if (done.status !== 0) {
    rmSync(making, { recursive: true, force: true });
    throw new Error(`Node ${version} cannot be installed: npm install ${name}@${version} failed.`);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
  return path;
}
