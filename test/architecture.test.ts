/** Reads the imports of the whole program and fails on an import that points up, on a cycle, and on a forbidden global. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../src/base/paths.ts';

/** Folders of src/ from the lowest layer to the highest. Folders of one layer do not import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['state'],
  ['nodes'],
  ['chains'],
  ['sources'],
  ['labels', 'names', 'registers', 'graph'],
  ['risk', 'replication'],
  ['screening', 'backup'],
  ['exposure', 'attribution'],
  ['jobs', 'accounts', 'monitoring', 'cases', 'saved-screenings', 'receipts'],
  ['billing', 'pool'],
  ['mcp'],
  ['http', 'cli', 'dashboard'],
  ['app'],
];

/** Folders outside the layers, with the only folders that each may import. */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  accounts: ['base', 'state', 'nodes'],
  billing: ['base', 'state', 'accounts', 'chains', 'sources'],
};

/** Above every layer. Only the code that connects the program reads `config`; the code that does the work does not. */
const TOP = new Set(['main', 'program', 'app', 'config']);
const CONFIG_MAY = new Set(['base', 'state', 'nodes']);

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sourceFiles(folder: string): SourceFile[] {
  const root = join(projectRoot, folder);
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const path = join(root, name);
      const text = readFileSync(path, 'utf8');
      const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
        (match) => match[1] as string,
      );
      const room = name.includes('/') ? (name.split('/')[0] as string) : name.replace(/\.ts$/, '');
      return { path, room, text, imports: specifiers };
    });
}

const src = sourceFiles('src');
const workers = sourceFiles('workers');
const shown = (path: string): string => relative(projectRoot, path);

const floorOf = (room: string): number => FLOORS.findIndex((rooms) => rooms.includes(room));

function localImports(file: SourceFile): string[] {
  return file.imports.filter((name) => name.startsWith('.')).map((name) => resolve(dirname(file.path), name));
}

/**
 * The descriptor of a chain family imports its adapter at the first use of a chain (`import()`), and adapters parse addresses, which reads
 * the descriptors. Both modules are complete by then, so this edge closes no circle. Biome's rule knows no
 * such exception and is off for src/chains; this test checks that folder.
 */
const isAdapterOfFamily = (path: string, target: string): boolean =>
  /\/chains\/families\/\w+\/family\.ts$/.test(path) && target === join(dirname(path), 'adapter.ts');

function roomOf(path: string): string {
  const inside = relative(join(projectRoot, 'src'), path);
  return inside.includes('/') ? (inside.split('/')[0] as string) : inside.replace(/\.ts$/, '');
}

