/**
 * The built program for tests that start it often: the modules of dist/ that it loads, joined to one file in dist/bundled, with the code that
 * V8 compiled. A start of the program reads 1,200 modules of its own and 340 of typebox; joined and compiled, it needs a quarter of the
 * processor time (`assay --version`: 1.2 s to 0.27 s). The code is that of dist/. A package that is not joined and has a CommonJS copy is loaded
 * from that, not from its ES modules. Tests of the shipped program start `SHIPPED_PROGRAM`.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { BUILT_AT_FIRST_START, PREPARED } from './prepared-folder.ts';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const out = join(dist, 'bundled');
/** Written first, and then put in its place at once: another run of tests may start what is there. */
const fresh = join(dist, `bundled.${process.pid}`);
const mark = join(out, '.made');
const loader = fileURLToPath(new URL('./joined-loader.cjs', import.meta.url));

/** Packages without native code or files of their own. All others are loaded from node_modules, as the shipped program does. */
const JOINED = new RegExp(
  `^(?:${[
    ...[
      '@noble',
      '@scure',
      'any-ascii',
      'aws4fetch',
      'commander',
      'csv-parse',
      'diacritics',
      'fastest-levenshtein',
      'fzstd',
    ],
    ...['hyparquet', 'i18n-iso-countries', 'lean-qr', 'saxes', 'typebox', 'xmlchars', 'yaml'],
  ].join('|')})(?:/|$)`,
);
/** Programs of tests that are started hundreds of times. */
const PROBES = ['test/state/store-probe'];

/** Changes to the code in dist/bundled: a joined program starts joined workers and commands. */
const CHANGES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'src/base/paths.js': [["'dist', 'workers', ", "'dist', 'bundled', 'workers', "]],
  'src/app/server.js': [["'dist', 'src', 'main.js'", "'dist', 'bundled', 'main.js'"]],
};
/** Where the part of a module begins that waits at its top level, which a function has to do in CommonJS. */
const WAITS_FROM: Readonly<Record<string, string>> = {
  'src/main.js': 'await import(',
  'src/program.js': 'const code = await runProgram(',
  'workers/replication.js': 'await runReplicationThread(',
  'test/state/store-probe.js': 'try {\n    const read = await',
};

/** Entries of typebox, whose 340 modules most test files load: they load it joined as well (`vitest.config.ts`). */
const TYPEBOX = { index: 'typebox', compile: 'typebox/compile', value: 'typebox/value' } as const;

/** A start takes a second, and minutes on a machine that is busy with more important work. */
const START_MS_MAX = 300_000;

const slashed = (path: string): string => path.replaceAll('\\', '/');

function changed(path: string): string {
  let contents = readFileSync(path, 'utf8');
  const name = slashed(relative(dist, path));
  for (const [from, to] of CHANGES[name] ?? []) {
    if (!contents.includes(from)) throw new Error(`${name} lacks ${from}`);
    contents = contents.replaceAll(from, to);
  }
  const from = WAITS_FROM[name];
  if (from === undefined) return contents;
  const [head, tail, ...more] = contents.split(from);
  if (tail === undefined || more.length > 0) throw new Error(`${name} lacks ${from}`);
  return `${head}void (async () => {\n${from}${tail}\n})();\n`;
}

const joinFiles: Plugin = {
  name: 'join-files',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'entry-point' || JOINED.test(path) ? undefined : { path, external: true },
    );
    onLoad({ filter: /\.js$/ }, ({ path }) =>
      path.startsWith(dist)
        ? { contents: changed(path), loader: 'js', resolveDir: dirname(path) }
        : undefined,
    );
  },
};

const filesBelow = (folder: string): string[] =>
  readdirSync(join(dist, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name));

