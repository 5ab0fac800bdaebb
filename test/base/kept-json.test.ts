import { describe, expect, it } from 'vitest';
import { jsonText, keepJson, objectText } from '../../src/base/kept-json.ts';
import { seededUint32 } from '../../src/base/random.ts';

/** Returns a random value of JSON, with texts that need escapes. */
function randomValue(next: () => number, depth = 0): unknown {
  const texts = ['', 'plain', 'ü€😀', '"\\\n\u0000', '\ud800', '</script>', 'a'.repeat(300)];
  const numbers = [0, -0, 1, -1.5, 1e21, 1e-9, 123456789.123, Number.NaN, Number.POSITIVE_INFINITY];
  const kind = next() % (depth > 3 ? 5 : 8);
  if (kind === 0) return null;
  if (kind === 1) return next() % 2 === 0;
  if (kind === 2) return numbers[next() % numbers.length];
  if (kind < 5) return texts[next() % texts.length];
  const length = next() % 5;
  const values = Array.from({ length }, () => randomValue(next, depth + 1));
  const made =
    kind === 5
      ? values
      : Object.fromEntries(values.map((value, at) => [`${texts[next() % texts.length]}${at}`, value]));
  return next() % 2 === 0 ? keepJson(made) : made;
}

describe('kept JSON texts', () => {
  it('equal those of JSON.stringify for many values, at the first call and at later ones', () => {
    const next = seededUint32(5);
    for (let round = 0; round < 3_000; round++) {
      const fields = Object.fromEntries(
        Array.from({ length: next() % 6 }, (_, at) => [
          `field ${at}`,
          next() % 9 === 0 ? undefined : randomValue(next),
        ]),
      );
      const expected = JSON.stringify(fields);
      expect(objectText(fields)).toBe(expected);
      expect(objectText(fields)).toBe(expected);
      expect(jsonText(fields)).toBe(expected);
    }
  });

  it('are made once for a kept value, and each time for another', () => {
    const kept = keepJson({ rows: [1] });
    const other = { rows: [1] };
    expect([jsonText(kept), jsonText(other)]).toEqual(['{"rows":[1]}', '{"rows":[1]}']);
    kept.rows.push(2);
    other.rows.push(2);
    expect(jsonText(keepJson(kept))).toBe('{"rows":[1]}');
    expect(jsonText(other)).toBe('{"rows":[1,2]}');
  });
});
