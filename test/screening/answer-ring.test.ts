import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { AnswerRing } from '../../src/screening/answer-ring.ts';

const SIZE = 1_000;
const textOf = (name: string, length: number): Buffer => Buffer.alloc(length, name);

describe('the ring of answers', () => {
  it('returns the last text of a name, or null', () => {
    const ring = new AnswerRing(SIZE);
    expect(ring.get('a')).toBeNull();
    ring.set('a', textOf('a', 30));
    expect(ring.get('a')).toEqual(textOf('a', 30));
    ring.set('a', textOf('b', 20));
    expect(ring.get('a')).toEqual(textOf('b', 20));
    ring.clear();
    expect(ring.get('a')).toBeNull();
  });

  it('never returns bytes of another text, whatever was stored and asked for before', () => {
    const next = seededUint32(7);
    const ring = new AnswerRing(SIZE);
    const stored = new Map<string, Buffer>();
    let kept = 0;
    for (let turn = 0; turn < 20_000; turn++) {
      const name = String.fromCharCode(0x61 + (next() % 26));
      if (next() % 4 === 0) {
        const text = textOf(name, 1 + (next() % 120));
        ring.set(name, text);
        stored.set(name, text);
        continue;
      }
      const found = ring.get(name);
      if (found === null) continue;
      kept++;
      expect(found).toEqual(stored.get(name));
    }
    expect(kept).toBeGreaterThan(2_000);
  });

  it('keeps a text that is asked for between others', () => {
    const ring = new AnswerRing(SIZE);
    ring.set('kept', textOf('k', 90));
    for (let turn = 0; turn < 100; turn++) {
      ring.set(`other ${turn}`, textOf('o', 90));
      expect(ring.get('kept')).toEqual(textOf('k', 90));
    }
    // Eleven texts of this length fit.
    expect(ring.get('other 95')).not.toBeNull();
    expect(ring.get('other 70')).toBeNull();
  });

  it('takes a text as long as the ring, which replaces all others', () => {
    const ring = new AnswerRing(SIZE);
    ring.set('a', textOf('a', 10));
    ring.set('b', textOf('b', SIZE));
    expect(ring.get('a')).toBeNull();
    expect(ring.get('b')).toEqual(textOf('b', SIZE));
  });
});
