/**
 * What `npm start`, `npm test`, `npm run bench` and `npm run lint` do on a machine that has Node and npm and nothing else:
 * install what the lockfile names, build what changed, then run. Plain JavaScript, because it runs before anything is installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tool = (name) => join(root, 'node_modules', name);

function run(command, args, options = {}) {
  const child = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (child.error) throw child.error;
  if (child.signal) process.kill(process.pid, child.signal);
  if (child.status !== 0) process.exit(child.status ?? 1);
}

/** Runs a program that lasts: signals to this process reach it, and its exit code becomes ours. */
function runUntilStopped(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)));
}

function note(text) {
  process.stderr.write(`assay: ${text}\n`);
}

/** Installs the locked packages unless exactly these are installed already. */
function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const mark = join(root, 'node_modules', '.assay-lock');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
  note('installing packages');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { shell: process.platform === 'win32' });
  writeFileSync(mark, lock);
}

function newestChange(folder) {
  let newest = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    newest = Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs);
  }
  return newest;
}

/** Compiles to dist/ unless the last build is newer than every source file. */
function build() {
  const mark = join(root, 'dist', '.built');
  const sources = ['src', 'workers', 'bench', 'scripts', 'test'].map(newestChange);
  const settings = ['tsconfig.json', 'package-lock.json'].map((name) => statSync(join(root, name)).mtimeMs);
  if (existsSync(mark) && statSync(mark).mtimeMs > Math.max(...sources, ...settings)) return;
  note('building');
  run(process.execPath, [tool('typescript/bin/tsc'), '-p', 'tsconfig.json']);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(mark, '');
}

const commands = {
  start: (args) => {
    install();
    build();
    runUntilStopped(process.execPath, ['dist/src/main.js', 'serve', ...args]);
  },
  test: (args) => {
    install();
    build();
    const environment = { ...process.env, ASSAY_TEST_PREBUILT: '1' };
    run(process.execPath, [tool('vitest/vitest.mjs'), 'run', ...args], { env: environment });
  },
  lint: (args) => {
    install();
    run(process.execPath, [tool('@biomejs/biome/bin/biome'), 'check', '.', ...args]);
  },
  bench: (args) => {
    install();
    build();
    run(process.execPath, ['--expose-gc', 'dist/bench/main.js', ...args]);
  },
};

const [name, ...args] = process.argv.slice(2);
const command = commands[name ?? ''];
if (!command) {
  note(`usage: node scripts/bootstrap.mjs ${Object.keys(commands).join('|')}`);
  process.exit(2);
}
command(args);
