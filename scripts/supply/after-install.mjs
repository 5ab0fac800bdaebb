/**
 * Runs after `npm ci` (script `postinstall`) and in the Docker image: refuses changed binaries, changes those of lmdb, then deletes what this
 * installation never loads. `--production` prunes an installation that has no development packages; without it, that is found out. Deletes nothing if
 * node_modules is a link: the folder belongs to another installation.
 */
import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { changedBinaries, root } from './binaries.mjs';
import { changeLmdb } from './lmdb-open.mjs';
import { prune } from './prune.mjs';

const modules = join(root, 'node_modules');
const USAGE = 'usage: node scripts/supply/after-install.mjs [--production]';

function run(args) {
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const unknown = args.find((arg) => arg !== '--production');
  if (unknown !== undefined) {
    process.stderr.write(`assay: unknown argument '${unknown}'; ${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  for (const sentence of changeLmdb(root)) process.stderr.write(`assay: ${sentence}\n`);
  // Installed as a package of another project: its packages are not Assay's to prune.
  if (!existsSync(modules)) return;
  const changed = changedBinaries(root);
  if (changed.length > 0) {
    for (const sentence of changed) process.stderr.write(`assay: ${sentence}\n`);
    process.stderr.write(
      'assay: Installation refused. Delete node_modules and run npm ci; if it happens again, the registry serves another file.\n',
    );
    process.exitCode = 1;
    return;
  }
  if (lstatSync(modules).isSymbolicLink()) {
    process.stderr.write(
      'assay: node_modules is a link to another folder: its files were checked, and none was deleted.\n',
    );
    return;
  }
  prune(modules, { production: args.includes('--production') || !existsSync(join(modules, 'vitest')) });
}

run(process.argv.slice(2));
