/** A stream ends with the key or the session that opened it: with each right that is taken away, and with nothing else. */
import { describe, expect, it } from 'vitest';
import type { Permission } from '../../src/accounts/keys.ts';
import type { Call, Services } from '../../src/http/operation.ts';
import { guarded } from '../../src/http/operations/support/streams.ts';
import type { StreamEvent, StreamSink } from '../../src/monitoring/stream.ts';

const EVENT: StreamEvent = { id: '7', event: 'alert', data: '{}' } as unknown as StreamEvent;

function world(token: string | null, permission: Permission | 'any') {
  const state = {
    key: { status: 'ACTIVE', permissions: ['monitoring'] } as {
      status: string;
      permissions: string[];
    } | null,
    isDisabled: false,
    session: token === null ? null : {},
  };
  const sent: StreamEvent[] = [];
  const closed: string[] = [];
  const sink: StreamSink = {
    waitingBytes: 12,
    send: (event) => sent.push(event) < 3,
    close: (reason) => void closed.push(reason),
  };
  const services = {
    access: {
      keys: {
        get: (id: string) => (id === 'key_ann' ? state.key : null),
        isDisabled: (accountId: string) => accountId === 'acc' && state.isDisabled,
      },
      people: () => ({ session: (text: string) => (text === token ? state.session : null) }),
    },
  } as unknown as Services;
  const caller = { id: token === null ? 'key_ann' : 'session', accountId: 'acc' };
  const call = { caller, principal: token === null ? null : { token } } as unknown as Call;
  return { state, sent, closed, stream: guarded(services, call, sink, permission) };
}

describe('a stream of a key', () => {
  it('passes on what the reader says, and how much waits for it', () => {
    const { stream, sent, closed } = world(null, 'monitoring');
    expect([stream.send(EVENT), stream.send(EVENT), stream.send(EVENT)]).toEqual([true, true, false]);
    expect([sent, stream.waitingBytes, closed]).toEqual([[EVENT, EVENT, EVENT], 12, []]);
    stream.close('The server stops.');
    expect(closed).toEqual(['The server stops.']);
  });

  it.each<[string, (state: ReturnType<typeof world>['state']) => void]>([
    ['the key is revoked', ({ key }) => Object.assign(key ?? {}, { status: 'REVOKED' })],
    ['the key is gone', (state) => Object.assign(state, { key: null })],
    ['the key loses the permission', ({ key }) => Object.assign(key ?? {}, { permissions: ['kyt'] })],
    ['the account is disabled', (state) => Object.assign(state, { isDisabled: true })],
  ])('ends before the next event if %s', (_, change) => {
    const { stream, sent, closed, state } = world(null, 'monitoring');
    expect(stream.send(EVENT)).toBe(true);
    change(state);
    expect(stream.send(EVENT)).toBe(false);
    expect([sent, closed]).toEqual([[EVENT], ['The key of this stream is not valid any more.']]);
  });

  it('ends without an event if it is asked whether it may be read', () => {
    const { stream, closed, state } = world(null, 'monitoring');
    expect([stream.mayRead?.(), closed]).toEqual([true, []]);
    state.isDisabled = true;
    expect([stream.mayRead?.(), closed]).toEqual([false, ['The key of this stream is not valid any more.']]);
  });

  it('needs no permission if any key may read it, but an active key', () => {
    const { stream, state } = world(null, 'any');
    state.key = { status: 'ACTIVE', permissions: [] };
    expect(stream.send(EVENT)).toBe(true);
    state.key = { status: 'EXPIRED', permissions: ['monitoring'] };
    expect(stream.send(EVENT)).toBe(false);
  });
});

describe('a stream of a session', () => {
  it('needs no key, and ends before the next event when the session has ended', () => {
    const { stream, sent, closed, state } = world('token', 'monitoring');
    state.key = null;
    expect(stream.send(EVENT)).toBe(true);
    state.session = null;
    expect(stream.send(EVENT)).toBe(false);
    expect([sent, closed]).toEqual([[EVENT], ['The session of this stream is not valid any more.']]);
  });
});
