/**
 * Runs after `npm ci` (script `postinstall`) and in the Docker image: refuses changed binaries, then deletes what this installation never
 * loads. `--production` prunes an installation that has no development packages; without it, that is found out.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { changedBinaries, root } from './binaries.mjs';
import { prune } from './prune.mjs';

const modules = join(root, 'node_modules');

function run(args) {
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
  prune(modules, { production: args.includes('--production') || !existsSync(join(modules, 'vitest')) });
}

run(process.argv.slice(2));
