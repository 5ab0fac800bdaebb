/** An acceptor: a thread with connections of its own. It answers the hot operations itself, and passes other requests on. */

import type { MainCounting } from '../../accounts/gate-thread.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { type ErrorData, errorFromData, errorToData } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { endBehind } from '../../base/threads.ts';
import type { Handler, HttpServer, ServerOptions } from '../server/port.ts';
import { createRouter, type RouteEntry } from '../server/router.ts';
import { createUwsServer } from '../server/uws.ts';
import { Forwarder } from './forwarder.ts';
import { type AdmissionData, Outbox, type RouteBody, type ToAcceptor, type ToMain } from './messages.ts';

/** Data of an acceptor that does not depend on what it answers itself. */
export interface AcceptorData {
  readonly server: Omit<ServerOptions, 'port' | 'isPortShared'>;
  readonly streams: readonly string[];
  readonly bodies: readonly RouteBody[];
}

/** The operations that an acceptor answers itself. */
export interface HotRoutes {
  readonly routes: readonly RouteEntry<Handler>[];
  /** Closes what the thread writes to. Mapped stores end with the thread. */
  close(): Promise<void>;
}

/** Opens the stores of the hot operations. `forward` passes a request on that the thread cannot answer after all. */
export type OpenHotRoutes = (deps: {
  readonly main: MainCounting;
  readonly forward: Handler;
}) => Awaitable<HotRoutes>;

interface AcceptorPort {
  postMessage(messages: readonly ToMain[]): void;
  on(event: 'message', listener: (messages: readonly ToAcceptor[]) => void): unknown;
  close(): void;
}

type Admitted = Awaited<ReturnType<MainCounting['admit']>>;

/** The main thread's counting, by messages. */
class CountingByMessages implements MainCounting {
  readonly #outbox: Outbox<ToMain>;
  readonly #waiting = new Map<
    number,
    { readonly resolve: (admitted: Admitted) => void; readonly reject: (error: unknown) => void }
  >();
  #last = 0;

  constructor(outbox: Outbox<ToMain>) {
    this.#outbox = outbox;
  }

  admit(...[request, monotonicMs]: Parameters<MainCounting['admit']>): Promise<Admitted> {
    return new Promise((resolve, reject) => {
      const id = ++this.#last;
      this.#waiting.set(id, { resolve, reject });
      this.#outbox.send({ kind: 'admit', id, request, monotonicMs });
    });
  }

  leaseMore(...[accountId, meter]: Parameters<MainCounting['leaseMore']>): void {
    this.#outbox.send({ kind: 'lease', accountId, meter });
  }

  give(...[accountId, meter, units]: Parameters<MainCounting['give']>): void {
    this.#outbox.send({ kind: 'give', accountId, meter, units });
  }

  uncount(...[subject, rateClass, second]: Parameters<MainCounting['uncount']>): void {
    this.#outbox.send({ kind: 'uncount', subject, rateClass, second });
  }

  admitted({ id, result }: Extract<ToAcceptor, { readonly kind: 'admitted' }>): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if ('admission' in result)
      waiting?.resolve({ admission: admissionFromData(result.admission), counts: result.counts });
    else waiting?.reject(errorFromData(result));
  }
}

const admissionFromData = ({ refused, ...admission }: AdmissionData): Admitted['admission'] => ({
  ...admission,
  refused: refused === null ? null : errorFromData(refused),
});

/**
 * Runs an acceptor until the main thread closes it.
 *
 * @param openHot - null if the thread answers nothing itself
 */
export function runAcceptor(
  data: AcceptorData,
  { port, log, openHot }: { port: AcceptorPort; log: Logger; openHot: OpenHotRoutes | null },
): void {
  const outbox = new Outbox<ToMain>(port);
  const forwarder = new Forwarder(data.bodies, outbox);
  const main = new CountingByMessages(outbox);
  let hot: HotRoutes | null = null;
  let server: HttpServer | null = null;

  const failed = (error: unknown): void => {
    // Only the message of an error of ours reaches the main thread.
    log.error({ err: error }, 'acceptor thread failed');
    const sent: ErrorData = errorToData(error);
    outbox.send({ kind: 'failed', error: sent });
    outbox.flush();
  };
  // An error that nothing handles ends the thread without closing its sockets, which would abort the process: the main thread stops
  // the server in order instead.
  process.on('uncaughtException', failed);
  process.on('unhandledRejection', failed);

  async function listen(onPort: number): Promise<void> {
    hot = (await openHot?.({ main, forward: forwarder.handler })) ?? null;
    server = createUwsServer(
      { ...data.server, port: onPort, isPortShared: true },
      {
        router: createRouter(hot?.routes ?? []),
        fallback: forwarder.handler,
        refuse: () => {
          throw new Error('An acceptor passes refused requests on.');
        },
        refuseLater: (request, exchange) => forwarder.refused(request, exchange),
        streams: data.streams,
        log,
      },
    );
    await server.listen();
    outbox.send({ kind: 'listening' });
  }

  async function close(withinMs: number): Promise<void> {
    await server?.close(withinMs);
    await hot?.close();
    outbox.flush();
    endBehind(port as never);
  }

  port.on('message', (messages) => {
    for (const message of messages) {
      switch (message.kind) {
        case 'listen':
          listen(message.port).catch(failed);
          break;
        case 'reload certificate':
          server
            ?.reloadCertificate()
            .catch((error: unknown) =>
              log.error({ err: error }, 'acceptor keeps the earlier TLS certificate'),
            );
          break;
        case 'close':
          close(message.withinMs).catch(failed);
          break;
        case 'admitted':
          main.admitted(message);
          break;
        default:
          forwarder.receive(message);
      }
    }
  });
}
