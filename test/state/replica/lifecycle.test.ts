/** The phases of a replicated store, and what ends with each. */
import { expect, it } from 'vitest';
import { Lifecycle } from '../../../src/state/replica/lifecycle.ts';

it('lets queued writes and waits go on while a store is closing, and ends them when it is closed', () => {
  const lifecycle = new Lifecycle();
  const shown = () => [lifecycle.phase, lifecycle.isOpen, lifecycle.isClosed, lifecycle.closed.aborted];
  expect(shown()).toEqual(['open', true, false, false]);
  lifecycle.enter('closing');
  expect(shown()).toEqual(['closing', false, false, false]);
  lifecycle.enter('closed');
  expect(shown()).toEqual(['closed', false, true, true]);
});
