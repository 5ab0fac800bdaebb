/**
 * Deletes files of installed packages that Node never loads: an installation becomes small, and holds less code of others. Plain JavaScript
 * without dependencies, because it runs in the Docker image too, which has no compiler.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Suffixes of files that Node does not load from packages: types, source maps, sources of binaries, texts, binaries for Bare. */
const UNLOADED =
  /(\.(map|ts|mts|cts|tsx|flow|md|markdown|c|cc|cpp|h|hpp|gyp|gypi|bare|tgz|tsbuildinfo|png|svg)|^(Makefile|\.eslintrc.*|\.travis\.yml|tsconfig.*\.json|rollup\.config\.js|CHANGELOG.*|HISTORY.*))$/i;

/** Texts that the licences of packages require to be kept, whatever their suffix. */
const LICENCE = /^(licen[cs]e|notice|copying|copyright|unlicense|authors|patents)/i;

/** Folders at the top of a package that hold no code of it, unless its manifest refers to them. */
const DEVELOPMENT = new Set(
  '.github .vscode __tests__ bench benchmark benchmarks coverage doc docs example examples fixtures man mvp results spec test tests v8-profile'.split(
    ' ',
  ),
);

/**
 * Packages that only a compiler reads (peers of libraries that are compiled already), those for Bare, another runtime, and large ones of which
 * the program has joined what it needs (scripts/joined).
 */
const PACKAGES = [
  '@types',
  '@typescript',
  'any-ascii',
  'bare-ansi-escapes',
  'bare-assert',
  'bare-buffer',
  'bare-events',
  'bare-fs',
  'bare-inspect',
  'bare-os',
  'bare-path',
  'bare-stream',
  'bare-type',
  'bare-url',
  'csv-parse',
  'hyparquet',
  'node-addon-api',
  'typebox',
  'typescript',
];

/**
 * Copies of the same code for browsers, React Native and other loaders, and sources. The joined program (scripts/joined) requires packages: the
 * copy to which `exports`, or `main` without it, leads that stays.
 */
const UNUSED = {
  // Agent Skills, other validators and other runtimes: Assay serves tools from Node.
  '@modelcontextprotocol/core': ['dist/ext'],
  '@modelcontextprotocol/server': [
    'dist/ext',
    'dist/validators',
    'dist/shimsBrowser.cjs',
    'dist/shimsBrowser.mjs',
    'dist/shimsWorkerd.cjs',
    'dist/shimsWorkerd.mjs',
  ],
  '@solana/web3.js': [
    'lib/index.browser.cjs.js',
    'lib/index.browser.esm.js',
    'lib/index.iife.js',
    'lib/index.iife.min.js',
    'lib/index.native.js',
    'lib/index.esm.js',
    'src',
  ],
  '@solana/errors': [
    'dist/index.browser.cjs',
    'dist/index.browser.mjs',
    'dist/index.native.mjs',
    'dist/index.development.js',
    'dist/index.production.min.js',
  ],
  'aes-js': ['misc', 'src.ts'],
  axios: ['dist/axios.js', 'dist/axios.min.js', 'dist/browser', 'dist/esm'],
  bullmq: ['dist/esm'],
  ethers: ['dist', 'lib.esm', 'src.ts'],
  lmdb: ['dependencies', 'src', 'dict'],
  luxon: ['build/amd', 'build/cjs-browser', 'build/es6', 'build/global', 'src'],
  'bitcoinjs-lib': ['src/esm'],
  msgpackr: ['dist/index.js', 'dist/index.min.js', 'dist/test.js'],
  nodemailer: ['dist/esm'],
  stripe: ['esm', 'cjs/stripe.cjs.worker.js'],
  tronweb: ['dist', 'lib/esm', 'src'],
  undici: ['types', 'scripts'],
  'utf-8-validate': ['deps', 'src'],
  validator: ['es', 'validator.js', 'validator.min.js'],
  valibot: ['dist/index.mjs', 'dist/index.min.cjs', 'dist/index.min.mjs'],
  yaml: ['browser'],
  // Only `zod/v4` is imported. Its locales stay: it imports all of them.
  zod: ['src', 'v3', 'mini', 'v4-mini', 'v4/mini', 'locales'],
};

/** Packages with a twin of every module for `import`, which nothing in the image imports. */
const WITHOUT_TWINS = new Set(['@modelcontextprotocol/core', '@modelcontextprotocol/server', 'zod']);

const isMusl = (() => {
  if (process.platform !== 'linux') return false;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
})();

/**
 * Returns true if a binary is for another system than this one.
 *
 * @param name - file name
 * @param options - `everyAbi`: keep the binaries for other versions of Node
 */
