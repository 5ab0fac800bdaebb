import { existsSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { removeLeftFiles } from '../../src/state/left-files.ts';
import { tempFolder } from '../accounts/temp-folder.ts';

const DAY_MS = 86_400_000;

it('removes the temporary files of killed processes that are older than a day, and nothing else', async () => {
  const folder = tempFolder();
  const nowMs = Date.now();
  const put = (name: string, ageMs: number): string => {
    const path = join(folder.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
    utimesSync(path, new Date(nowMs - ageMs), new Date(nowMs - ageMs));
    return path;
  };
  const left = [
    put('labels/runs.json.25732-0.tmp', DAY_MS + 1),
    put('cases.mdb-sums.1-0.tmp', DAY_MS + 1_000),
    put('accounts/keys.mdb-lock.12-0-3.tmp', 2 * DAY_MS),
    put('labels/datasets/catalogue.json.1-5.tmp', 2 * DAY_MS),
  ];
  const others = [
    put('labels/runs.json.25732-1.tmp', DAY_MS - 60_000),
    put('labels/runs.json', 9 * DAY_MS),
    put('jobs/results.tmp', 9 * DAY_MS),
    put('own-2024.1-0.tmpx', 9 * DAY_MS),
    put('a/b/c/d.json.1-0.tmp', 9 * DAY_MS),
  ];
  const outside = tempFolder();
  const elsewhere = join(outside.path, 'x.1-0.tmp');
  writeFileSync(elsewhere, 'x');
  utimesSync(elsewhere, 0, 0);
  symlinkSync(outside.path, join(folder.path, 'linked'));
  expect(await removeLeftFiles(folder.path, { nowMs, log: silentLogger })).toBe(4);
  expect(left.map((path) => existsSync(path))).toEqual(left.map(() => false));
  expect([...others, elsewhere].map((path) => existsSync(path))).toEqual(
    [...others, elsewhere].map(() => true),
  );
  expect(await removeLeftFiles(join(folder.path, 'missing'), { nowMs, log: silentLogger })).toBe(0);
  folder.remove();
  outside.remove();
});
