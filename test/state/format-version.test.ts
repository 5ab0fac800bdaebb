/** The sentence about a file of another version names what was found, whatever that is. */
import { expect, it } from 'vitest';
import { isFormat, wrongFormat } from '../../src/state/format-version.ts';

it.each<[unknown, string]>([
  [0, '0'],
  [2, '2'],
  ['7', '7'],
  [false, 'false'],
  [null, 'unknown'],
  [undefined, 'unknown'],
  [{ name: 'graph', version: 0 }, 'graph 0'],
  [{}, 'undefined undefined'],
])('names the format %j as %s', (found, shown) => {
  const { message, code } = wrongFormat('labels.mdb', found, { name: 'labels', version: 3 });
  expect(code).toBe('STORE_VERSION');
  expect(message).toBe(
    `labels.mdb has format version ${shown}; this version of Assay reads format version labels 3 only. The file was not changed.`,
  );
});

it.each([
  [4, 3],
  [
    { name: 'graph', version: 4 },
    { name: 'graph', version: 3 },
  ],
])('names the ways out if a later version wrote the file: format %j', (found, expected) => {
  expect(wrongFormat('keys.mdb', found, expected).message).toMatch(
    /only\. A later version of Assay wrote it: start that version, or restore the backup from before the upgrade \(docs\/OPERATIONS\.md, Go back/,
  );
  expect(wrongFormat('labels.mdb', found, expected, "Run 'assay index build'.").message).toMatch(
    /only\. Run 'assay index build'\.$/,
  );
});

it('is the one of its name and version only', () => {
  const format = { name: 'graph', version: 3 };
  expect(
    [format, { ...format, more: 1 }, { ...format, version: 2 }, { ...format, name: 'labels' }, 3, null].map(
      (found) => isFormat(found, format),
    ),
  ).toEqual([true, true, false, false, false, false]);
  expect(isFormat(undefined, format)).toBe(false);
});
