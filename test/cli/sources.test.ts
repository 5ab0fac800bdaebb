/** `assay import` and `assay sync` list all sources. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ListedSource, listedSources, syncedSources } from '../../src/cli/sources.ts';
import { NAME_SOURCES, REGISTER_SOURCES, SOURCES } from '../../src/sources/index.ts';
import { runCommand } from './run-command.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'assay-sources-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

const all = [...SOURCES, ...NAME_SOURCES, ...REGISTER_SOURCES];

describe.each([
  ['import', ['import']],
  ['import --help', ['import', '--help']],
  ['sync --list', ['sync', '--list']],
  ['sync --help', ['sync', '--help']],
])('assay %s', (_, args) => {
  it('lists every source with its publisher, licence, stores, and whether it is downloaded', async () => {
    const { code, out } = await runCommand(dataDir, args);
    expect(code).toBe(0);
    const rows = out.split('\n').map((line) => line.trim().split(/ {2,}/));
    for (const { id, publisher, licence, files, listing, ...more } of all) {
      const isNamed = 'byDefault' in more && !more.byDefault;
      const row = rows.find(([first]) => first === id);
      expect(row, id).toEqual([
        id,
        expect.stringMatching(/^(labels|names|registers)(, names)?$/),
        files.length === 0 && listing === null ? 'by hand' : isNamed ? 'if named' : 'automatic',
        publisher,
        licence ?? '-',
      ]);
    }
  });
});

it.each([
  { args: ['import', '--json'], all: listedSources() },
  { args: ['sync', '--list', '--json'], all: syncedSources() },
])('assay $args lists the sources as JSON', async ({ args, all }) => {
  const { out } = await runCommand(dataDir, args);
  const listed = JSON.parse(out) as ListedSource[];
  expect(listed).toEqual(all);
  expect(listed.find(({ id }) => id === 'esma')).toMatchObject({ feeds: ['registers'], automatic: true });
  expect(listed.find(({ id }) => id === 'un')).toMatchObject({ feeds: ['labels', 'names'], lists: ['UN'] });
});

it.each([[['sync', '--list']], [['sync', '--help']]])('assay %s lists the daily prices', async (args) => {
  const { out } = await runCommand(dataDir, args);
  expect(out).toMatch(/^ *prices +prices +automatic +ASSAY_PRICE_URL, or EVM nodes/m);
});

it('assay import without a file is a wrong command line', async () => {
  expect(await runCommand(dataDir, ['import', 'un'])).toEqual({
    code: 2,
    out: '',
    err: 'assay: file: is missing. Name at least one file to import.\n',
  });
});
