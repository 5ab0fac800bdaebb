/** The search of one page of cases: its work is bounded. */
import { expect, it } from 'vitest';
import { CASE_LIMITS } from '../../src/cases/limits.ts';
import type { CaseEvent, CaseRecord } from '../../src/cases/records.ts';
import { createSearch, searchedChars } from '../../src/cases/search.ts';

const record = {
  number: 1,
  title: 'A',
  assignee: null,
  links: [],
  files: [],
  status: 'OPEN',
} as unknown as CaseRecord;
const event = (note: string | null): CaseEvent => ({ note }) as CaseEvent;

it('stops after the bytes of many notes, and after many records', () => {
  const notes = Array.from({ length: CASE_LIMITS.searchCharsMax / CASE_LIMITS.noteCharsMax }, () =>
    event('x'.repeat(CASE_LIMITS.noteCharsMax)),
  );
  const long = createSearch({ text: 'needle' }, () => notes);
  expect([long.isExhausted(), long.matches(record), long.isExhausted()]).toEqual([false, false, true]);
  const many = createSearch({ status: ['CLOSED'] }, () => []);
  let read = 0;
  for (; !many.isExhausted(); read++) many.matches(record);
  expect(read).toBe(CASE_LIMITS.searchRecordsMax);
});

it('stops exactly at the limit of characters', () => {
  const exhausts = (chars: number): boolean => {
    const search = createSearch({ text: 'needle' }, () => []);
    const number = `#${record.number}`.length;
    search.matches({ ...record, title: 'x'.repeat(chars - number) });
    return search.isExhausted();
  };
  expect(exhausts(CASE_LIMITS.searchCharsMax - 1)).toBe(false);
  expect(exhausts(CASE_LIMITS.searchCharsMax)).toBe(true);
});

it('counts the links and files of a case, and the longer work of characters that change their form', () => {
  const links = Array.from({ length: 9 * CASE_LIMITS.searchLinksOfRecord }, () => ({
    address: null,
    chain: null,
    id: null,
  }));
  const linked = { ...record, links } as unknown as CaseRecord;
  const many = createSearch({ dueBeforeMs: 0 }, () => []);
  let read = 0;
  for (; !many.isExhausted(); read++) many.matches(linked);
  expect(read).toBe(CASE_LIMITS.searchRecordsMax / 10);
  // U+FDFA becomes 18 characters, an a with a separate accent one.
  for (const [text, chars] of [
    ['\ufdfa', 18],
    ['a\u0301', 2],
  ] as const) {
    expect(searchedChars(text.repeat(10))).toBe(chars * 10);
    const search = createSearch({ text: 'needle' }, () => []);
    search.matches({ ...record, title: text.repeat(Math.ceil(CASE_LIMITS.searchCharsMax / 8 / chars)) });
    expect(search.isExhausted()).toBe(true);
  }
});

it('finds a text in the notes of events only if it searches one', () => {
  let reads = 0;
  const events = () => {
    reads++;
    return [event(null), event('the NEEDLE')];
  };
  expect(createSearch({ text: 'needle' }, events).matches(record)).toBe(true);
  expect(createSearch({ text: '#1' }, events).matches(record)).toBe(true);
  expect(createSearch({}, events).matches(record)).toBe(true);
  expect(reads).toBe(1);
});
