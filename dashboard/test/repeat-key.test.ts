/** What a tab keeps: keys that make a request one charge, and nothing of the person before. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setAuthor } from '../src/api/drafts.ts';
import { hasKey, keyFor, renewKey } from '../src/api/repeat-key.ts';
import { clearTab, readTab, writeTab } from '../src/api/tab-storage.ts';
import { isAsked, keepNames, keptNames } from '../src/pages/names/ask.ts';
import { keepImported, keepNotes, keptNotes, takeImported } from '../src/pages/trace/keep.ts';
import { annotate, emptyPicture } from '../src/pages/trace/picture.ts';
import { keepList, keptList } from '../src/search/list.ts';

const HOUR_MS = 3_600_000;

/** Storage of a tab with room for some characters. */
function storageOf(charsMax: number) {
  const texts = new Map<string, string>();
  return {
    get length() {
      return texts.size;
    },
    key: (at: number) => [...texts.keys()][at] ?? null,
    getItem: (key: string) => texts.get(key) ?? null,
    removeItem: (key: string) => void texts.delete(key),
    setItem: (key: string, text: string) => {
      if (text.length > charsMax) throw new Error('QuotaExceededError');
      texts.set(key, text);
    },
  };
}

let storage = storageOf(0);
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  storage = storageOf(10_000);
  vi.stubGlobal('sessionStorage', storage);
});
afterEach(() => {
  clearTab();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('the key of a charged request', () => {
  const body = { address: '0x1', chain: 'ETH' };

  it('is the same for every attempt, and another one for another request', () => {
    const key = keyFor('screening', body);
    expect(keyFor('screening', body)).toBe(key);
    expect(keyFor('trace', body)).not.toBe(key);
    expect(keyFor('screening', { ...body, save: true })).not.toBe(key);
  });

  it('changes only when the person wants a new answer, and then once', () => {
    const key = keyFor('screening', body);
    const other = keyFor('screening', { ...body, address: '0x2' });
    const renewed = renewKey('screening', body);
    expect(renewed).not.toBe(key);
    expect([keyFor('screening', body), keyFor('screening', body)]).toEqual([renewed, renewed]);
    expect(keyFor('screening', { ...body, address: '0x2' })).toBe(other);
  });

  it('is not taken for paid once the server has forgotten the response', () => {
    const key = keyFor('screening', body);
    vi.setSystemTime(Date.now() + 22 * HOUR_MS);
    expect([hasKey('screening', body), keyFor('screening', body)]).toEqual([true, key]);
    vi.setSystemTime(Date.now() + 2 * HOUR_MS);
    expect(hasKey('screening', body)).toBe(false);
    expect(keyFor('screening', body)).not.toBe(key);
  });
});

it('names of an older day stay in the form, and are not asked without a press', () => {
  const names = [{ name: 'Ann Example' }];
  keepNames(names);
  expect([keptNames(), isAsked(names)]).toEqual([names, true]);
  vi.setSystemTime(Date.now() + 25 * HOUR_MS);
  expect([keptNames(), isAsked(names)]).toEqual([names, false]);
});

it('leaves nothing in the tab for the next person', () => {
  const picture = annotate(emptyPicture('ETH', '0x1'), '0x1', 'a note');
  setAuthor('ann');
  keepNames([{ name: 'Ann Example' }]);
  keepList(['0x1', '0x2']);
  keepNotes(picture);
  keepImported(picture);
  storage.setItem('other', 'of another program');
  clearTab();
  // The list is a draft as well: the end of the session leaves it to the same person.
  expect(keptList()).toEqual(['0x1', '0x2']);
  setAuthor('bob');
  expect([keptNames(), keptList(), keptNotes(picture).size]).toEqual([[], [], 0]);
  expect(takeImported('ETH', '0x1')).toBeNull();
  expect(Array.from({ length: storage.length }, (_, at) => storage.key(at))).toEqual(['other']);
});

it('keeps a text that the storage has no room for until the page is loaded again', () => {
  writeTab('list', 'short');
  writeTab('list', 'x'.repeat(20_000));
  expect(readTab('list')).toHaveLength(20_000);
  expect(storage.getItem('assay.list')).toBeNull();
  clearTab();
  expect(readTab('list')).toBeNull();
});
