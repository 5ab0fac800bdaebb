/** The live stream of alerts: server-sent events with the session cookie. A broken connection resumes after the last event. */
import { call, noteSessionEnd, type Schemas } from './client.ts';
import { ApiError } from './errors.ts';

export type Alert = Schemas['Alert'];
/** `down`: no connection at the moment; another attempt follows. */
export type StreamState = 'connecting' | 'live' | 'down';

export interface StreamListener {
  readonly onAlert: (kind: 'alert.created' | 'alert.updated', alert: Alert) => void;
  /** Changes may be missing: what is shown has to be read again. */
  readonly onGap: () => void;
  readonly onState: (state: StreamState) => void;
}

const STREAM_PATH = '/api/v1/monitoring/stream';
/** Waits between attempts that the server refused, in milliseconds: the last one is the window of the rate limit. */
const RETRY_MS = [1_000, 5_000, 15_000, 60_000] as const;

/**
 * Follows the stream.
 *
 * @returns a function that ends it
 */
export function followAlerts(listener: StreamListener): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = '';
  let failures = 0;
  let hasBeenOpen = false;
  let hasEnded = false;

  const receive =
    (kind: 'alert.created' | 'alert.updated') =>
    (event: MessageEvent<string>): void => {
      if (event.lastEventId !== '') lastId = event.lastEventId;
      listener.onAlert(kind, (JSON.parse(event.data) as { readonly alert: Alert }).alert);
    };

  function open(): void {
    // The browser resumes a connection itself, with the header Last-Event-ID. The parameter is for a connection that the server refused.
    const after = lastId;
    const own = new EventSource(after === '' ? STREAM_PATH : `${STREAM_PATH}?lastEventId=${after}`);
    source = own;
    own.addEventListener('open', () => {
      failures = 0;
      // Without the id of an event there is nothing to resume after.
      if (hasBeenOpen && lastId === '') listener.onGap();
      hasBeenOpen = true;
      listener.onState('live');
    });
    own.addEventListener('alert.created', receive('alert.created'));
    own.addEventListener('alert.updated', receive('alert.updated'));
    own.addEventListener('missed', () => listener.onGap());
    own.addEventListener('error', () => {
      listener.onState('down');
      // The parameter has precedence over the header, so a connection that had one is opened again with the newest id.
      if (own.readyState !== EventSource.CLOSED && after === '') return;
      own.close();
      clearTimeout(timer);
      // An EventSource does not say with which status it was refused. If the session has ended, the page is left, which ends the stream.
      call('get', '/auth/session').catch((error: unknown) => {
        if (!hasEnded && error instanceof ApiError) noteSessionEnd(error);
      });
      timer = setTimeout(open, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
    });
  }

  open();
  return () => {
    hasEnded = true;
    clearTimeout(timer);
    source?.close();
  };
}
