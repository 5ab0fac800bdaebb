import { expect, it } from 'vitest';
import { Forwarder } from '../../src/http/acceptors/forwarder.ts';
import { Outbox, type ToMain } from '../../src/http/acceptors/messages.ts';
import type { BodyReceiver, ForwardableExchange } from '../../src/http/server/port.ts';

/** A forwarder with a body in pieces at POST /upload, and what it sends. */
function upload(): { receiver: BodyReceiver; leave: () => void; sent: () => ToMain[] } {
  const messages: ToMain[] = [];
  const outbox = new Outbox<ToMain>({ postMessage: (batch) => void messages.push(...batch) });
  const forwarder = new Forwarder(
    [{ method: 'POST', pattern: '/upload', kind: 'pieces', bytesMax: 1_000 }],
    outbox,
  );
  let receiver: BodyReceiver | null = null;
  let leave = (): void => {};
  const exchange = {
    ...{ method: 'POST', path: '/upload', params: [], query: () => '', keep: () => {} },
    ...{ keptHeaders: () => new Map(), remoteAddress: () => '127.0.0.1', isGone: false },
    onGone: (listener: () => void) => {
      leave = listener;
    },
    receiveBody: (_: number, given: BodyReceiver) => {
      receiver = given;
    },
  };
  forwarder.handler(exchange as unknown as ForwardableExchange);
  if (receiver === null) throw new Error('The body was not asked for.');
  return {
    receiver,
    leave: () => leave(),
    sent: () => {
      outbox.flush();
      return messages;
    },
  };
}

it('says that an upload is not whole if pieces were dropped because the client left', async () => {
  const { receiver, leave, sent } = upload();
  const first = receiver.write(new Uint8Array([1]));
  leave();
  await first;
  // The rest had arrived with the first piece, so the server goes on to the end.
  await receiver.write(new Uint8Array([2]));
  receiver.end('whole');
  expect(sent().map((message) => message.kind)).toEqual(['request', 'piece', 'gone', 'ended']);
  expect(sent().at(-1)).toMatchObject({ kind: 'ended', how: 'gone' });
});

it('says that an upload is whole if the client stayed', () => {
  const { receiver, sent } = upload();
  void receiver.write(new Uint8Array([1]));
  receiver.end('whole');
  expect(sent().at(-1)).toMatchObject({ kind: 'ended', how: 'whole' });
});
