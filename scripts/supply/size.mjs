/**
 * Runs the steps of the Dockerfile in folders, without a container engine, and prints how big a production installation and the image are.
 * Fails if one is above its limit. It installs packages, so it needs a registry, and takes minutes.
 *
 * Usage: node scripts/supply/size.mjs [--keep <empty folder>] [--json]
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { root } from './binaries.mjs';
import { filesOf } from './copy-sources.mjs';
import { sizeOf } from './prune.mjs';

const MEGABYTE = 1_000_000;

/** Packages of production: twice what they take today, so that an update does not fail, and another copy of all platforms does. */
const INSTALL_MAX = 150 * MEGABYTE;
/** The image: what a node pulls before it can start. */
const IMAGE_MAX = 250 * MEGABYTE;

/** debian:trixie-slim for amd64, unpacked, as `docker image ls` shows it. */
const BASE_BYTES = 79 * MEGABYTE;
/** The program `node` of 24.21.0 for Linux x64, stripped as in the Dockerfile, which copies nothing else of its image. */
const NODE_BYTES = 108_512_048;

/** Splits a Dockerfile into instructions; a line that ends with a backslash continues on the next one. */
const instructionsOf = (text) =>
  text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([word]) => word !== '');

const isSource = (path) => !path.startsWith(join(root, 'data', 'store'));

/** Copies as COPY does: several sources, or `./`, go into a folder; one source gets the name of the target. */
function copy(stage, stages, words) {
  const from = words[0].startsWith('--from=') ? stages.get(words[0].slice('--from='.length)) : undefined;
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = paths.pop();
  for (const source of paths) {
    // Programs of the system are counted, not copied.
    if (from !== undefined && !source.startsWith('/app/')) continue;
    const path = from === undefined ? join(root, source) : join(from, source.slice('/app/'.length));
    for (const file of filesOf(path)) {
      const name = file === path ? target : join(target, basename(file));
      const to = join(stage, target === './' ? source : name);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(file, to, { recursive: true, verbatimSymlinks: true, filter: isSource });
    }
  }
}

/** Runs npm and node of a RUN instruction; other programs prepare the system of the image. */
function run(stage, words) {
  const [program, ...args] = words;
  if (program !== 'npm' && program !== 'node') return;
  execFileSync(program === 'node' ? process.execPath : program, args, {
    cwd: stage,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
}

/**
 * Makes each stage of the Dockerfile in a folder.
 *
 * @returns the folders by the name of the stage; that of the last one is `image`
 */
function makeStages(folder) {
  const stages = new Map();
  let stage = '';
  for (const [word, ...words] of instructionsOf(readFileSync(join(root, 'Dockerfile'), 'utf8'))) {
    if (word === 'FROM') {
      const name = words[1] === 'AS' ? words[2] : 'image';
      stage = join(folder, name);
      mkdirSync(stage, { recursive: true });
      stages.set(name, stage);
    } else if (word === 'COPY') copy(stage, stages, words);
    else if (word === 'RUN') run(stage, words);
  }
  return stages;
}

const args = process.argv.slice(2);
const keep = args.includes('--keep') ? args[args.indexOf('--keep') + 1] : undefined;
const folder = keep ?? mkdtempSync(join(tmpdir(), 'assay-size-'));
try {
  const image = makeStages(folder).get('image');
  const packages = sizeOf(join(image, 'node_modules'));
  const app = sizeOf(image);
  const sizes = { packages, app, node: NODE_BYTES, base: BASE_BYTES, image: app + NODE_BYTES + BASE_BYTES };
  if (args.includes('--json')) process.stdout.write(`${JSON.stringify(sizes)}\n`);
  else
    for (const [name, bytes] of Object.entries(sizes))
      process.stdout.write(`${name.padEnd(10)} ${(bytes / MEGABYTE).toFixed(1).padStart(7)} MB\n`);
  if (sizes.packages > INSTALL_MAX || sizes.image > IMAGE_MAX) {
    process.stderr.write(
      `assay: the packages may take ${INSTALL_MAX / MEGABYTE} MB and the image ${IMAGE_MAX / MEGABYTE} MB.\n`,
    );
    process.exitCode = 1;
  }
} finally {
  if (keep === undefined) rmSync(folder, { recursive: true, force: true });
}
