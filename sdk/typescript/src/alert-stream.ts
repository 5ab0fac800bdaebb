/** The streams of alerts and changes of wallets, and of billing, each of which resumes after the last event if its connection breaks. */
import { type Connection, delayAfter, failureOf, isPassing, pause } from './core/connection.ts';
import { AbortError, ConnectionError } from './core/errors.ts';
import { sseMessages } from './core/sse.ts';
import type { TransportResponse } from './core/transport.ts';
import type { Alert, Invoice, MonitoredWallet } from './generated/api.ts';

export interface AlertStreamOptions {
  /** `id` of an event of this stream, after which it resumes. Default: from now on. */
  readonly lastEventId?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
  /** Consecutive failures after which the iteration throws. Default: 10, about a minute. */
  readonly maxRetries?: number | undefined;
}

/** An event of the stream. Store `id` to resume after this event; it is empty if the stream cannot be resumed there. */
export type StreamEvent =
  | {
      readonly id: string;
      readonly event: 'alert.created' | 'alert.updated';
      readonly data: { readonly alert: Alert };
    }
  | {
      readonly id: string;
      readonly event: 'wallet.created' | 'wallet.updated';
      readonly data: { readonly wallet: MonitoredWallet };
    }
  | {
      /**
       * Events were missed: those from `from` to `to` are not stored any more, or an unknown number (both null), because the
       * connection broke before the first event. List the alerts to be complete.
       */
      readonly id: string;
      readonly event: 'missed';
      readonly data: { readonly from: number | null; readonly to: number | null };
    };

const RETRIES_MAX = 10;
/** The server sends a comment every 20 seconds: three that are missing are a dead connection. */
const SILENCE_MS = 65_000;

/** Returns the pieces of a body. Closes the connection if it is silent for too long or the signal is aborted. */
async function* watched(
  response: TransportResponse,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  const close = (): void => response.cancel();
  let timer = setTimeout(close, SILENCE_MS);
  signal?.addEventListener('abort', close, { once: true });
  try {
    for await (const bytes of response.body()) {
      clearTimeout(timer);
      yield bytes;
      timer = setTimeout(close, SILENCE_MS);
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', close);
  }
}

/** An event of billing. `data.invoice` is the invoice as it is now. */
export type BillingStreamEvent =
  | {
      readonly id: string;
      readonly event: `invoice.${'created' | 'updated' | Lowercase<Invoice['state']>}`;
      readonly data: { readonly invoice: Invoice };
    }
  | {
      readonly id: string;
      readonly event: 'balance.low';
      readonly data: {
        readonly pool: Invoice['pool'];
        readonly balance: number;
        readonly threshold: number;
        readonly at: string;
      };
    }
  | Extract<StreamEvent, { readonly event: 'missed' }>;

/** Follows a stream. `Alerts.stream` describes it. */
export async function* streamEvents<Event>(
  connection: Connection,
  path: string,
  { lastEventId = '', signal, maxRetries = RETRIES_MAX }: AlertStreamOptions,
): AsyncGenerator<Event, void, undefined> {
  let position = lastEventId;
  let wasOpen = false;
  for (let failures = 0; ; failures++) {
    let failure: unknown;
    try {
      const headers = { accept: 'text/event-stream, application/problem+json' };
      const response = await connection.stream({
        method: 'GET',
        path,
        options: {
          signal,
          maxRetries: 0,
          headers: position === '' ? headers : { ...headers, 'last-event-id': position },
        },
      });
      if (wasOpen && position === '')
        yield { id: '', event: 'missed', data: { from: null, to: null } } as Event;
      wasOpen = true;
      // The connection was good for 20 seconds. An account may have no event for weeks, in which the server restarts many times.
      const onComment = (): void => {
        failures = 0;
      };
      for await (const { id, event, data } of sseMessages(watched(response, signal), onComment)) {
        failures = 0;
        // The server ends the stream with a reason. If it has refused the key, the next attempt throws.
        if (event === 'closed') break;
        if (id !== '') position = id;
        yield { id, event, data: JSON.parse(data) } as Event;
      }
      failure = new ConnectionError('The stream ended.');
    } catch (error) {
      failure = failureOf(error, signal);
    }
    if (signal?.aborted || failure instanceof AbortError) return;
    const delay = isPassing(failure) ? delayAfter(failure, failures) : null;
    if (delay === null || failures >= maxRetries) throw failure;
    try {
      await pause(delay, signal);
    } catch {
      return;
    }
  }
}
