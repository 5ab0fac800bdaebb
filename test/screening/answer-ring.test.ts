import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { AnswerRing } from '../../src/screening/answer-ring.ts';

const SIZE = 1_000;
const textOf = (name: string, length: number): Buffer => Buffer.alloc(length, name);

describe('the ring of answers', () => {
  it('returns the text and the note of a name, or null', () => {
    const ring = new AnswerRing<string>(SIZE);
    expect(ring.get('a')).toBeNull();
    ring.set('a', textOf('a', 30), 'first');
    expect(ring.get('a')).toEqual({ text: textOf('a', 30), about: 'first' });
    ring.set('a', textOf('b', 20), 'second');
    expect(ring.get('a')).toEqual({ text: textOf('b', 20), about: 'second' });
    ring.delete('a');
    expect(ring.get('a')).toBeNull();
    ring.set('a', textOf('a', 30), 'third');
    ring.clear();
    expect(ring.get('a')).toBeNull();
  });

  it('never returns bytes of another text, whatever was stored and asked for before', () => {
    const next = seededUint32(7);
    const ring = new AnswerRing<number>(SIZE);
    const stored = new Map<string, Buffer>();
    let kept = 0;
    for (let turn = 0; turn < 20_000; turn++) {
      const name = String.fromCharCode(0x61 + (next() % 26));
      const about = stored.get(name)?.length ?? 0;
      switch (next() % 4) {
        case 0: {
          const text = textOf(name, 1 + (next() % 120));
          ring.set(name, text, text.length);
          stored.set(name, text);
          break;
        }
        case 1:
          if (next() % 10 > 0) break;
          ring.delete(name);
          stored.delete(name);
          break;
        default: {
          const found = ring.get(name);
          if (found === null) break;
          kept++;
          expect(found).toEqual({ text: stored.get(name), about });
        }
      }
    }
    expect(kept).toBeGreaterThan(2_000);
  });

  it('keeps a text that is asked for between others', () => {
    const ring = new AnswerRing<null>(SIZE);
    ring.set('kept', textOf('k', 90), null);
    for (let turn = 0; turn < 100; turn++) {
      ring.set(`other ${turn}`, textOf('o', 90), null);
      expect(ring.get('kept')?.text).toEqual(textOf('k', 90));
    }
    // Eleven texts of this length fit.
    expect(ring.get('other 95')).not.toBeNull();
    expect(ring.get('other 70')).toBeNull();
  });

  it('takes a text as long as the ring, which replaces all others', () => {
    const ring = new AnswerRing<null>(SIZE);
    ring.set('a', textOf('a', 10), null);
    ring.set('b', textOf('b', SIZE), null);
    expect(ring.get('a')).toBeNull();
    expect(ring.get('b')?.text).toEqual(textOf('b', SIZE));
  });
});
