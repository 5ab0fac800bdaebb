/**
 * The alerts of an inbox: pages of 100 that are read when they come into view, and what the live stream adds. Rows keep their places while a
 * person works: a new alert is put before them, and one that no longer matches the filters stays until the list is read again.
 */
import type { Alert } from '../../api/alert-stream.ts';
import { call, type DataOf } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';

export type { Alert };
export type AlertPage = DataOf<'/monitoring/alerts', 'get'>;
export type NotFollowed = AlertPage['notFollowed'][number];

export interface Filters {
  readonly status?: Alert['status'];
  readonly severity?: Alert['severity'];
  readonly walletId?: string;
  readonly walletAddress?: string;
}

/** The most alerts that one response has. */
export const PAGE_ROWS = 100;
/** Pages that are read at the same time: the visible rows span two. */
const AT_ONCE = 2;

interface Page {
  readonly ids: readonly string[];
  readonly nextCursor: string | null;
}

export interface InboxView {
  /** Null until the first page is read. */
  readonly count: number | null;
  readonly notFollowed: readonly NotFollowed[];
  readonly error: Error | null;
  /** Seconds after which the server allows the next request; null if nothing waits. */
  readonly waitSeconds: number | null;
}

const EMPTY: InboxView = { count: null, notFollowed: [], error: null, waitSeconds: null };

const matches = ({ status, severity, walletId, walletAddress }: Filters, alert: Alert): boolean =>
  (status === undefined || alert.status === status) &&
  (severity === undefined || alert.severity === severity) &&
  (walletId === undefined || alert.walletId === walletId) &&
  (walletAddress === undefined || alert.wallet.walletAddress === walletAddress.toLowerCase());

/** The alerts that match filters. */
export class Inbox {
  readonly #filters: Filters;
  readonly #listeners = new Set<() => void>();
  readonly #alerts = new Map<string, Alert>();
  #pages = new Map<number, Page>();
  /** Alerts that the stream has added, newest first. */
  #fresh: string[] = [];
  #reading = new Set<number>();
  #total = 0;
  #newest: number | null = null;
  #wanted: readonly [first: number, last: number] = [0, 0];
  #run = new AbortController();
  #view = EMPTY;