/** Joins the built program to dist/bundled if it was built again since. */
export async function bundleProgram(): Promise<void> {
  const sources = [
    ...['src', 'workers'].flatMap(filesBelow),
    ...PROBES.map((name) => join(dist, `${name}.js`)),
  ];
  // These files and the lockfile: the packages that are joined. Another version of Node compiles to other code.
  const settings = [fileURLToPath(import.meta.url), loader, join(dist, '..', 'package-lock.json')];
  const newest = Math.max(...[...sources, ...settings].map((path) => statSync(path).mtimeMs));
  const state = `${newest} ${process.version}`;
  if (existsSync(mark) && readFileSync(mark, 'utf8') === state) return;
  rmSync(fresh, { recursive: true, force: true });
  const workers = filesBelow('workers').map((path) => slashed(relative(dist, path)).slice(0, -'.js'.length));
  const entries: Readonly<Record<string, string>> = {
    main: 'src/main',
    ...Object.fromEntries([...workers, ...PROBES].map((name) => [name, name])),
  };
  await joinAll(Object.values(entries));
  for (const [name, entry] of Object.entries(entries)) {
    const path = join(fresh, `${name}.js`);
    mkdirSync(dirname(path), { recursive: true });
    const up = slashed(relative(dirname(path), fresh)) || '.';
    writeFileSync(path, `module.exports = require('${up}/loader.js')('${entry}');\n`);
  }
  // The files above are CommonJS.
  writeFileSync(join(fresh, 'package.json'), '{ "type": "commonjs" }\n');
  writeFileSync(join(fresh, 'loader.js'), readFileSync(loader));
  await joinTypebox();
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
  // Not for the one run of a mutant.
  if (process.env.ASSAY_TEST_COMPILED !== 'no') await compile();
  writeFileSync(mark, state);
}

/**
 * Keeps what a first start builds from the shipped data, if it did, for the folders of tests (`prepared-folder.ts`): 1.4 s of processor time for each
 * first start less. What is secret or unlike in each folder, such as accounts, is not kept.
 */
function keepPrepared(store: string): void {
  if (!BUILT_AT_FIRST_START.every((name) => existsSync(join(store, name)))) return;
  for (const name of new Set(BUILT_AT_FIRST_START.map((path) => path.split('/')[0] as string)))
    cpSync(join(store, name), join(PREPARED, name), {
      recursive: true,
      // Locks and leases are those of the processes that ran.
      filter: (path) => !path.endsWith('-lock') && !path.includes('/leases/'),
    });
}

/** Joins the modules of these entries to one function of the name of an entry, which returns what its module exports. */
async function joinAll(entries: readonly string[]): Promise<void> {
  const cases = entries.map((name) => `'${name}': () => require('./${name}.js'),`);
  const built = await build({
    stdin: { contents: `module.exports = {\n${cases.join('\n')}\n};\n`, resolveDir: dist },
    write: false,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // Loads a package once, whether it is imported at the start or later.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'joinedUrl' },
    // Errors and logs give names of classes.
    keepNames: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [joinFiles],
  });
  const text = (built.outputFiles[0] as { readonly text: string }).text;
  // Regular expressions have the only characters that are not ASCII. Without them, each character of the source takes one byte.
  const escaped = text.replace(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  mkdirSync(fresh, { recursive: true });
  writeFileSync(join(fresh, 'joined.js'), escaped);
}

/** Joins typebox for the processes of the tests. */
async function joinTypebox(): Promise<void> {
  await build({
    entryPoints: TYPEBOX,
    outdir: join(fresh, 'typebox'),
    outExtension: { '.js': '.mjs' },
    absWorkingDir: join(dist, '..'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    keepNames: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
}

/**
 * Starts the program and stops it, so that the loader keeps the compiled code of the functions that ran. Without it, the program starts more
 * slowly. If the program does not start, the tests say so.
 */
async function compile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-joined-'));
  const env = {
    PATH: process.env.PATH,
    ASSAY_DATA_DIR: join(folder, 'store'),
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    ASSAY_TEST_COMPILED: 'keep',
  };
  const main = join(out, 'main.js');
  try {
    const child = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    let answers = '';
    let stopped = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      answers += text;
      if (!stopped && answers.includes('Assay answers on')) stopped = child.kill();
    });
    const end = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX);
    await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(end);
    const keys = join(folder, 'store', 'accounts', 'keys.mdb');
    const probes = PROBES.map((name) => [join(out, `${name}.js`), 'keys', keys]);
    for (const args of [...probes, [main, 'keys', 'list']])
      spawnSync(process.execPath, args, { env, stdio: 'ignore', timeout: START_MS_MAX });
    keepPrepared(join(folder, 'store'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
