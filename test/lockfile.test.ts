import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../src/base/paths.ts';

interface LockRow {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string } | readonly string[];
}

const rowsOf = (path: string): Readonly<Record<string, LockRow>> =>
  (JSON.parse(readFileSync(path, 'utf8')) as { packages: Readonly<Record<string, LockRow>> }).packages;

const packages = rowsOf(join(projectRoot, 'package-lock.json'));

const lockfiles = [
  join(projectRoot, 'package-lock.json'),
  join(projectRoot, 'dashboard', 'package-lock.json'),
  join(projectRoot, 'sdk', 'typescript', 'tools', 'package-lock.json'),
  ...[join(projectRoot, 'test', 'setup'), join(projectRoot, 'examples')].flatMap((folder) =>
    readdirSync(folder)
      .map((name) => join(folder, name, 'package-lock.json'))
      .filter((path) => existsSync(path)),
  ),
];

it.each(lockfiles)('every package of %s has a hash, or is a folder of this repository', (path) => {
  const rows = Object.entries(rowsOf(path)).filter(([name]) => name.includes('node_modules/'));
  expect(rows.length).toBeGreaterThan(0);
  for (const [name, { integrity, link, resolved }] of rows) {
    if (link === true) expect(resolved, name).toMatch(/^supply\/stubs\//);
    else expect(integrity, name).toMatch(/^sha512-/);
  }
});

it('the folders that take the place of packages have the versions that the packages would have', () => {
  const own = Object.entries(packages).filter(([path]) => path !== '' && !path.includes('node_modules/'));
  expect(own.length).toBeGreaterThan(0);
  for (const [path, { version }] of own) {
    const manifest = JSON.parse(readFileSync(join(projectRoot, path, 'package.json'), 'utf8'));
    expect(manifest, path).toMatchObject({ version, private: true });
  }
});

it('the lockfile has a row for every platform of every binary, or `npm ci` refuses it', () => {
  const missing = Object.entries(packages).flatMap(([path, row]) =>
    Object.keys(row.optionalDependencies ?? {}).filter(
      (name) => !(`node_modules/${name}` in packages) && !(`${path}/node_modules/${name}` in packages),
    ),
  );
  expect(missing).toEqual([]);
});

type Version = readonly [major: number, minor: number, patch: number];

/** Parses a version out of a range like `^20.19.0`, `>= 12.22` or `>=20.x`; absent parts are 0. */
function versionIn(range: string): Version {
  const [major = 0, minor = 0, patch = 0] = (/\d[\d.]*/.exec(range)?.[0] ?? '0').split('.').map(Number);
  return [major, minor, patch];
}

const isBelow = (a: Version, b: Version): boolean => {
  const at = a.findIndex((part, place) => part !== b[place]);
  return at >= 0 && (a[at] as number) < (b[at] as number);
};

const admits = (ranges: string, version: Version): boolean =>
  ranges.split('||').some((range) => {
    const least = versionIn(range);
    return !isBelow(version, least) && (!range.trim().startsWith('^') || least[0] === version[0]);
  });

it('the versions of Node that package.json admits have what the program and its packages use', () => {
  const ranges: string = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).engines.node;
  expect(packages['']?.engines).toEqual({ node: ranges });
  const oldest = ranges.split('||').map(versionIn);
  const needs = Object.entries(packages).flatMap(([name, { dev, engines }]) => {
    const node = engines !== undefined && 'node' in engines ? engines.node : undefined;
    return dev === true || node === undefined ? [] : [{ name, node }];
  });
  // `crc32` of node:zlib, which the checksums of files use.
  needs.push({ name: 'zlib.crc32', node: '^20.15.0 || >=22.2.0' });
  for (const version of oldest)
    expect(
      needs.filter(({ node }) => !admits(node, version)),
      version.join('.'),
    ).toEqual([]);
  // Between the two alternatives: Node 21 has no crc32.
  expect(admits(ranges, [21, 7, 3])).toBe(false);
});
