/** The session of the person: one query that the whole dashboard shares. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { call, type DataOf } from './client.ts';
import { ApiError, isPassing } from './errors.ts';
import { clearTab, readTab, removeTab, writeTab } from './tab-storage.ts';

export type Session = DataOf<'/auth/session', 'get'>;

/** Attempts after a passing error: one, since a person who waits can press a button. */
const RETRIES = 1;
/** Data that a person looks at for a minute is not requested again when the person switches windows. */
const FRESH_MS = 60_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < RETRIES && isPassing(error),
      refetchOnWindowFocus: false,
    },
    mutations: { retry: false },
  },
});

const STORED = 'session';

interface StoredSession {
  readonly session: Session;
  readonly readAt: number;
}

/**
 * Keeps the session in the tab, so that a page that is loaded again need not ask for it: the operation allows 20 calls a minute. It is no
 * secret: the token is in a cookie that no script can read, and every call is still checked by the server.
 */
function store(session: Session | null): void {
  if (session === null) removeTab(STORED);
  else writeTab(STORED, JSON.stringify({ session, readAt: Date.now() } satisfies StoredSession));
}

function storedSession(): StoredSession | null {
  const text = readTab(STORED);
  if (text === null) return null;
  const stored = JSON.parse(text) as StoredSession;
  return Date.parse(stored.session.expiresAt) > Date.now() ? stored : null;
}

const stored = storedSession();

/** The session; null if nobody is logged in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      const session = await call('get', '/auth/session', { signal });
      store(session);
      return session;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      store(null);
      return null;
    }
  },
  staleTime: 5 * FRESH_MS,
  ...(stored === null ? {} : { initialData: stored.session, initialDataUpdatedAt: stored.readAt }),
});

/** Begins to use a session: a first one, or a new one of the same person. A login calls `forgetSession` before. */
export function beginSession(session: Session): void {
  store(session);
  queries.setQueryData(sessionQuery.queryKey, session);
}

/** Forgets everything that was read or typed in with a session. */
export function forgetSession(): void {
  clearTab();
  queries.clear();
  queries.setQueryData(sessionQuery.queryKey, null);
}
