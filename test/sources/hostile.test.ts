/** Every reader against the genuine files, truncated and broken at many places: a clear error or a whole list, nothing between. */
import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { euReader } from '../../src/sources/eu/read.ts';
import { ofacReader } from '../../src/sources/ofac/read.ts';
import type { SourceReader } from '../../src/sources/records.ts';
import { secoReader } from '../../src/sources/seco/read.ts';
import { ukReader } from '../../src/sources/uk/read.ts';
import { unReader } from '../../src/sources/un/read.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { collect, withFolder } from './collect.ts';

const BYTES = 200_000;
/** The first bytes of a genuine file, closed so that the document is complete. */
const beginning = (path: string, lastTag: string, end: string): Buffer => {
  const raw = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(raw) : raw).toString('utf8').slice(0, BYTES);
  return Buffer.from(text.slice(0, text.lastIndexOf(lastTag) + lastTag.length) + end);
};

const CASES: readonly (readonly [string, SourceReader, () => Buffer])[] = [
  [
    'ofac',
    ofacReader,
    () => beginning(sharedData('ofac', 'consolidated_2022-02-24.xml'), '</sdnEntry>', '</sdnList>'),
  ],
  [
    'un',
    unReader,
    () =>
      beginning(
        sharedData('un', 'un_consolidated_2026-02-27.xml'),
        '</INDIVIDUAL>',
        '</INDIVIDUALS></CONSOLIDATED_LIST>',
      ),
  ],
  ['eu', euReader, () => readFileSync(sharedData('eu', 'eu_fsf_1_1_excerpt.xml'))],
  ['uk', ukReader, () => readFileSync(sharedData('uk', 'uk_sanctions_list_excerpt.xml'))],
  ['ch', secoReader, () => readFileSync(sharedData('ch', 'seco_whole_list_excerpt.xml'))],
];

/** The result of reading: the number of parties, or the error's code. */
const outcome = (reader: SourceReader, path: string): Promise<number | string> =>
  collect(reader, path).then(
    ({ parties }) => parties.length,
    (error: unknown) => {
      if (error instanceof AssayError) return error.code;
      throw error;
    },
  );

describeWithSharedData('damaged lists', () => {
  it.each(CASES)('%s: a cut list is an error wherever it is cut', async (_, reader, load) => {
    const whole = load();
    const next = seededUint32(1);
    await withFolder(async (write) => {
      expect(await outcome(reader, write('whole.xml', whole))).toBeGreaterThan(0);
      for (let round = 0; round < 40; round++) {
        const at = next() % (whole.toString('utf8').trimEnd().length - 1);
        expect(await outcome(reader, write('cut.xml', whole.subarray(0, at))), `cut at ${at}`).toBe(
          'INVALID_FILE',
        );
        const packed = gzipSync(whole);
        const packedAt = next() % (packed.length - 1);
        expect(
          await outcome(reader, write('cut.gz', packed.subarray(0, packedAt))),
          `gz cut at ${packedAt}`,
        ).toBe('INVALID_FILE');
      }
    });
  });

  it.each(CASES)(
    '%s: broken bytes are an error or a readable list, never a crash',
    async (_, reader, load) => {
      const whole = load();
      const next = seededUint32(2);
      await withFolder(async (write) => {
        for (let round = 0; round < 40; round++) {
          const broken = Buffer.from(whole);
          for (let hit = 0; hit < 5; hit++) broken[next() % broken.length] = next() & 0xff;
          const result = await outcome(reader, write('broken.xml', broken));
          expect(typeof result === 'number' || result === 'INVALID_FILE', String(result)).toBe(true);
        }
      });
    },
  );

  it.each(CASES)('%s: takes no other publisher’s file, page or noise for its own', async (name, reader) => {
    await withFolder(async (write) => {
      for (const [other, , load] of CASES) {
        if (other === name) continue;
        expect(await outcome(reader, write('other.xml', load())), other).toBe('INVALID_FILE');
      }
      const next = seededUint32(3);
      const noise = Buffer.from(Array.from({ length: 10_000 }, () => next() & 0xff));
      for (const content of [noise, Buffer.alloc(10_000), Buffer.from('<html><body>503</body></html>')]) {
        expect(await outcome(reader, write('noise.xml', content))).toBe('INVALID_FILE');
      }
    });
  });
});
