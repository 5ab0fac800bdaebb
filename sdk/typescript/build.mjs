/** Builds the package: ECMAScript modules and declarations by tsc, CommonJS by esbuild. `node build.mjs [folder]`, default `dist`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, 'dist'));
const require = createRequire(import.meta.url);
const { buildSync } = require('esbuild');
const esm = join(out, 'esm');
const cjs = join(out, 'cjs');

rmSync(out, { recursive: true, force: true });
const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
const { status } = spawnSync(process.execPath, [compiler, '-p', here, '--outDir', esm], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

buildSync({
  entryPoints: [join(here, 'src', 'index.ts'), join(here, 'src', 'undici.ts')],
  outdir: cjs,
  bundle: true,
  format: 'cjs',
  platform: 'neutral',
  target: 'node18',
  external: ['node:crypto'],
  logLevel: 'warning',
});
// Under this file, .js and .d.ts of the folder are CommonJS.
writeFileSync(join(cjs, 'package.json'), '{ "type": "commonjs" }\n');
for (const entry of readdirSync(esm, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.d.ts')) continue;
  const from = join(entry.parentPath ?? entry.path, entry.name);
  const to = join(cjs, from.slice(esm.length));
  mkdirSync(dirname(to), { recursive: true });
  // The compiler leaves the names of sources in declarations, which older versions of it do not resolve.
  const text = readFileSync(from, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'");
  for (const path of [from, to]) writeFileSync(path, text);
}