function isForeignBinary(name, { everyAbi }) {
  const abi = process.versions.modules;
  const uws = /^uws_([a-z0-9]+)_([a-z0-9]+)_(\d+)\.node$/.exec(name);
  if (uws) {
    const [, platform, arch, version] = uws;
    return platform !== process.platform || arch !== process.arch || (!everyAbi && version !== abi);
  }
  // lmdb and msgpackr-extract: node.abi127.glibc.node, node.napi.musl.node
  const prebuilt = /^[\w-]+\.(?:abi(\d+)|napi)(?:\.(glibc|musl))?\.node$/.exec(name);
  if (!prebuilt) return false;
  const [, version, libc] = prebuilt;
  if (libc !== undefined && (libc === 'musl') !== isMusl) return true;
  return !everyAbi && version !== undefined && version !== abi;
}

/** Folders of `prebuilds/` are named by platform and architecture: `darwin-x64+arm64`. */
function isForeignPrebuild(name) {
  const match = /^(aix|android|darwin|freebsd|ios|linux|openbsd|sunos|win32)-([\w+-]+)$/.exec(name);
  if (!match) return false;
  return match[1] !== process.platform || !match[2].split(/[+-]/).includes(process.arch);
}

/** Lists the folders of all packages below a node_modules folder, also nested ones; links are left alone. */
function packageFolders(modules) {
  const found = [];
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name === '.bin' || entry.name === '.cache') continue;
      const path = join(folder, entry.name);
      if (entry.name.startsWith('@')) visit(path);
      else if (existsSync(join(path, 'package.json'))) {
        found.push(path);
        if (existsSync(join(path, 'node_modules'))) visit(join(path, 'node_modules'));
      }
    }
  };
  visit(modules);
  return found;
}

/** Calls `act` for each file below a folder, without following links or entering nested packages. */
function eachFile(folder, act) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules') eachFile(path, act);
    } else if (entry.isFile()) act(path, entry.name);
  }
}

const remove = (path) => rmSync(path, { recursive: true, force: true });

/** lmdb and msgpackr-extract load the binary of this version of Node if there is one, and the one for all versions otherwise. */
function pruneFallbacks(folder) {
  const own = new RegExp(`\\.abi${process.versions.modules}\\.`);
  const binaries = [];
  eachFile(folder, (path, name) => {
    if (name.endsWith('.node')) binaries.push([path, name]);
  });
  if (!binaries.some(([, name]) => own.test(name))) return;
  for (const [path, name] of binaries) if (/\.napi\./.test(name)) remove(path);
}

function pruneBinaries(modules, options) {
  for (const folder of packageFolders(modules)) {
    eachFile(folder, (path, name) => {
      if (isForeignBinary(name, options)) remove(path);
    });
    if (!options.everyAbi) pruneFallbacks(folder);
    const prebuilds = join(folder, 'prebuilds');
    if (!existsSync(prebuilds)) continue;
    for (const name of readdirSync(prebuilds)) if (isForeignPrebuild(name)) remove(join(prebuilds, name));
  }
}

/** Every place where a manifest names a file that Node may load. */
function loadedFrom({ main, module, exports, imports, bin }) {
  return JSON.stringify([main, module, exports, imports, bin].filter((part) => part !== undefined));
}

/** Returns true for the package of uWebSockets.js, of which only the binary is loaded (src/http/server/uws-binding.ts). */
const isUws = (folder) => folder.endsWith(join('node_modules', 'uWebSockets.js'));

/** Returns true for an ES module of a package that has a CommonJS module for each: other names of bundles, or the same name. */
const isImported = (path) =>
  path.endsWith('.mjs') || (path.endsWith('.js') && existsSync(path.replace(/\.js$/, '.cjs')));

function prunePackage(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const loaded = loadedFrom(manifest);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const isReferred = loaded.includes(`${entry.name}/`);
    if (isUws(folder) || (DEVELOPMENT.has(entry.name) && !isReferred)) remove(join(folder, entry.name));
  }
  for (const path of UNUSED[manifest.name] ?? []) remove(join(folder, path));
  eachFile(folder, (path, name) => {
    if (LICENCE.test(name)) return;
    const isTwin = WITHOUT_TWINS.has(manifest.name) && isImported(path);
    const isOfUws = isUws(folder) && !name.endsWith('.node') && name !== 'package.json';
    if (UNLOADED.test(name) || isTwin || isOfUws) remove(path);
  });
}

/** Deletes links of node_modules/.bin to programs that were deleted. */
function pruneLinks(modules) {
  const folder = join(modules, '.bin');
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (!existsSync(join(folder, name))) remove(join(folder, name));
}

/**
 * Prunes installed packages.
 *
 * @param modules - a node_modules folder
 * @param options - `production`: also delete everything that only development needs; otherwise only binaries of other platforms
 */
export function prune(modules, { production }) {
  pruneBinaries(modules, { everyAbi: !production });
  if (!production) return;
  for (const name of PACKAGES) remove(join(modules, name));
  for (const folder of packageFolders(modules)) if (existsSync(folder)) prunePackage(folder);
  pruneLinks(modules);
}

/** Size of a folder or file in bytes: the sum of its files, as the layers of an image count them. */
export function sizeOf(path) {
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.isFile() ? entry.size : 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
