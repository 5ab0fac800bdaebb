/**
 * Prints the licences of the packages of a production installation, and fails if one is unknown or not permissive. It reads the lockfile,
 * so it needs neither packages nor a network. `npm run lint` runs it.
 *
 * Usage: node scripts/supply/licences.mjs [--lockfile <path>]
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './binaries.mjs';

/** Licences that permit use, change and distribution without conditions for the rest of the program. */
const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
]);

/** Packages with a manifest that names no licence, or a wrong one, and the licence that their files state. */
const EXCEPTIONS = {
  eyes: 'its manifest has no licence field; its file LICENSE is the MIT licence (jayson brings it, nothing loads it)',
};

/**
 * Returns true if an SPDX expression permits use under permissive licences only: one side of OR, all of AND.
 *
 * @param expression - such as `MIT` or `(BSD-3-Clause AND Apache-2.0)`
 */
function isPermissive(expression) {
  const words = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const term = () => {
    const word = words[at++];
    if (word !== '(') return PERMISSIVE.has(word);
    const value = either();
    return words[at++] === ')' && value;
  };
  const all = () => {
    let value = term();
    while (words[at] === 'AND') {
      at++;
      value = term() && value;
    }
    return value;
  };
  function either() {
    let value = all();
    while (words[at] === 'OR') {
      at++;
      value = all() || value;
    }
    return value;
  }
  const value = either();
  return value && at === words.length;
}

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** The packages that a production installation has, on any platform; Assay's own folders and development packages are left out. */
const productionRows = (packages) =>
  Object.entries(packages).filter(
    ([path, row]) => path.includes('node_modules/') && row.dev !== true && row.link !== true,
  );

/** Returns a sentence about each package with a licence that is refused. */
function refusedLicences(packages) {
  return productionRows(packages).flatMap(([path, { license, version }]) => {
    const name = nameOf(path);
    if (name in EXCEPTIONS || (license !== undefined && isPermissive(license))) return [];
    const reason =
      license === undefined ? 'names no licence' : `is licensed ${license}, which is not permissive`;
    return [
      `${name}@${version} ${reason}. Replace it, or name it in EXCEPTIONS of licences.mjs with a reason.`,
    ];
  });
}

function report(packages) {
  const counts = new Map();
  for (const [path, { license }] of productionRows(packages)) {
    const key = license ?? `no field: ${EXCEPTIONS[nameOf(path)] ? 'named exception' : 'unknown'}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  for (const [licence, count] of [...counts].sort((a, b) => b[1] - a[1]))
    process.stdout.write(`${String(count).padStart(4)}  ${licence}\n`);
  for (const [name, reason] of Object.entries(EXCEPTIONS)) process.stdout.write(`      ${name}: ${reason}\n`);
}

const option = process.argv.indexOf('--lockfile');
const path = option < 0 ? join(root, 'package-lock.json') : process.argv[option + 1];
const { packages } = JSON.parse(readFileSync(path, 'utf8'));
report(packages);
const refused = refusedLicences(packages);
for (const sentence of refused) process.stderr.write(`assay: ${sentence}\n`);
if (refused.length > 0) process.exitCode = 1;