describe('architecture', () => {
  it('every folder of src/ stands on a floor', () => {
    const rooms = new Set(src.map((file) => file.room));
    expect([...rooms].filter((room) => floorOf(room) < 0 && !TOP.has(room))).toEqual([]);
  });

  it('imports point down', () => {
    const wrong: string[] = [];
    for (const file of src) {
      for (const target of localImports(file)) {
        const to = roomOf(target);
        if (to === file.room) continue;
        if (to.startsWith('..')) wrong.push(`${shown(file.path)} → ${shown(target)} (outside src)`);
        if (file.room === 'main' || file.room === 'program') continue;
        if (file.room === 'app') {
          if (to === 'main' || to === 'program') wrong.push(`${shown(file.path)} → ${to}`);
          continue;
        }
        if (file.room === 'config') {
          if (!CONFIG_MAY.has(to)) wrong.push(`${shown(file.path)} → ${to}`);
          continue;
        }
        if (TOP.has(to) || floorOf(to) >= floorOf(file.room))
          wrong.push(`${shown(file.path)} → ${shown(target)}`);
        const allowed = ONLY[file.room];
        if (allowed && !allowed.includes(to)) wrong.push(`${shown(file.path)} → ${shown(target)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('nothing imports in a circle', () => {
    const byPath = new Map(src.map((file) => [file.path, file]));
    const state = new Map<string, 'open' | 'done'>();
    const circles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (state.get(path) === 'done') return;
      if (state.get(path) === 'open') {
        circles.push([...trail.slice(trail.indexOf(path)), path].map(shown).join(' → '));
        return;
      }
      state.set(path, 'open');
      const file = byPath.get(path);
      for (const target of file ? localImports(file) : [])
        if (!isAdapterOfFamily(path, target)) visit(target, [...trail, path]);
      state.set(path, 'done');
    };
    for (const file of src) visit(file.path, []);
    expect(circles).toEqual([]);
  });

  it('a command starts without the library of schemas, which has as many modules as the program', () => {
    const byPath = new Map(src.map((file) => [file.path, file]));
    const seen = new Set([join(projectRoot, 'src', 'program.ts')]);
    const loading: string[] = [];
    for (const path of seen) {
      // Only imports that are evaluated at the start: neither of types nor by `import()`.
      const evaluated = byPath
        .get(path)
        ?.text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gm);
      for (const [, name = ''] of evaluated ?? [])
        if (name.startsWith('.')) seen.add(resolve(dirname(path), name));
        else if (name.startsWith('typebox')) loading.push(`${shown(path)} → ${name}`);
    }
    expect(seen.size).toBeGreaterThan(100);
    expect(loading).toEqual([]);
  });

  it('descriptors of chain families import their adapters only dynamically', () => {
    const isStatic = /^import (?!\().*\.\/adapter\.ts'/m;
    const descriptors = src.filter((file) => file.path.endsWith('/family.ts'));
    expect(descriptors.length).toBeGreaterThan(12);
    expect(descriptors.filter((file) => isStatic.test(file.text)).map(({ path }) => shown(path))).toEqual([]);
  });

  it('nothing in src/ imports workers/', () => {
    const wrong = src.filter((file) => localImports(file).some((target) => target.includes('/workers/')));
    expect(wrong.map((file) => shown(file.path))).toEqual([]);
  });

  const onlyIn = (pattern: RegExp, allowed: readonly string[]): string[] =>
    [...src, ...workers]
      .filter((file) => pattern.test(file.text) && !allowed.includes(shown(file.path)))
      .map((file) => shown(file.path));

  it('only config.ts reads the environment', () => {
    // The second file only writes a variable for a native library.
    const allowed = ['src/config/config.ts', 'src/http/server/uws.ts'];
    expect(onlyIn(/process\.env/, allowed)).toEqual([]);
  });

  it('only base/clock.ts reads the clocks', () => {
    expect(
      onlyIn(/\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bhrtime\b/, ['src/base/clock.ts']),
    ).toEqual([]);
  });

  it('nothing makes a pair of keys with node:crypto, which can stop the process (receipts/ed25519.ts)', () => {
    expect(onlyIn(/\bgenerateKeyPair/, ['src/receipts/ed25519.ts'])).toEqual([]);
  });

  it('only base/random.ts makes random numbers', () => {
    expect(onlyIn(/\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/, ['src/base/random.ts'])).toEqual([]);
  });

  it('each limit is declared once, and enforced', () => {
    const declared = src
      .filter((file) => file.path.endsWith('/limits.ts'))
      .flatMap((file) => [...file.text.matchAll(/^ {2}(\w+):/gm)].map((match) => match[1] as string));
    expect(declared.length).toBeGreaterThan(200);
    expect(declared.filter((name, at) => declared.indexOf(name) !== at)).toEqual([]);
    const others = [...src, ...workers].filter((file) => !file.path.endsWith('/limits.ts'));
    const words = new Set(others.flatMap((file) => file.text.match(/\w+/g) ?? []));
    expect(declared.filter((name) => !words.has(name))).toEqual([]);
  });

  it('each native binding has one importer', () => {
    const importers = (name: string): string[] =>
      [...src, ...workers].filter((file) => file.imports.includes(name)).map((file) => shown(file.path));
    expect(importers('uWebSockets.js').length).toBeLessThanOrEqual(1);
    expect(importers('lmdb').filter((path) => path !== 'src/state/lmdb.ts')).toEqual([]);
    expect(importers('piscina').length).toBeLessThanOrEqual(1);
    expect(importers('ioredis')).toEqual(['src/state/redis-connection.ts']);
    expect(importers('bullmq')).toEqual(['src/pool/queue-bullmq.ts']);
    expect(importers('stripe')).toEqual(['src/billing/stripe.ts']);
    expect(importers('@scure/bip32')).toEqual(['src/billing/crypto/watch-only-key.ts']);
  });
});
