/** The session of the person: one query that the whole dashboard shares. */
import { QueryClient, queryOptions } from '@tanstack/react-query';
import { call, type DataOf } from './client.ts';
import { setAuthor } from './drafts.ts';
import { ApiError, isPassing } from './errors.ts';
import { clearTab, readTab, removeTab, writeTab } from './tab-storage.ts';

export type Session = DataOf<'/auth/session', 'get'>;

/** Attempts after a passing error: one, since a person who waits can press a button. */
const RETRIES = 1;
/** Data that a person looks at for a minute is not requested again when the person switches windows. */
const FRESH_MS = 60_000;

/** Requests are sent also if the browser says that it is offline: they fail then, and the page says so. Otherwise, they would wait silently. */
const NETWORK_MODE = 'always';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < RETRIES && isPassing(error),
      refetchOnWindowFocus: false,
      networkMode: NETWORK_MODE,
    },
    mutations: { retry: false, networkMode: NETWORK_MODE },
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
  return text === null ? null : (JSON.parse(text) as StoredSession);
}

/** Where all tabs of the browser find the id of the person who is logged in, since they share a cookie. Empty after a logout. */
const PERSON = 'assay.person';

function notePerson({ person }: Session): void {
  setAuthor(person.id);
  if (localStorage.getItem(PERSON) !== person.id) localStorage.setItem(PERSON, person.id);
}

/** Whether another tab has logged out, or logged somebody else in, since this tab read its session. */
function isOfAnother(stored: StoredSession | null): boolean {
  const person = localStorage.getItem(PERSON);
  return stored !== null && person !== null && stored.session.person.id !== person;
}

/** Returns the session of this tab; null if it has ended. Clears the tab if it is that of another person. */
function ownSession(): StoredSession | null {
  const stored = storedSession();
  if (isOfAnother(stored)) clearTab();
  else if (stored !== null && Date.parse(stored.session.expiresAt) > Date.now()) return stored;
  return null;
}

/**
 * Calls a listener when another tab logs out, or logs somebody else in: with the cookie of the browser, this tab would act as another person
 * than it shows.
 */
export function whenPersonChanges(listener: () => void): void {
  addEventListener('storage', ({ key }) => {
    if (key === PERSON && isOfAnother(storedSession())) listener();
  });
}

const stored = ownSession();
if (stored !== null) setAuthor(stored.session.person.id);

/** The session; null if nobody is logged in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      const session = await call('get', '/auth/session', { signal });
      store(session);
      notePerson(session);
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
  notePerson(session);
  queries.setQueryData(sessionQuery.queryKey, session);
}

/** Forgets the session after a logout, in all tabs. After its time is over, other tabs keep what was typed in until the next login. */
export function endSession(): void {
  forgetSession();
  setAuthor(null);
  localStorage.setItem(PERSON, '');
}

/** Forgets everything that was read or typed in with a session, but for drafts: they stay until a logout, or until somebody else logs in. */
export function forgetSession(): void {
  clearTab();
  queries.clear();
  queries.setQueryData(sessionQuery.queryKey, null);
}
