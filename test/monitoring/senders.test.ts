/** What a request or an email that its receiver did not take means for its delivery. */
import type { Dispatcher } from 'undici';
import { afterEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import { createReceiverTargets } from '../../src/monitoring/delivery/receiver-url.ts';
import { createSenders } from '../../src/monitoring/delivery/senders.ts';

/** Sends an email that the server rejects with a code, or without one. */
async function outcomeOf(responseCode: number | undefined) {
  const senders = createSenders({
    clock: systemClock,
    mailer: {
      send: async () => {
        throw new Error('rejected', { cause: { responseCode } });
      },
    },
  } as unknown as Parameters<typeof createSenders>[0]);
  const body = JSON.stringify({ subject: 'Alert', text: 'Text' });
  const delivery = { target: 'ann@example.org', body } as Parameters<typeof senders.email>[0];
  return senders.email(delivery);
}

it.each([
  [500, 'REFUSED'],
  [554, 'REFUSED'],
  [499, 'RETRY'],
  [421, 'RETRY'],
] as const)('an email that the server answers with %i is %s', async (code, kind) => {
  expect(await outcomeOf(code)).toMatchObject({
    kind,
    responseStatus: code,
    error: `The mail server answered ${code}.`,
  });
});

it('an email that the server rejects without a code is sent again', async () => {
  expect(await outcomeOf(undefined)).toMatchObject({
    kind: 'RETRY',
    responseStatus: null,
    error: 'The mail server rejected the email.',
  });
});

/** Posts to a receiver whose connection fails. */
async function faultOf(fault: unknown) {
  const agent = () => ({
    dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) =>
      handler.onResponseError?.(null as never, fault as Error),
  });
  const channels = { signingSecrets: () => [] };
  const policy = { trustedHosts: new Set(['hooks.example.org']) };
  const senders = createSenders({ clock: systemClock, agent, channels, policy } as unknown as Parameters<
    typeof createSenders
  >[0]);
  const delivery = { id: '1', accountId: 'a', body: '{}', target: 'https://hooks.example.org/' };
  return senders.webhook(delivery as Parameters<typeof senders.webhook>[0]);
}
const withCode = (code: string) => Object.assign(new Error('at 10.0.0.1'), { code });
const named = (name: string) => Object.assign(new Error('at 10.0.0.1'), { name });

it.each([
  [withCode('UND_ERR_HEADERS_TIMEOUT'), 'No answer in time.'],
  [withCode('UND_ERR_BODY_TIMEOUT'), 'No answer in time.'],
  [withCode('ABORT_ERR'), 'No answer in time.'],
  [named('TimeoutError'), 'No answer in time.'],
  [named('AbortError'), 'No answer in time.'],
  [withCode('UND_ERR_CONNECT_TIMEOUT'), 'No connection in time.'],
  [withCode('ECONNREFUSED'), 'The connection failed (ECONNREFUSED).'],
  [new Error('10.0.0.1 is not public'), 'The host resolves to an address that is not public.'],
  [named('SocketError'), 'The connection failed.'],
  [{ name: 'TimeoutError' }, 'The connection failed.'],
  [null, 'The connection failed.'],
])('a request that fails with %s is sent again, and the log does not say where to', async (fault, error) => {
  expect(await faultOf(fault)).toEqual({ kind: 'RETRY', responseStatus: null, error, retryAfterMs: null });
});

afterEach(() => void vi.useRealTimers());

it('a request that has no connection when its time is over is never sent', async () => {
  vi.useFakeTimers();
  const handlers: Dispatcher.DispatchHandler[] = [];
  const agent = () => ({
    dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler),
  });
  const senders = createSenders({
    clock: systemClock,
    agent,
    channels: { signingSecrets: () => [] },
    policy: { trustedHosts: new Set() },
  } as unknown as Parameters<typeof createSenders>[0]);
  const delivery = { id: '1', accountId: 'a', body: '{}', target: 'https://hooks.example.org/' };
  const outcome = senders.webhook(delivery as Parameters<typeof senders.webhook>[0]);
  await vi.advanceTimersByTimeAsync(DELIVERY_LIMITS.deliveryTimeoutMs);
  expect(await outcome).toMatchObject({ kind: 'RETRY', error: 'No answer in time.' });
  const abort = vi.fn();
  handlers[0]?.onRequestStart?.({ abort } as never, {});
  expect(abort).toHaveBeenCalledOnce();
});

it('keeps the checked URLs of a limited number of receivers', () => {
  const targetOf = createReceiverTargets({ trustedHosts: new Set(['inside']) });
  const first = targetOf('https://hooks.example.org/a?b=c');
  expect(first).toEqual({ origin: 'https://hooks.example.org', path: '/a?b=c' });
  expect(targetOf('https://hooks.example.org/a?b=c')).toBe(first);
  expect(targetOf('http://inside/x')).toEqual({ origin: 'http://inside', path: '/x' });
  for (const url of ['http://hooks.example.org/', 'https://10.0.0.1/', 'https://localhost/', 'nothing'])
    expect([targetOf(url), targetOf(url)]).toEqual([null, null]);
  for (let n = 0; n < DELIVERY_LIMITS.receiverTargetsKept; n++) targetOf(`https://hooks.example.org/${n}`);
  expect(targetOf('https://hooks.example.org/a?b=c')).not.toBe(first);
});
