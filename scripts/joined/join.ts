/**
 * The program that ships: the modules of dist/ that it loads, joined to one file in dist/joined, with the code that V8 compiled. A command
 * reads 900 to 1,600 modules, and a joined one two files: it needs a quarter to a third of the processor time. The code is that of dist/, where
 * `dist/src/main.js` starts the same program from its modules. A package that is not joined and has a CommonJS copy is loaded from that, not
 * from its ES modules.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
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
import { setTimeout as sleep } from 'node:timers/promises';
import { build, type Plugin } from 'esbuild';
import { joinNative } from './native.ts';

/** Packages without files of their own, except those of `native.ts`. All others are loaded from node_modules, as the modules of dist/ do. */
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
    ],
    ...['fzstd', 'hyparquet', 'i18n-iso-countries', 'lean-qr', 'saxes', 'typebox', 'xmlchars', 'yaml'],
    // The log.
    ...[
      '@pinojs',
      'atomic-sleep',
      'on-exit-leak-free',
      'pino',
      'pino-abstract-transport',
      'pino-std-serializers',
    ],
    ...['process-warning', 'quick-format-unescaped', 'real-require', 'safe-stable-stringify', 'sonic-boom'],
    ...['split2', 'thread-stream'],
    // ZIP files.
    ...['pend', 'yauzl'],
    // LMDB.
    ...['@harperfast/extended-iterable', 'lmdb', 'msgpackr', 'msgpackr-extract', 'ordered-binary'],
    ...['node-gyp-build-optional-packages', 'weak-lru-cache'],
  ].join('|')})(?:/|$)`,
);

/** Where the part of a module begins that waits at its top level, which a function has to do in CommonJS. */
const WAITS_FROM: Readonly<Record<string, string>> = {
  'src/main.js': "if (process.argv[2] === 'lookup')",
  'src/program.js': 'await runCommandLine(',
  'workers/replication.js': 'await runReplicationThread(',
};

/** As `src/main.js` imports it. */
const LOOKUP = './app/lookup.js';
/** An address with labels that ship. */
const LOOKED_UP = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

/** The entry of commands and servers. */
const MAIN = 'src/main';
/** The file of all entries that have none of their own. */
const PROGRAM = 'program.cjs';

/**
 * Entries with a file of their own, which has a tenth of the program: look-ups of labels, which are processes of their own, and the threads
 * of a bulk file, which each run starts.
 */
const ALONE = { lookup: MAIN, 'bulk-file': 'workers/bulk-file' } as const;

/** Setting of the loader: the folder whose compiled code is kept. */
export const KEEP = 'JOINED_KEEP_COMPILED';

/** Threads of a server that keep code. They do so beside its start, which does not wait for them. */
const KEEPING_THREADS = ['workers-exposure', 'workers-pool'] as const;
/** How long the server is left running for that. */
const THREADS_MS = 60_000;
/** Settings of Node under which the program is started: none, and those of `npm start` and the image. Code is kept for each. */
export const NODE_SETTINGS = ['', '--max-semi-space-size=32'] as const;

/** A start takes a second, and minutes on a machine that is busy with more important work. */
const START_MS_MAX = 300_000;

const slashed = (path: string): string => path.replaceAll('\\', '/');

/** A folder of joined entries, which is written beside its place and then put there at once: another process may start what is there. */
export interface Joining {
  /** Folder with package.json and dist/. */
  readonly root: string;
  /** Name of the folder below dist/. */
  readonly name: string;
  /** Names of files to join and start, each the path of its module below dist/, without `.js`. */
  readonly entries: Readonly<Record<string, string>>;
  /** Entries that are joined to a file of their own, by the name of that file without `.cjs`. Default: none. */
  readonly alone?: Readonly<Record<string, string>>;
}

/** Throws if the compiler no longer writes the line from which a module waits: the joined module would not be a script. */
function withoutTopLevelAwait(dist: string, path: string): string {
  const contents = readFileSync(path, 'utf8');
  const name = slashed(relative(dist, path));
  const from = WAITS_FROM[name];
  if (from === undefined) return contents;
  const [head, tail, ...more] = contents.split(from);
  if (tail === undefined || more.length > 0) throw new Error(`${name} lacks ${from}`);
  return `${head}void (async () => {\n${from}${tail}\n})();\n`;
}

const joinFiles = (dist: string): Plugin => ({
  name: 'join-files',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'entry-point' || JOINED.test(path) ? undefined : { path, external: true },
    );
    onLoad({ filter: /\.js$/ }, ({ path }) =>
      path.startsWith(dist)
        ? { contents: withoutTopLevelAwait(dist, path), loader: 'js', resolveDir: dirname(path) }
        : undefined,
    );
  },
});

/**
 * Leaves out what an entry with a file of its own loads later than at its start. `src/main.js` then loads the rest of the program as
 * `program.cjs`, unless it looks up labels.
 */
const startAlone = (dist: string): Plugin => ({
  name: 'start-alone',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\/loader\.cjs$/ }, ({ path }) => ({ path, external: true }));
    onResolve({ filter: /^\./ }, ({ kind, path }) => {
      if (kind !== 'dynamic-import' || path === LOOKUP) return undefined;
      // No other module that is loaded later is reached: adapters of chains, readers of sources.
      return path === './program.js' ? { path, namespace: 'whole' } : { path, external: true };
    });
    onLoad({ filter: /.*/, namespace: 'whole' }, () => ({
      contents: `import { leaveSignals } from './src/base/early-signals.js';\nleaveSignals();\nrequire('./loader.cjs')('src/main', '${PROGRAM}');\n`,
      resolveDir: dist,
    }));
  },
});

/** Text of a module that exports a function for each entry. It loads the module of the entry, and returns what that exports. */
const loadingEach = (entries: readonly string[]): string =>
  `module.exports = {\n${entries.map((name) => `'${name}': () => require('./${name}.js'),`).join('\n')}\n};\n`;

/**
 * Text of a module that loads an entry at once, and exports the same function. All its modules then are one scope, whose functions V8 compiles
 * to faster code than those of modules that are loaded by a call: a thread of a bulk file takes four fifths of the processor time.
 */
const loadingAtOnce = (entry: string): string =>
  `import * as loaded from './${entry}.js';\nconst load = () => loaded;\nexport { load as '${entry}' };\n`;

/**
 * Joins modules to the text of a function.
 *
 * @param contents - module below dist/ that loads them
 */
async function joinedText(out: string, contents: string, plugins: readonly Plugin[] = []): Promise<string> {
  const dist = dirname(out);
  const built = await build({
    stdin: { contents, resolveDir: dist },
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
    // Numbers of constants are written where they are used.
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [joinNative(out), ...plugins, joinFiles(dist)],
  });
  const { text } = built.outputFiles[0] as { readonly text: string };
  // Regular expressions have the only characters that are not ASCII. Without them, each character of the source takes one byte.
  const ascii = text.replace(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `(function (require, module, joinedUrl) {'use strict';${ascii}\n})`;
}

/** Writes a folder of joined entries, without compiled code. */
export async function joinEntries({ root, name, entries, alone = {} }: Joining): Promise<void> {
  const dist = join(root, 'dist');
  const out = join(dist, name);
  const fresh = join(dist, `${name}.${process.pid}`);
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  writeFileSync(join(fresh, PROGRAM), await joinedText(out, loadingEach(Object.values(entries))));
  for (const [file, entry] of Object.entries(alone)) {
    const contents = entry === MAIN ? loadingEach([entry]) : loadingAtOnce(entry);
    writeFileSync(join(fresh, `${file}.cjs`), await joinedText(out, contents, [startAlone(dist)]));
  }
  for (const [file, entry] of Object.entries(entries)) {
    const path = join(fresh, `${file}.cjs`);
    mkdirSync(dirname(path), { recursive: true });
    const up = slashed(relative(dirname(path), fresh)) || '.';
    // The loader decides for `src/main`, which looks up labels or does other work.
    const own = Object.keys(alone).find((name) => alone[name] === entry && entry !== MAIN);
    const args = own === undefined ? `'${entry}'` : `'${entry}', '${own}.cjs'`;
    // `bin` of package.json is this file: a shell executes it.
    const isCommand = entry === MAIN;
    const text = `${isCommand ? '#!/usr/bin/env node\n' : ''}module.exports = require('${up}/loader.cjs')(${args});\n`;
    writeFileSync(path, text, { mode: isCommand ? 0o755 : 0o644 });
  }
  writeFileSync(join(fresh, 'loader.cjs'), readFileSync(join(root, 'scripts', 'joined', 'loader.cjs')));
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
}

const modulesBelow = (dist: string, folder: string): string[] =>
  readdirSync(join(dist, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name));

/**
 * Returns a text that differs if dist/joined has to be made again: the newest change of its modules, of this script and of the packages, and the
 * version of Node, because another one compiles to other code.
 */
export function joinedState(root: string, more: readonly string[] = []): string {
  const dist = join(root, 'dist');
  const paths = [
    ...['src', 'workers'].flatMap((folder) => modulesBelow(dist, folder)),
    ...['join.ts', 'native.ts', 'loader.cjs'].map((name) => join(root, 'scripts', 'joined', name)),
    join(root, 'package-lock.json'),
    ...more,
  ];
  return `${Math.max(...paths.map((path) => statSync(path).mtimeMs))} ${process.version}`;
}

/** Whether a folder below dist/ was made in this state. */
export function isMade(root: string, name: string, state: string): boolean {
  const mark = join(root, 'dist', name, '.made');
  return existsSync(mark) && readFileSync(mark, 'utf8') === state;
}

/** Records the state in which a folder below dist/ was made. */
export const markMade = (root: string, name: string, state: string): void =>
  writeFileSync(join(root, 'dist', name, '.made'), state);

/** Settings of `joinProgram`. */
export interface JoinOptions {
  /** Whether V8's code is kept. Without it, the program starts more slowly. Default: true. */
  readonly isCompiled?: boolean;
}

/**
 * Joins the program and its threads to dist/joined, unless that was made from the same modules.
 *
 * @param root - folder with package.json and dist/
 * @throws if a module cannot be joined
 */
export async function joinProgram(root: string, options: JoinOptions = {}): Promise<void> {
  const state = joinedState(root);
  if (isMade(root, 'joined', state)) return;
  const dist = join(root, 'dist');
  const threads = modulesBelow(dist, 'workers').map((path) =>
    slashed(relative(dist, path)).slice(0, -'.js'.length),
  );
  const entries = { main: MAIN, ...Object.fromEntries(threads.map((name) => [name, name])) };
  await joinEntries({ root, name: 'joined', entries, alone: ALONE });
  if (options.isCompiled ?? true) await compile(join(dist, 'joined'));
  markMade(root, 'joined', state);
}

/** Returns the number of files of compiled code that a folder has for each thread of a server; the least, if they differ. */
const keptByThreads = (out: string): number => {
  const files = readdirSync(out).filter((file) => file.endsWith('.compiled'));
  return Math.min(...KEEPING_THREADS.map((name) => files.filter((file) => file.startsWith(name)).length));
};

/** Waits until each thread of a server has kept its code in a folder once more, or has not for long: the next start shows why. */
async function hasKeptMore(out: string, before: number): Promise<void> {
  const beganMs = performance.now();
  while (keptByThreads(out) <= before && performance.now() - beganMs < THREADS_MS) await sleep(50);
}

/**
 * Starts a server over an empty data folder, and stops it when it answers and its threads have kept their code.
 *
 * @param main - the joined program
 * @param variables - more environment variables of the server; with `KEEP`, its threads keep their code
 * @param work - called with the data folder and the environment of the server, after that has ended
 */
export async function startOnce(
  main: string,
  variables: Readonly<Record<string, string>>,
  work: (store: string, env: NodeJS.ProcessEnv) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-joined-'));
  const store = join(folder, 'store');
  const out = variables[KEEP];
  const keptBefore = out === undefined ? 0 : keptByThreads(out);
  const env = {
    PATH: process.env.PATH,
    ASSAY_DATA_DIR: store,
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    ...variables,
  };
  try {
    const child = spawn(process.execPath, [main, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    let answers = '';
    let isStopped = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      answers += text;
      if (isStopped || !answers.includes('Assay answers on')) return;
      isStopped = true;
      const hasKept = out === undefined ? Promise.resolve() : hasKeptMore(out, keptBefore);
      void hasKept.then(() => child.kill());
    });
    const end = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX);
    await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(end);
    work(store, env);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a program of Node to its end, without output. */
export function runOnce(args: readonly string[], env: NodeJS.ProcessEnv): void {
  spawnSync(process.execPath, args, { env, stdio: 'ignore', timeout: START_MS_MAX });
}

/**
 * Starts the program, so that the loader keeps the compiled code of the functions that ran. If the program does not start, nothing is kept:
 * the next start shows why.
 */
async function compile(out: string): Promise<void> {
  const main = join(out, 'main.cjs');
  for (const settings of NODE_SETTINGS)
    await startOnce(main, { [KEEP]: out, NODE_OPTIONS: settings }, (store, env) => {
      runOnce([main, 'keys', 'list'], env);
      runOnce([main, 'lookup', 'ETH', LOOKED_UP], env);
      const addresses = join(store, 'addresses.txt');
      writeFileSync(addresses, `${LOOKED_UP}\n`);
      // One thread, because all of them keep their code in the same file.
      const bulk = ['bulk', '--chain', 'ETH', '--threads', '1'];
      runOnce([main, ...bulk, '--input', addresses, '--output', join(store, 'labels.ndjson')], env);
    });
}
