import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSegmentWriter } from '../../../src/labels/index/segment.ts';
import { beginTemplates } from '../../../src/labels/index/template-build.ts';
import { LABEL_LIMITS } from '../../../src/labels/limits.ts';
import { template } from './world.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-templates-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Two segments that share a template, and one template that has no labels. */
async function segments(): Promise<{ paths: string[]; used: Uint8Array<ArrayBuffer>[] }> {
  const paths = [join(folder, 'a'), join(folder, 'b')];
  const names = [
    ['Zeta', 'Alpha', 'Nobody'],
    ['Alpha', 'Müller & Söhne'],
  ];
  for (const [at, path] of paths.entries()) {
    const segment = createSegmentWriter(path);
    for (const name of names[at] ?? []) segment.template(template(name));
    await segment.close();
  }
  return { paths, used: [Uint8Array.of(1, 1, 0), Uint8Array.of(1, 1)] };
}

describe('the templates of a build', () => {
  it('are the same from a separate thread', async () => {
    const { paths, used } = await segments();
    const built = async (labels: number) => {
      const build = beginTemplates(
        { segments: paths.map((path) => ({ path, date: null })), designations: new Map() },
        labels,
      );
      try {
        return await build.finish(used);
      } finally {
        await build.close();
      }
    };
    const here = await built(5);
    const there = await built(LABEL_LIMITS.buildThreadFromLabels);
    expect([...here.numbers]).toEqual([2, 0, -1, 0, 1]);
    expect(here.count).toBe(3);
    expect([...there.numbers]).toEqual([...here.numbers]);
    expect(there.count).toBe(here.count);
    expect(Buffer.from(there.encoded.bytes).equals(here.encoded.bytes)).toBe(true);
    expect([...there.encoded.table]).toEqual([...here.encoded.table]);
    expect({ ...there.encoded, bytes: null, table: null }).toEqual({
      ...here.encoded,
      bytes: null,
      table: null,
    });
  });

  it('report the error of a segment also from a thread', async () => {
    const build = beginTemplates(
      { segments: [{ path: join(folder, 'missing'), date: null }], designations: new Map() },
      LABEL_LIMITS.buildThreadFromLabels,
    );
    await expect(build.finish([new Uint8Array(1)])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await build.close();
  });
});
