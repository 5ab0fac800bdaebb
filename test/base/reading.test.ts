import { describe, expect, it } from 'vitest';
import { endReading, ReadingValue } from '../../src/base/reading.ts';

describe('a value of a reading', () => {
  it('is kept while the code runs', () => {
    const kept = new ReadingValue<string>();
    expect(kept.value).toBeNull();
    kept.value = 'a';
    expect(kept.value).toBe('a');
    kept.value = 'b';
    expect(kept.value).toBe('b');
  });

  it('is forgotten when the reading ends', () => {
    const kept = new ReadingValue<string>();
    kept.value = 'a';
    endReading();
    expect(kept.value).toBeNull();
    kept.value = 'b';
    expect(kept.value).toBe('b');
  });

  it('is forgotten when the running code ends', async () => {
    const kept = new ReadingValue<string>();
    kept.value = 'a';
    await Promise.resolve();
    expect(kept.value).toBeNull();
  });
});
