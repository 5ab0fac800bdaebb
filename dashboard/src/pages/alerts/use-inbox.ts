/** The inbox of the filters in the URL, kept current by the stream. */

import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { type Alert, followAlerts, type StreamState } from '../../api/alert-stream.ts';
import { ALERT_STATUSES, SEVERITIES } from '../../api/choices.ts';
import type { Search } from '../../ui/url-state.ts';
import { type Filters, Inbox } from './inbox.ts';

/** The list is read after the stream is open, so that no alert falls between them; but a proxy without streams must not prevent it. */
const STREAM_WAIT_MS = 2_000;

/** Reads the filters of the URL. Invalid filters are left out. */
export function filtersIn({ status, severity, wallet, address }: Search): Filters {
  const knownStatus = ALERT_STATUSES.find((known) => known === status);
  const knownSeverity = SEVERITIES.find((known) => known === severity);
  return {
    ...(knownStatus === undefined ? {} : { status: knownStatus }),
    ...(knownSeverity === undefined ? {} : { severity: knownSeverity }),
    ...(wallet === undefined || wallet === '' ? {} : { walletId: wallet }),
    ...(address === undefined || address === '' ? {} : { walletAddress: address }),
  };
}

/** Returns the inbox, what it shows, and the state of the stream. */
export function useInbox(filters: Filters) {
  const key = JSON.stringify(filters);
  const inbox = useMemo(() => new Inbox(JSON.parse(key) as Filters), [key]);
  const view = useSyncExternalStore(inbox.subscribe, inbox.view);
  const [stream, setStream] = useState<StreamState>('connecting');
  const current = useRef(inbox);
  current.current = inbox;

  useEffect(() => {
    const timer = setTimeout(
      () => setStream((state) => (state === 'connecting' ? 'down' : state)),
      STREAM_WAIT_MS,
    );
    const stop = followAlerts({
      onAlert: (_kind, alert: Alert) => current.current.receive(alert),
      onGap: () => current.current.reload(),
      onState: setStream,
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);

  const isReady = stream !== 'connecting';
  useEffect(() => {
    if (!isReady) return;
    inbox.reload();
    return () => inbox.stop();
  }, [inbox, isReady]);
  return { inbox, view, stream };
}
