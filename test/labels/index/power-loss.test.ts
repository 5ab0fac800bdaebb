/**
 * A loss of power while a snapshot, or an index of names, is published. Of the names in a folder that was not flushed since, a file system
 * may keep any and lose the others; of a file that was not flushed, it may keep the name alone.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { beginBuild } from '../../../src/labels/index/folder.ts';
import { putNamesInForce } from '../../../src/names/build-names.ts';
import { temporaryFolder } from './world.ts';

type Step =
  | { readonly kind: 'renamed'; readonly from: string; readonly to: string }
  | { readonly kind: 'flushed'; readonly path: string };

const calls = vi.hoisted(() => ({ steps: [] as Step[], paths: new Map<number, string>() }));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  const noted = {
    openSync(...parameters: Parameters<typeof fs.openSync>) {
      const file = fs.openSync(...parameters);
      calls.paths.set(file, String(parameters[0]));
      return file;
    },
    fsyncSync(file: number) {
      fs.fsyncSync(file);
      calls.steps.push({ kind: 'flushed', path: calls.paths.get(file) ?? '' });
    },
    writeFileSync(...parameters: Parameters<typeof fs.writeFileSync>) {
      fs.writeFileSync(...parameters);
      const options = parameters[2];
      if (typeof options === 'object' && options?.flush === true)
        calls.steps.push({ kind: 'flushed', path: String(parameters[0]) });
    },
    renameSync(from: string, to: string) {
      fs.renameSync(from, to);
      calls.steps.push({ kind: 'renamed', from, to });
    },
  };
  return { ...fs, ...noted, default: { ...fs, ...noted } };
});

let folder: ReturnType<typeof temporaryFolder>;
let root: string;
beforeEach(() => {
  folder = temporaryFolder();
  root = join(folder.path, 'published');
  mkdirSync(root);
});
afterEach(() => folder.remove());

interface Disk {
  /** The file behind each name in the folder, as the name under which it was created. */
  readonly names: ReadonlyMap<string, string>;
  readonly flushed: ReadonlySet<string>;
}

/** Every state in which a loss of power may leave the folder, at any of the steps. */
function* afterLosses(before: readonly string[], steps: readonly Step[]): Generator<Disk> {
  for (let done = 0; done <= steps.length; done++) {
    const past = steps.slice(0, done);
    const flushed = new Set<string>(past.flatMap((step) => (step.kind === 'flushed' ? [step.path] : [])));
    const lastFlush = past.findLastIndex((step) => step.kind === 'flushed' && step.path === root);
    const renames = past.flatMap((step, at) =>
      step.kind === 'renamed' && dirname(step.to) === root ? [{ ...step, isKept: at < lastFlush }] : [],
    );
    const atRisk = renames.filter(({ isKept }) => !isKept);
    for (let lost = 0; lost < 1 << atRisk.length; lost++) {
      const names = new Map(before.map((name) => [name, name]));
      for (const rename of renames) {
        if (!rename.isKept && lost & (1 << atRisk.indexOf(rename))) continue;
        const [from, to] = [basename(rename.from), basename(rename.to)];
        names.delete(from);
        names.set(to, from);
      }
      yield { names, flushed };
    }
  }
}

/** The content of `CURRENT` in one of those states; null if it does not exist. */
function pointed({ names, flushed }: Disk, was: string | null): string | null {
  const made = names.get('CURRENT');
  if (made === undefined) return null;
  if (made === 'CURRENT') return was;
  return flushed.has(join(root, made)) ? readFileSync(join(root, 'CURRENT'), 'utf8').trim() : '';
}

/** Publishes twice, and checks every state that a loss of power during it, or after it, may leave. */
function expectWhole(publish: () => void): void {
  for (const round of ['the first', 'another'] as const) {
    const was = round === 'the first' ? null : readFileSync(join(root, 'CURRENT'), 'utf8').trim();
    const before = readdirSync(root);
    calls.steps.length = 0;
    publish();
    const steps = [...calls.steps];
    const now = readFileSync(join(root, 'CURRENT'), 'utf8').trim();
    expect(steps.filter(({ kind }) => kind === 'renamed').length).toBeGreaterThanOrEqual(2);
    let last: string | null = null;
    for (const disk of afterLosses(before, steps)) {
      last = pointed(disk, was);
      expect([was, now], round).toContain(last);
      if (last !== null) expect([...disk.names.keys()], `${round}: CURRENT names ${last}`).toContain(last);
    }
    // It is in force for good when the call returns.
    expect(last).toBe(now);
  }
}

it('never names a snapshot in CURRENT whose name was lost, and flushes CURRENT', () => {
  const deps = { clock: systemClock, log: silentLogger };
  let version = 0;
  expectWhole(() => {
    const building = beginBuild(root, deps);
    building.publish(`${version++}`.padStart(16, '0'));
    building.end();
  });
});

it('never names a name index in CURRENT whose name was lost, and flushes CURRENT', () => {
  let mark = 0;
  expectWhole(() => {
    const building = join(root, 'building-1');
    mkdirSync(building);
    putNamesInForce({ root, folder: building, mark: String(mark++) }, systemClock);
  });
});
