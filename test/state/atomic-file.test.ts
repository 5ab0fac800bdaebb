/** JSON files carry a checksum: what was changed on the disk is refused, and what an earlier version wrote is read. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { tempFolder } from '../accounts/temp-folder.ts';

describe('a JSON file', () => {
  const folder = tempFolder();
  const path = join(folder.path, 'file.json');
  afterAll(() => folder.remove());
  const value = { name: 'Zürich', rows: [{ n: 1 }, { n: -0.5 }], left: undefined, none: null, 7: 'seven' };

  it('is read as it was written, whatever its shape', () => {
    for (const each of [value, {}, [1, { a: 2 }], 42, null, { crc: 'own' }]) {
      writeJsonAtomically(path, each);
      expect(readJson(path)).toEqual(JSON.parse(JSON.stringify(each)));
    }
  });

  it('is written whole if it is large', () => {
    const large = { text: 'x'.repeat(4 << 20) };
    writeJsonAtomically(path, large);
    expect(readJson(path)).toEqual(large);
  });

  it('leaves no temporary file if it cannot be put in its place', () => {
    const taken = join(folder.path, 'taken');
    mkdirSync(join(taken, 'inside'), { recursive: true });
    expect(() => writeJsonAtomically(taken, value)).toThrow();
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('is written again with the checksum of its new content', () => {
    writeJsonAtomically(path, value);
    writeJsonAtomically(path, { ...(readJson(path) as object), more: true });
    expect(readJson(path)).toMatchObject({ name: 'Zürich', more: true });
  });

  it('is rejected with its path if any bit is flipped', () => {
    writeJsonAtomically(path, value);
    const bytes = readFileSync(path);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(path, changed);
      expect(() => readJson(path), `bit ${bit}`).toThrow(
        expect.objectContaining({
          code: 'STORE_CORRUPT',
          message: expect.stringContaining(`${path} is damaged`),
        }),
      );
    }
  });

  it('is rejected if it is truncated anywhere', () => {
    writeJsonAtomically(path, value);
    const bytes = readFileSync(path);
    // The last byte ends the line.
    for (let length = 0; length < bytes.length - 1; length++) {
      writeFileSync(path, bytes.subarray(0, length));
      expect(() => readJson(path)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
    }
  });

  it('is read without a checksum if an earlier version wrote it', () => {
    writeFileSync(path, '{"format":1}\n');
    expect(readJson(path)).toEqual({ format: 1 });
  });
});
