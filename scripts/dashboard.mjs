/**
 * Installs the packages of `dashboard/` and builds it into `dist/dashboard`, each only if something changed. Plain JavaScript, because it
 * runs before anything is built. `npm start`, `npm test` and `npm run build` call it.
 *
 * Usage: node scripts/dashboard.mjs [--packages]
 *
 * `--packages` only installs.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isInstalled } from './installed.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'dashboard');
const output = join(root, 'dist', 'dashboard', 'manifest.json');

/** What the build reads: also the parser of addresses of the server, facts of its data, and the verification of the client. */
const SOURCES = [
  'dashboard/src',
  'src/base/json-names.ts',
  'sdk/typescript/src/receipts.ts',
  'sdk/typescript/src/receipt-proofs.ts',
  'data/categories.json',
  'data/jurisdictions.json',
  'src/chains/address',
  'src/chains/families',
  'src/chains/registry.ts',
];
const SETTINGS = ['index.html', 'build.mjs', 'vite.config.mjs', 'package-lock.json'];

function newestChange(path) {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return readdirSync(path, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (newest, entry) => Math.max(newest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs),
      mtimeMs,
    );
}

function isBuilt() {
  if (!existsSync(output)) return false;
  const sources = [...SOURCES.map((path) => join(root, path)), ...SETTINGS.map((name) => join(folder, name))];
  return statSync(output).mtimeMs > Math.max(...sources.map(newestChange));
}

function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: folder, stdio: 'inherit', ...options }).status === 0;
}

/** Installs the locked packages of the dashboard, if they are not installed already. Returns false if that failed. */
function installPackages(note) {
  if (isInstalled(folder)) return true;
  note('installing packages of the dashboard');
  // No package needs its install script, and the build itself is a development package.
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return run('npm', args, { shell: process.platform === 'win32' });
}

/**
 * Builds the dashboard if it is not built, or its sources changed since.
 *
 * @param note - is told what takes long
 * @param needsPackages - true: the packages are installed even if nothing is to be built, as the tests use them
 * @returns false if that failed; the server then works without a dashboard
 */
export function buildDashboard(note = () => {}, needsPackages = false) {
  if (isBuilt() && !needsPackages) return true;
  if (!installPackages(note)) return false;
  if (isBuilt()) return true;
  note('building the dashboard');
  return run(process.execPath, ['build.mjs']);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isDone =
    process.argv[2] === '--packages' ? installPackages(() => {}) : buildDashboard(undefined, true);
  if (!isDone) process.exitCode = 1;
}
