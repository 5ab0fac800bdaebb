import { expect, it } from 'vitest';
import { draftOf, keepDraft, setAuthor } from '../src/api/drafts.ts';

it('keeps a draft over the end of the session, but not for another person or after a logout', () => {
  setAuthor('ann');
  keepDraft('case 1', 'Called the customer');
  // The session ends, and the same person logs in again.
  setAuthor('ann');
  expect([draftOf('case 1'), draftOf('case 2')]).toEqual(['Called the customer', '']);
  keepDraft('case 1', '');
  expect(draftOf('case 1')).toBe('');
  keepDraft('case 1', 'Not for Bob');
  setAuthor('bob');
  expect(draftOf('case 1')).toBe('');
  keepDraft('case 1', 'Not after a logout');
  setAuthor(null);
  setAuthor('bob');
  expect(draftOf('case 1')).toBe('');
});
