/**
 * The built program for tests that start it often: the modules of dist/ that it loads, joined to few files in dist/bundled. A start of the
 * program reads 1,200 modules of its own and 340 of typebox; joined, it needs half the processor time (`assay stats`: 1.1 s to 0.5 s, a
 * server until it answers: 2.2 s to 1.5 s). The code is that of dist/. Tests of the shipped program start `SHIPPED_PROGRAM`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const out = join(dist, 'bundled');
const mark = join(out, '.made');

/** Packages of many small modules without files of their own. All others are loaded from node_modules, as the shipped program does. */
const JOINED = /^(?:typebox|@noble\/|@scure\/)/;
/** Programs of tests that are started hundreds of times. */
const PROBES = ['test/state/store-probe'];
/** The end of `workerUrl` in src/base/paths.ts: a joined program starts joined workers. */
const WORKERS = "'dist', 'workers', ";

const joinFiles: Plugin = {
  name: 'join-files',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'entry-point' || JOINED.test(path) ? undefined : { path, external: true },
    );
    onLoad({ filter: /\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      if (relative(dist, path) === join('src', 'base', 'paths.js')) {
        if (!contents.includes(WORKERS)) throw new Error(`workerUrl in src/base/paths.ts lacks ${WORKERS}`);
        contents = contents.replace(WORKERS, "'dist', 'bundled', 'workers', ");
      }
      return { contents, loader: 'js', resolveDir: dirname(path) };
    });
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
  // This file and the lockfile: the packages that are joined.
  const settings = [fileURLToPath(import.meta.url), join(dist, '..', 'package-lock.json')];
  const newest = Math.max(...[...sources, ...settings].map((path) => statSync(path).mtimeMs));
  if (existsSync(mark) && Number(readFileSync(mark, 'utf8')) === newest) return;
  rmSync(out, { recursive: true, force: true });
  const workers = filesBelow('workers').map((path) =>
    relative(dist, path).replaceAll('\\', '/').slice(0, -'.js'.length),
  );
  await build({
    entryPoints: {
      main: join(dist, 'src', 'main.js'),
      ...Object.fromEntries([...workers, ...PROBES].map((name) => [name, join(dist, `${name}.js`)])),
    },
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Errors and logs give names of classes.
    keepNames: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [joinFiles],
  });
  mkdirSync(out, { recursive: true });
  writeFileSync(mark, String(newest));
}
