/**
 * Records the SHA-256 of each binary of the installed uWebSockets.js package in data/native-binaries.json, or compares them with the files
 * of an official release.
 *
 * Usage: node scripts/supply/record-binaries.mjs            (after the package was changed, and installed with --ignore-scripts: the step
 *                                                            after an installation deletes binaries of other platforms)
 *        node scripts/supply/record-binaries.mjs --compare <folder with the files of the official tag>
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, readTable, root, TABLE } from './binaries.mjs';

const folder = join(root, 'node_modules', 'uWebSockets.js');

function compare(official) {
  const { files } = readTable(root);
  const shared = Object.entries(files).filter(([name]) => existsSync(join(official, name)));
  const different = shared.filter(([name, hash]) => hashOf(join(official, name)) !== hash);
  process.stdout.write(`${shared.length - different.length} of ${shared.length} files are the same\n`);
  for (const [name] of different) process.stdout.write(`${name}: differs from the official release\n`);
  if (different.length > 0 || shared.length === 0) process.exitCode = 1;
}

function record() {
  const names = readdirSync(folder).filter((name) => name.endsWith('.node'));
  const { version, name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const commit = join(folder, 'source_commit');
  const table = {
    about:
      'SHA-256 of the binaries of uWebSockets.js, checked before one is loaded. docs/decisions/supply-chain.md',
    package: name,
    version,
    // A tag of a repository has none: the lockfile then names its commit.
    integrity: lock.packages['node_modules/uWebSockets.js'].integrity ?? null,
    upstream: 'https://github.com/uNetworking/uWebSockets.js',
    sourceCommit: existsSync(commit) ? readFileSync(commit, 'utf8').trim() : null,
    recorded: new Date().toISOString().slice(0, 10),
    files: Object.fromEntries(names.sort().map((file) => [file, hashOf(join(folder, file))])),
    lmdb: readTable(root).lmdb,
  };
  writeFileSync(TABLE, `${JSON.stringify(table, null, 2)}\n`);
  process.stdout.write(`${names.length} hashes written to ${TABLE}\n`);
}

const [option, official] = process.argv.slice(2);
if (option === '--compare' && official !== undefined) compare(official);
else if (option === undefined) record();
else {
  process.stderr.write('usage: node scripts/supply/record-binaries.mjs [--compare <folder>]\n');
  process.exitCode = 2;
}
