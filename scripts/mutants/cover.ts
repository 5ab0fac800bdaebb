/** Finds the test files that exercise a source file: by imports, nearest first, then the whole-program tests of its room. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** Rooms of the program by the folders which they mutate. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  risk: ['src/risk'],
  accounts: ['src/accounts', 'src/billing'],
  labels: ['src/labels'],
  graph: ['src/graph'],
  screening: ['src/screening'],
  monitoring: ['src/monitoring'],
  cases: ['src/cases', 'src/saved-screenings'],
  receipts: ['src/receipts'],
  http: ['src/http'],
  names: ['src/names'],
  chains: ['src/chains/address'],
  jobs: ['src/jobs', 'src/pool', 'workers'],
  base: ['src/base', 'src/state', 'src/nodes'],
  exposure: ['src/exposure'],
};

/**
 * Tests of whole use cases. Most start the built program, and therefore reach a source file without importing it. Limited to those about
 * the room, because each of them is slow.
 */
const WHOLE_PROGRAM: Readonly<Record<string, readonly string[]>> = {
  risk: ['test/scenarios/scenarios.test.ts'],
  accounts: ['test/e2e/second-server.test.ts', 'test/e2e/password.test.ts', 'test/e2e/person.test.ts'],
  labels: ['test/e2e/first-start.test.ts', 'test/e2e/designated-owners.test.ts'],
  graph: ['test/e2e/real-data.test.ts', 'test/e2e/taint.test.ts'],
  monitoring: ['test/e2e/monitoring.test.ts'],
  http: ['test/e2e/first-start.test.ts'],
  names: ['test/e2e/names.test.ts'],
  jobs: ['test/e2e/jobs.test.ts'],
  base: ['test/e2e/damaged-state.test.ts', 'test/e2e/full-disk.test.ts', 'test/e2e/failed-start.test.ts'],
  exposure: ['test/e2e/exposure.test.ts'],
};

/** The program's import graph. All paths are relative to the root of the project, with `/`. */
export interface ImportGraph {
  readonly root: string;
  readonly tests: readonly string[];
  /** Each file and the files that it imports, or starts as a worker or process. */
  readonly imports: ReadonlyMap<string, readonly string[]>;
}

/** @returns the paths below `folder` that end with `.ts`, relative to `root` and sorted. */
export function typescriptFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .sort();
}

/** Reads the imports of `src/`, `workers/`, `scripts/`, `bench/` and `test/` below `root`. */
export function readImportGraph(root: string): ImportGraph {
  const files = ['src', 'workers', 'scripts', 'bench', 'test'].flatMap((folder) =>
    typescriptFiles(root, folder),
  );
  const existing = new Set(files);
  const imports = new Map<string, readonly string[]>();
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    imports.set(
      file,
      importsOf(root, file, text).filter((target) => existing.has(target)),
    );
  }
  return {
    root,
    tests: files.filter((file) => file.endsWith('.test.ts') && !file.startsWith('test/long/')),
    imports,
  };
}

/** An import of types alone is ignored, because it has no behaviour to cover. */
function importsOf(root: string, file: string, text: string): string[] {
  const found = new Set<string>();
  const add = (specifier: string | undefined): void => {
    if (specifier !== undefined) found.add(relative(root, resolve(root, dirname(file), specifier)));
  };
  for (const [, statement, specifier] of text.matchAll(/^(?:import|export)\b([^;']*)'(\.[^']+)'/gm))
    if (!statement?.trimStart().startsWith('type ')) add(specifier);
  for (const [, specifier] of text.matchAll(/\bimport\(\s*'(\.[^']+)'/g)) add(specifier);
  // In a test, such a call is part of the text of a program that the test writes.
  if (!file.startsWith('test/'))
    for (const [, name] of text.matchAll(/workerUrl\(\s*'([^']+)'/g)) found.add(`workers/${name}.ts`);
  // A test that starts a process contains the name of a file beside it, as TypeScript or as built.
  if (file.startsWith('test/'))
    for (const [, name] of text.matchAll(/'([\w./-]+)\.(?:ts|js)'/g))
      found.add(join(dirname(file), `${basename(name as string)}.ts`));
  found.delete(file);
  return [...found].map((path) => path.replaceAll('\\', '/'));
}

/** The number of folders below `src/` and `test/` that two paths have in common, counted from the first. */
function sharedFolders(source: string, test: string): number {
  const folders = dirname(source).split('/').slice(1);
  const others = dirname(test).split('/').slice(1);
  const at = folders.findIndex((folder, place) => folder !== others[place]);
  return at < 0 ? folders.length : at;
}

/**
 * @param limit most test files found by imports; the whole-program tests of the room come in addition.
 * @returns test files that exercise `source`, nearest first
 */
export function testsCovering(graph: ImportGraph, source: string, room: string, limit: number): string[] {
  const nearest = nearestFirst(graph, source);
  const fixed = (WHOLE_PROGRAM[room] ?? []).filter((test) => graph.imports.has(test));
  return [...new Set([...nearest.slice(0, limit), ...fixed])];
}

/**
 * @returns the test files that import `source`, directly and indirectly: by the number of imports between them, then by the number of
 * shared folders, then by how few other files they import
 */
export function nearestFirst(graph: ImportGraph, source: string): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, targets] of graph.imports)
    for (const target of targets) importers.set(target, [...(importers.get(target) ?? []), file]);
  const distance = new Map([[source, 0]]);
  for (const file of distance.keys())
    for (const importer of importers.get(file) ?? [])
      if (!distance.has(importer)) distance.set(importer, (distance.get(file) ?? 0) + 1);
  const breadth = new Map<string, number>();
  const reached = graph.tests.filter((test) => distance.has(test));
  for (const test of reached) breadth.set(test, reachOf(graph, test));
  return reached.sort(
    (a, b) =>
      (distance.get(a) ?? 0) - (distance.get(b) ?? 0) ||
      sharedFolders(source, b) - sharedFolders(source, a) ||
      (breadth.get(a) ?? 0) - (breadth.get(b) ?? 0) ||
      (a < b ? -1 : 1),
  );
}

/** The number of files that a test imports, directly and indirectly. */
function reachOf(graph: ImportGraph, test: string): number {
  const seen = new Set([test]);
  for (const file of seen) for (const target of graph.imports.get(file) ?? []) seen.add(target);
  return seen.size;
}
