import { expect, it } from 'vitest';
import { Forwarder } from '../../src/http/acceptors/forwarder.ts';
import { Outbox, type ToMain } from '../../src/http/acceptors/messages.ts';
import { RemoteExchange } from '../../src/http/acceptors/remote-exchange.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { BodyBudget, type BodyShare } from '../../src/http/server/body-budget.ts';
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

it('says that there is no room for a body if its key sends too many at once', () => {
  const messages: ToMain[] = [];
  const outbox = new Outbox<ToMain>({ postMessage: (batch) => void messages.push(...batch) });
  const bytesMax = HTTP_LIMITS.bodyBytesMax;
  const forwarder = new Forwarder([{ method: 'POST', pattern: '/a', kind: 'whole', bytesMax }], outbox);
  const begin = (key: string): { onBody: (body: Uint8Array | null) => void; share: BodyShare } => {
    let begun: ReturnType<typeof begin> | undefined;
    const exchange = {
      ...{ method: 'POST', path: '/a', params: [], query: () => '', keep: () => {}, onGone: () => {} },
      ...{ keptHeaders: () => new Map([['authorization', key]]), remoteAddress: () => '127.0.0.1' },
      readBody: (_: number, onBody: (body: Uint8Array | null) => void, share: BodyShare) => {
        begun = { onBody, share };
      },
    };
    forwarder.handler(exchange as unknown as ForwardableExchange);
    if (begun === undefined) throw new Error('The body was not asked for.');
    return begun;
  };
  while (begin('Bearer a').share.take(bytesMax));
  const { share, onBody } = begin('Bearer a');
  expect(share.take(bytesMax)).toBe(false);
  onBody(null);
  expect(begin('Bearer b').share.take(bytesMax)).toBe(true);
  outbox.flush();
  expect(messages.at(-2)).toMatchObject({ kind: 'body', bytes: null, hasNoRoom: true });
});

it('counts a body that was passed on, and knows that there was no room for one', () => {
  const budget = new BodyBudget();
  const head = { method: 'POST', path: '/a', query: '', headers: new Map(), remoteAddress: '127.0.0.1' };
  const read = (bytes: Uint8Array | null, hasNoRoom: boolean) => {
    const exchange = new RemoteExchange(
      1,
      head,
      () => {},
      () => {},
    );
    const share = budget.share('me', 1_000);
    const bodies: (Uint8Array | null)[] = [];
    exchange.readBody(1_000, (body) => bodies.push(body), share);
    exchange.receive({ kind: 'body', id: 1, bytes, hasNoRoom });
    return { exchange, share, body: bodies[0] };
  };
  const first = read(new Uint8Array(600), false);
  expect(first.body?.length).toBe(600);
  const second = read(new Uint8Array(600), false);
  expect([second.body, second.share.isRefused]).toEqual([null, true]);
  const third = read(null, true);
  expect([third.body, third.share.isRefused]).toEqual([null, true]);
  first.exchange.reply(200, 'Content-Type: text/plain', '');
  expect(budget.held).toBe(0);
});