  constructor(filters: Filters) {
    this.#filters = filters;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly view = (): InboxView => this.#view;

  /** Number of rows that the stream has put before the first page. */
  get freshCount(): number {
    return this.#fresh.length;
  }

  /** Returns the alert of a row; undefined while it is read. */
  at(row: number): Alert | undefined {
    const place = row - this.#fresh.length;
    const id =
      place < 0 ? this.#fresh[row] : this.#pages.get(Math.floor(place / PAGE_ROWS))?.ids[place % PAGE_ROWS];
    return id === undefined ? undefined : this.#alerts.get(id);
  }

  byId(id: string): Alert | undefined {
    return this.#alerts.get(id);
  }

  /** Returns the row of an alert that has been read; -1 for another. */
  rowOf(id: string): number {
    const fresh = this.#fresh.indexOf(id);
    if (fresh !== -1) return fresh;
    for (const [number, { ids }] of this.#pages) {
      const at = ids.indexOf(id);
      if (at !== -1) return this.#fresh.length + number * PAGE_ROWS + at;
    }
    return -1;
  }

  /** Forgets everything and reads the visible rows again. */
  reload(): void {
    this.stop();
    this.#run = new AbortController();
    this.#pages = new Map();
    this.#fresh = [];
    this.#reading = new Set();
    this.#newest = null;
    this.#alerts.clear();
    this.#publish({ error: null, waitSeconds: null });
    void this.#read(0);
  }

  /** Ends the requests that are running. */
  stop(): void {
    this.#run.abort();
  }

  /** Reads the pages of these rows, if they have not been read. */
  show(first: number, last: number): void {
    this.#wanted = [first, last];
    if (this.#newest === null || this.#view.error !== null) return;
    const fresh = this.#fresh.length;
    const to = Math.floor(Math.max(0, last - fresh) / PAGE_ROWS);
    for (let page = Math.floor(Math.max(0, first - fresh) / PAGE_ROWS); page <= to; page++)
      if (page * PAGE_ROWS < this.#total) void this.#read(page);
  }

  /** Stores an alert as it is now: a response, or an event of the stream. */
  receive(alert: Alert): void {
    // An event that arrives before the first page is in it, or comes again with the next event.
    if (this.#newest === null) {
      this.#alerts.set(alert.id, alert);
      return;
    }
    const isShown = this.rowOf(alert.id) !== -1;
    if (!isShown && (alert.sequence <= this.#newest || !matches(this.#filters, alert))) return;
    const before = this.#alerts.get(alert.id);
    if (before !== undefined && before.updatedAt > alert.updatedAt) return;
    this.#alerts.set(alert.id, alert);
    if (!isShown) this.#fresh = [alert.id, ...this.#fresh];
    this.#publish({});
  }

  #publish(change: Partial<InboxView>): void {
    const count = this.#newest === null ? null : this.#fresh.length + this.#total;
    this.#view = { ...this.#view, ...change, count };
    for (const listener of this.#listeners) listener();
  }

  /** Alerts before a page that are shown but do not match any more: the server does not count them. */
  #departedBefore(page: number): number {
    let departed = 0;
    for (const [number, { ids }] of this.#pages)
      if (number < page)
        for (const id of ids) {
          const alert = this.#alerts.get(id);
          if (alert !== undefined && !matches(this.#filters, alert)) departed++;
        }
    return departed;
  }

  /** Returns where a page begins: after the page before it, or at its offset if the person has jumped. */
  #startOf(page: number): { readonly cursor: string } | { readonly offset: number } {
    const cursor = this.#pages.get(page - 1)?.nextCursor ?? null;
    return cursor === null ? { offset: page * PAGE_ROWS - this.#departedBefore(page) } : { cursor };
  }

  async #read(page: number): Promise<void> {
    if (this.#pages.has(page) || this.#reading.has(page) || this.#reading.size >= AT_ONCE) return;
    this.#reading.add(page);
    const { signal } = this.#run;
    const query = {
      ...this.#filters,
      limit: PAGE_ROWS,
      ...this.#startOf(page),
      ...(this.#newest === null ? {} : { upTo: this.#newest }),
    };
    try {
      const answer = await patiently(
        () => call('get', '/monitoring/alerts', { query: query as never, signal }),
        { signal, onWait: (waitSeconds) => this.#publish({ waitSeconds }) },
      );
      if (signal.aborted) return;
      this.#store(page, answer);
    } catch (error) {
      if (!signal.aborted) this.#publish({ error: error as Error });
    } finally {
      if (!signal.aborted) {
        this.#reading.delete(page);
        // The person has scrolled on in the meantime.
        this.show(...this.#wanted);
      }
    }
  }

  #store(page: number, { alerts, total, newest, nextCursor, notFollowed }: AlertPage): void {
    const isFirst = this.#newest === null;
    const early = isFirst ? [...this.#alerts.values()] : [];
    for (const alert of alerts) {
      const known = this.#alerts.get(alert.id);
      if (known === undefined || known.updatedAt <= alert.updatedAt) this.#alerts.set(alert.id, alert);
    }
    this.#pages.set(page, { ids: alerts.map(({ id }) => id), nextCursor });
    if (isFirst) {
      this.#newest = newest;
      this.#total = total;
    } else if (nextCursor === null) {
      // Others have changed alerts that were not read yet.
      this.#total = page * PAGE_ROWS + alerts.length;
    }
    this.#publish({ notFollowed });
    for (const alert of early.toSorted((a, b) => a.sequence - b.sequence)) this.receive(alert);
  }
}
