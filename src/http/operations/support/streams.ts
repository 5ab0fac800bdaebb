/** Parts of the operations that answer with a stream of events. */
import { Type } from 'typebox';
import type { Permission } from '../../../accounts/keys.ts';
import type { StreamEvent, StreamSink } from '../../../monitoring/stream.ts';
import { type Call, callerOf, type Services } from '../../operation.ts';

/** Position in a stream. Empty: from now on. */
export const EventId = Type.String({
  pattern: '^\\d{0,15}$',
  description: 'the id of an event of this stream',
});

/**
 * Returns a sink that checks the key or session before each event: a stream outlives the check of its request, and a revoked key gets no
 * more events.
 *
 * @param permission - what a key needs; `any`: a key that is active
 */
export function guarded(
  services: Services,
  call: Call,
  stream: StreamSink,
  permission: Permission | 'any',
): StreamSink {
  const { id: keyId, accountId } = callerOf(call);
  const { keys } = services.access;
  const token = call.principal?.token ?? '';
  const isValid = (): boolean => {
    if (token !== '') return services.access.people().session(token) !== null;
    const key = keys.get(keyId);
    const isAllowed = permission === 'any' || key?.permissions.includes(permission) === true;
    return key?.status === 'ACTIVE' && isAllowed && !keys.isDisabled(accountId);
  };
  const mayRead = (): boolean => {
    if (isValid()) return true;
    stream.close(`The ${token === '' ? 'key' : 'session'} of this stream is not valid any more.`);
    return false;
  };
  return {
    mayRead,
    send: (event: StreamEvent): boolean => mayRead() && stream.send(event),
    get waitingBytes() {
      return stream.waitingBytes;
    },
    close: (reason: string) => stream.close(reason),
  };
}
