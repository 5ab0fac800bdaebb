/** Two people change the same case: nobody's entry is lost, and nobody replaces the other's without knowing. */
import { expect, it } from 'vitest';
import { changesOf, edited, fieldsOf, NO_EDITS, overtaken, withoutEdits } from '../src/pages/case/edits.ts';
import type { Case } from '../src/pages/case/use-case.ts';

const one = {
  title: 'Payments of a mixer',
  status: 'OPEN',
  priority: 'MEDIUM',
  assignee: null,
  dueAt: '2026-12-01T10:00:00Z',
} as Case;

it('keeps what a person has entered while somebody else changes other fields', () => {
  const edits = edited(one, edited(one, NO_EDITS, { assignee: 'a' }), { assignee: 'ann' });
  const changed = { ...one, priority: 'URGENT' } as Case;
  expect({ ...fieldsOf(changed), ...edits.to }).toMatchObject({ priority: 'URGENT', assignee: 'ann' });
  expect(changesOf(changed, { ...fieldsOf(changed), ...edits.to })).toEqual({ assignee: 'ann' });
  expect(overtaken(changed, edits)).toEqual([]);
});

it('names the edited fields that somebody else has changed', () => {
  const edits = edited(one, NO_EDITS, { assignee: 'ann', due: '' });
  const changed = { ...one, assignee: 'bob', priority: 'URGENT' } as Case;
  expect(overtaken(changed, edits)).toEqual(['assignee']);
  // Both have entered the same.
  expect(overtaken({ ...one, assignee: 'ann' } as Case, edits)).toEqual([]);
  expect(overtaken(changed, withoutEdits(edits, ['assignee']))).toEqual([]);
  // The person saw the new value before changing it.
  expect(overtaken(changed, edited(changed, edits, { priority: 'LOW' }))).toEqual(['assignee']);
});

it('sends only what differs, and keeps the time of an unchanged day', () => {
  expect(changesOf(one, fieldsOf(one))).toEqual({});
  expect(changesOf(one, { ...fieldsOf(one), due: '', assignee: ' ' })).toEqual({ dueAt: null });
});
