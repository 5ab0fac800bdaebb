/** Changes of alerts: one after the other, at the pace that the server allows. */
import { useQuery } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';
import { usePeopleNames } from '../../api/people.ts';
import { sessionQuery } from '../../api/session.ts';
import type { Alert, Inbox } from './inbox.ts';

export type AlertChange = Schemas['AlertPatch'];

/** The status that follows a status while a person works on an alert; null at the end. */
export const NEXT_STATUS: Readonly<Record<Alert['status'], Alert['status'] | null>> = {
  NEW: 'INVESTIGATING',
  INVESTIGATING: 'RESOLVED',
  RESOLVED: null,
  DISMISSED: null,
};

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** Seconds of a wait for the rate limit; null while requests are sent. */
  readonly waitSeconds: number | null;
  readonly errors: readonly Error[];
}

/** Returns a function that changes alerts and returns the ids of those that it could not change, and its progress; null if nothing was changed yet. */
export function useAlertChanges(inbox: Inbox) {
  const [progress, setProgress] = useState<Progress | null>(null);
  // A second change waits for the first one: a person who presses a key twice means both.
  const last = useRef<Promise<readonly string[]>>(Promise.resolve([]));
  const run = useCallback(
    async (
      ids: readonly string[],
      changeOf: (alert: Alert) => AlertChange | null,
    ): Promise<readonly string[]> => {
      const errors: Error[] = [];
      const failed: string[] = [];
      let done = 0;
      const report = (waitSeconds: number | null): void =>
        setProgress({ done, total: ids.length, waitSeconds, errors });
      report(null);
      for (const id of ids) {
        const alert = inbox.byId(id);
        const body = alert === undefined ? null : changeOf(alert);
        if (body !== null)
          try {
            const { alert: changed } = await patiently(
              () => call('patch', '/monitoring/alerts/{id}', { path: { id }, body }),
              { onWait: report },
            );
            inbox.receive(changed);
          } catch (error) {
            errors.push(error as Error);
            failed.push(id);
          }
        done++;
        report(null);
      }
      return failed;
    },
    [inbox],
  );
  const change = useCallback(
    (...changes: Parameters<typeof run>): Promise<readonly string[]> => {
      last.current = last.current.then(() => run(...changes));
      return last.current;
    },
    [run],
  );
  return { progress, change };
}

/** Returns the address of the person, by which others recognise an assignee; null until it is read. */
export function useOwnName(): string | null {
  const { data: session } = useQuery(sessionQuery);
  const names = usePeopleNames();
  return session ? (names[session.person.id] ?? null) : null;
}
