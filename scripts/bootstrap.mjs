/**
 * What `npm start`, `npm test`, `npm run test:long`, `npm run bench` and `npm run lint` do on a machine that has Node and npm and
 * nothing else: install what the lockfile names, build what changed, then run. Plain JavaScript, because it runs before anything is installed.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tool = (name) => join(root, 'node_modules', name);

/** Runs a program to its end, which must be a good one. Signals to this process reach it, so that none outlives its parent. */
function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
    const pass = (signal) => child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, pass);
    child.on('error', (error) => {
      note(error.message);
      process.exit(1);
    });
    child.on('exit', (code, signal) => {
      for (const each of SIGNALS) process.off(each, pass);
      if (signal !== null || code !== 0) process.exit(code ?? 1);
      resolve();
    });
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function note(text) {
  process.stderr.write(`assay: ${text}\n`);
}

/** Whether node_modules holds exactly what the lockfile names, by npm's own record of what it put there. */
function isInstalled() {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(locked).every(([path, { version, optional }]) => {
    if (path === '') return true;
    // Binaries of other platforms are not put there.
    if (installed[path] === undefined) return optional === true;
    return installed[path].version === version;
  });
}

/** Installs the locked packages unless exactly these are installed already: without a network that still starts. */
async function install() {
  if (isInstalled()) return;
  note('installing packages');
  await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    shell: process.platform === 'win32',
  });
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
async function build() {
  const mark = join(root, 'dist', '.built');
  const sources = ['src', 'workers', 'bench', 'scripts', 'test'].map(newestChange);
  const settings = ['tsconfig.json', 'package-lock.json'].map((name) => statSync(join(root, name)).mtimeMs);
  if (existsSync(mark) && statSync(mark).mtimeMs > Math.max(...sources, ...settings)) return;
  note('building');
  // What a deleted source left behind would still be imported by nobody, and measured by nobody.
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  await run(process.execPath, [tool('typescript/bin/tsc'), '-p', 'tsconfig.json']);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(mark, '');
}

async function runTests(args) {
  await install();
  await build();
  const environment = { ...process.env, ASSAY_TEST_PREBUILT: '1' };
  await run(process.execPath, [tool('vitest/vitest.mjs'), 'run', ...args], { env: environment });
}

/**
 * Settings of glibc's allocator, which a process must have before it begins; the same in the Dockerfile. Without them each thread has
 * arenas of its own, and buffers of up to 32 MB come from arenas, which keep what was freed (docs/OPERATIONS.md has the figures).
 */
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

const commands = {
  start: async (args) => {
    await install();
    await build();
    await run(process.execPath, ['dist/src/main.js', 'serve', ...args], {
      env: { ...ALLOCATOR, ...process.env },
    });
  },
  test: runTests,
  'test:long': (args) => runTests(['--config', 'vitest.long.config.ts', ...args]),
  lint: async (args) => {
    await install();
    await run(process.execPath, [tool('@biomejs/biome/bin/biome'), 'check', '.', ...args]);
  },
  bench: async (args) => {
    await install();
    await build();
    await run(process.execPath, ['--expose-gc', 'dist/bench/main.js', ...args]);
  },
};

const [name, ...args] = process.argv.slice(2);
const command = commands[name ?? ''];
if (!command) {
  note(`usage: node scripts/bootstrap.mjs ${Object.keys(commands).join('|')}`);
  process.exit(2);
}
await command(args);
