/**
 * Implements `npm start`, `npm test`, `npm run test:long`, `npm run bench` and `npm run lint` for a machine that has only Node and npm:
 * installs the packages of the lockfile, builds if sources changed, then runs. Plain JavaScript, because it runs before anything is
 * installed.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './dashboard.mjs';
import { isInstalled } from './installed.mjs';
import { changeLmdb } from './supply/lmdb-open.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tool = (name) => join(root, 'node_modules', name);

/** Programs that run now. */
const running = new Set();

/**
 * Runs a program and exits if it fails. Forwards signals to it, and ends the others that run if it fails, so that no child process outlives
 * this one.
 */
function run(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
    running.add(child);
    const pass = (signal) => child.kill(signal);
    for (const signal of SIGNALS) process.on(signal, pass);
    child.on('error', (error) => {
      note(error.message);
      process.exit(1);
    });
    child.on('exit', (code, signal) => {
      running.delete(child);
      for (const each of SIGNALS) process.off(each, pass);
      if (signal !== null || code !== 0) {
        for (const other of running) other.kill();
        process.exit(code ?? 1);
      }
      resolve();
    });
  });
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function note(text) {
  process.stderr.write(`assay: ${text}\n`);
}

/** Installs the locked packages if they are not installed already. If they are, it works without a network. */
async function install() {
  if (isInstalled(root)) {
    // They may have been installed without their scripts.
    changeLmdb(root).forEach(note);
    return;
  }
  note('installing packages');
  // The compiler is a development package, which npm leaves out under NODE_ENV=production.
  await run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    shell: process.platform === 'win32',
  });
}

/** Suffixes of files that become a part of dist/. */
const BUILT_FROM = ['.ts', '.md', '.css'];

function newestChange(folder) {
  if (!existsSync(join(root, folder))) return 0;
  let newest = 0;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !BUILT_FROM.some((suffix) => entry.name.endsWith(suffix))) continue;
    newest = Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs);
  }
  return newest;
}

/** Compiles to dist/ if a source file is newer than the last build. */
async function build() {
  const mark = join(root, 'dist', '.built');
  const sources = ['src', 'workers', 'bench', 'scripts', 'test', 'docs', 'sdk'].map(newestChange);
  const settings = ['tsconfig.json', 'package-lock.json'].map((name) => statSync(join(root, name)).mtimeMs);
  if (existsSync(mark) && statSync(mark).mtimeMs > Math.max(...sources, ...settings)) return;
  note('building');
  // Deletes old output first: the output of a deleted source must not stay. The dashboard has a build of its own.
  const dist = join(root, 'dist');
  for (const name of existsSync(dist) ? readdirSync(dist) : [])
    if (name !== 'dashboard') rmSync(join(dist, name), { recursive: true, force: true });
  await run(process.execPath, [tool('typescript/bin/tsc'), '-p', 'tsconfig.json']);
  await run(process.execPath, ['dist/scripts/kernels/main.js']);
  await run(process.execPath, ['dist/scripts/guide/main.js', '--quick']);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(mark, '');
}

/** Also joins the program to one file, as it ships. That step sees for itself whether it has to be done again, for example for another Node. */
async function buildProgram() {
  await build();
  await run(process.execPath, ['dist/scripts/joined/main.js']);
}

async function runTests(args) {
  // Each of them waits for the registry half of the time.
  await Promise.all([install(), run(process.execPath, ['scripts/dashboard.mjs', '--packages'])]);
  // The dashboard needs nothing of the other build, and each of them uses one core.
  await Promise.all([build(), run(process.execPath, ['scripts/dashboard.mjs'])]);
  const environment = { ...process.env, ASSAY_TEST_PREBUILT: '1' };
  await run(process.execPath, [tool('vitest/vitest.mjs'), 'run', ...args], { env: environment });
}

/**
 * Settings of memory, which must be set before a process starts. The Dockerfile has the same. Without those of glibc's allocator each thread
 * has its own arenas, and buffers of up to 32 MB come from arenas, which keep freed memory (docs/OPERATIONS.md has the figures). With twice
 * the room for new objects, V8 copies fewer of those that requests still use: a signed answer takes an eighth less time.
 */
const MEMORY = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  NODE_OPTIONS: '--max-semi-space-size=32',
};

/** The number of helper threads that Node starts on every machine. */
const HELPERS_MAX = 4;

/**
 * Half as many of V8's helper threads as there are cores. They mark objects beside the program, at the priority of the thread that answers
 * requests: with four of them on two cores, each collection of a thread's heap stopped all others for 25 ms (docs/decisions/main-thread.md).
 */
const helpers = Math.max(1, Math.min(HELPERS_MAX, Math.floor(availableParallelism() / 2)));
const NODE_OPTIONS = `${MEMORY.NODE_OPTIONS} --v8-pool-size=${helpers}`;

const commands = {
  start: async (args) => {
    await install();
    await buildProgram();
    // The API starts without it, for example if the registry of packages cannot be reached.
    if (!buildDashboard(note)) note('the dashboard could not be built');
    await run(process.execPath, ['dist/joined/main.cjs', 'serve', ...args], {
      env: { ...MEMORY, NODE_OPTIONS, ...process.env },
    });
  },
  test: runTests,
  'test:long': (args) => runTests(['--config', 'vitest.long.config.ts', ...args]),
  lint: async (args) => {
    await install();
    await run(process.execPath, ['scripts/dashboard.mjs', '--packages']);
    await run(process.execPath, [tool('@biomejs/biome/bin/biome'), 'check', '.', ...args]);
    for (const folder of ['.', 'dashboard'])
      await run(process.execPath, [tool('typescript/bin/tsc'), '-p', folder, '--noEmit']);
    await run(process.execPath, ['scripts/supply/licences.mjs']);
    // What the dashboard needs is a part of its files.
    await run(process.execPath, ['scripts/supply/licences.mjs', '--lockfile', 'dashboard/package-lock.json']);
    await run(process.execPath, ['scripts/supply/signatures.mjs']);
  },
  bench: async (args) => {
    await install();
    await buildProgram();
    await run(process.execPath, ['--expose-gc', 'dist/bench/main.js', ...args], {
      env: { NODE_OPTIONS, ...process.env },
    });
  },
};

const [name, ...args] = process.argv.slice(2);
const command = commands[name ?? ''];
if (!command) {
  note(`usage: node scripts/bootstrap.mjs ${Object.keys(commands).join('|')}`);
  process.exit(2);
}
await command(args);
