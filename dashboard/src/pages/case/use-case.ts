/** The requests of the page of a case. Every change is based on the version that the person sees. */

import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { everyOf } from '../../api/every.ts';
import { patiently } from '../../api/patience.ts';
import { AttemptKey } from '../../api/repeat-key.ts';
import { queries, sessionQuery } from '../../api/session.ts';

export type Case = Schemas['Case'];
export type CaseEvent = Schemas['CaseEvent'];
export type CaseLink = Schemas['CaseLink'];
export type CaseFile = Schemas['CaseFile'];

export const DISPOSITIONS = everyOf<NonNullable<Case['disposition']>>()([
  'NO_ACTION',
  'FALSE_POSITIVE',
  'RESTRICTED',
  'REPORTED',
  'EXITED',
]);

export const caseQuery = (id: string) =>
  queryOptions({
    queryKey: ['case', id],
    queryFn: async ({ signal }) =>
      (await patiently(() => call('get', '/cases/{id}', { path: { id }, signal }), { signal })).case,
  });

// A mutation ends only when the promise that a callback returns has ended, and shows its error then. These requests may wait for a minute, for a
// rate limit or for a server that is away, so they are not awaited.

/** Reads the case and its history again after a change. */
export function refreshCase(id: string): void {
  void queries.invalidateQueries({ queryKey: ['case', id] });
  void queries.invalidateQueries({ queryKey: ['cases'] });
}

/** Stores a case that a response has, and reads its history again. */
function shown(changed: Case): void {
  queries.setQueryData(caseQuery(changed.id).queryKey, changed);
  void queries.invalidateQueries({ queryKey: ['cases'] });
  void queries.invalidateQueries({ queryKey: ['case', changed.id, 'events'] });
}

/** Changes fields of a case. */
export const usePatch = ({ id, version }: Case) =>
  useMutation({
    mutationFn: async (fields: Schemas['CasePatch']) =>
      (await call('patch', '/cases/{id}', { path: { id }, body: { ...fields, version } })).case,
    onSuccess: shown,
    // Somebody else was first: the person sees what changed.
    onError: () => refreshCase(id),
  });

/** Adds an event to a case. Notes and links do not depend on what others did meanwhile. */
export function useEvent({ id, version }: Case) {
  const [key] = useState(() => new AttemptKey());
  return useMutation({
    mutationFn: async (event: Schemas['CaseEventBody']) => {
      const isFree = event.type === 'NOTE' || event.type === 'LINK';
      const body = isFree ? event : { ...event, version };
      const idempotencyKey = key.of({ id, body });
      return (await call('post', '/cases/{id}/events', { path: { id }, body, idempotencyKey })).case;
    },
    onSuccess(changed) {
      key.end();
      shown(changed);
    },
    onError: () => refreshCase(id),
  });
}

/** Returns whether an id is that of the person who is logged in. */
export function useIsOwnId(): (id: string) => boolean {
  const { data: session } = useQuery(sessionQuery);
  return (id) => session?.person.id === id;
}
