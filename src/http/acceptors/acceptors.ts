/**
 * The HTTP server of several threads. Each acceptor is a thread with uWebSockets.js that listens on the same port; the system spreads the
 * connections over them. This thread answers the requests that they pass on. Why: docs/decisions/acceptors.md.
 */
import { Worker } from 'node:worker_threads';
import { AssayError, errorFromData, errorToData, messageOf } from '../../base/errors.ts';
import { whenEnded } from '../../base/threads.ts';
import { asStorageFull } from '../../state/storage.ts';
import type { Acceptors } from '../ports.ts';
import { type OwnPort, reservePort } from '../server/own-port.ts';
import {
  type Handler,
  type HttpServer,
  SERVER_COUNTS,
  type ServerDeps,
  type ServerOptions,
} from '../server/port.ts';
import { Outbox, type RouteBody, type ToAcceptor, type ToMain } from './messages.ts';
import { RemoteExchange } from './remote-exchange.ts';
import type { AcceptorData } from './thread.ts';

/** How the threads are started, and what they need. */
export interface AcceptorSettings extends Omit<Acceptors, 'stores'> {
  /** Bodies of the routes. */
  readonly bodies: readonly RouteBody[];
  /** Data of the thread with this number for the operations that it answers itself; null if it answers none. */
  readonly hotData: (thread: number) => object | null;
}

/** A thread that does not end after its connections were closed is left behind after this time. */
const END_MS = 5_000;

/** Memory of the counts of a thread. They are in its middle, so that no two threads write to one line of a processor's cache. */
const COUNTS_BYTES = 256;

/** One acceptor, and the requests that it has passed on. */
class Acceptor {
  readonly counts = new Int32Array(
    new SharedArrayBuffer(COUNTS_BYTES),
    COUNTS_BYTES / 2,
    SERVER_COUNTS.length,
  );
  readonly #worker: Worker;
  readonly #outbox: Outbox<ToAcceptor>;
  readonly #settings: AcceptorSettings;
  readonly #deps: ServerDeps;
  readonly #requests = new Map<number, RemoteExchange>();
  readonly #ended: Promise<void>;
  #listening: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | null = null;
  #isClosing = false;
  #hasFailed = false;

  constructor(thread: number, options: ServerOptions, settings: AcceptorSettings, deps: ServerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const { host, tls, uploads, connectionsMax } = options;
    // The system spreads connections evenly.
    const share =
      connectionsMax === undefined ? {} : { connectionsMax: Math.ceil(connectionsMax / settings.count) };
    const data: AcceptorData & { readonly hot: object | null } = {
      server: { host, tls, counts: this.counts, ...share, ...(uploads === undefined ? {} : { uploads }) },
      streams: deps.streams ?? [],
      bodies: settings.bodies,
      hot: settings.hotData(thread),
    };
    this.#worker = new Worker(settings.worker, { workerData: data, name: `acceptor ${thread}` });
    this.#outbox = new Outbox(this.#worker);
    this.#worker.on('message', (messages: readonly ToMain[]) => {
      for (const message of messages)
        try {
          this.#receive(message);
        } catch (error) {
          // The rest of the batch belongs to other requests.
          deps.log.error({ err: error, kind: message.kind }, 'message of an acceptor failed');
        }
    });
    this.#worker.on('error', (error) => this.#failed(error));
    this.#ended = whenEnded(this.#worker);
    void this.#ended.then(() => {
      if (!this.#isClosing) this.#failed(new Error('an acceptor thread ended'));
    });
  }

  /** Resolves when the thread listens. */
  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#listening = { resolve, reject };
      this.#outbox.send({ kind: 'listen', port });
    });
  }

  /** The thread logs an error itself, and keeps the earlier certificate. */
  reloadCertificate(): void {
    this.#outbox.send({ kind: 'reload certificate' });
  }

  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#outbox.send({ kind: 'close', withinMs });
    let late: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => {
      late = setTimeout(resolve, withinMs + END_MS);
    });
    await Promise.race([this.#ended, isLate]);
    clearTimeout(late);
  }

  /** Its connections would be lost without a word: a thread that fails stops the server, as a failure of the main thread does. */
  #failed(error: unknown): void {
    // The end of the thread follows its error.
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const listening = this.#listening;
    this.#listening = null;
    if (listening !== null) listening.reject(error);
    else if (this.#isClosing) this.#deps.log.error({ reason: messageOf(error) }, 'acceptor thread failed');
    else
      setImmediate(() => {
        throw error;
      });
  }

  #receive(message: ToMain): void {
    switch (message.kind) {
      case 'listening':
        this.#listening?.resolve();
        this.#listening = null;
        return;
      case 'failed':
        this.#failed(errorFromData(message.error));
        return;
      case 'request':
        this.#handle(message);
        return;
      case 'refused':
        this.#refuse(message);
        return;
      case 'admit':
        // After this turn, in which keys and plans may have been read before the message arrived.
        setImmediate(() => void this.#admit(message));
        return;
      case 'lease':
        this.#settings.counting?.sharing?.leaseMore(message.accountId, message.meter);
        return;
      case 'give':
        this.#settings.counting?.quota.give(message.accountId, message.meter, message.units);
        return;
      case 'uncount':
        void this.#settings.counting?.gate.uncount(message.subject, message.rateClass, message.second);
        return;
      default:
        this.#requests.get(message.id)?.receive(message);
    }
  }

  #handle({ id, head }: Extract<ToMain, { readonly kind: 'request' }>): void {
    const { router, fallback, log } = this.#deps;
    const exchange = new RemoteExchange(
      id,
      head,
      (message) => this.#outbox.send(message),
      () => this.#requests.delete(id),
    );
    this.#requests.set(id, exchange);
    try {
      const handler: Handler = router.match(head.method, head.path, exchange.params) ?? fallback;
      handler(exchange);
    } catch (error) {
      log.error({ err: error, path: head.path }, 'request handler threw');
      exchange.drop();
    }
  }

  #refuse({ id, request }: Extract<ToMain, { readonly kind: 'refused' }>): void {
    const { status, headers, body } = this.#deps.refuse(request);
    this.#outbox.send({ kind: 'reply', id, status, headers, body });
  }

  async #admit({ id, request, monotonicMs }: Extract<ToMain, { readonly kind: 'admit' }>): Promise<void> {
    const { counting } = this.#settings;
    try {
      if (counting?.sharing == null) throw new Error('This server counts in no shared memory.');
      const { refused, ...admission } = await counting.gate.admit(request, monotonicMs);
      const result = {
        admission: { ...admission, refused: refused === null ? null : errorToData(refused) },
        counts: counting.sharing.share(request),
      };
      this.#outbox.send({ kind: 'admitted', id, result });
    } catch (thrown) {
      // The thread knows only the error's data, so its cause is logged here.
      const error = asStorageFull(thrown, 'The disk');
      if (!(error instanceof AssayError)) this.#deps.log.error({ err: error }, 'admission failed');
      this.#outbox.send({ kind: 'admitted', id, result: errorToData(error) });
    }
  }
}

/** Creates the server of several threads. It needs Linux, which spreads the connections of a port over its listeners. */
export function createAcceptorServer(
  options: ServerOptions,
  settings: AcceptorSettings,
  deps: ServerDeps,
): HttpServer {
  const acceptors: Acceptor[] = [];
  let own: OwnPort | null = null;
  const sum = (at: number): number =>
    acceptors.reduce((total, { counts }) => total + Atomics.load(counts, at), 0);

  return {
    backend: 'uws',
    openSockets: () => sum(SERVER_COUNTS.openSockets),
    refusedSockets: () => sum(SERVER_COUNTS.refusedSockets),
    pending: () => sum(SERVER_COUNTS.pending),
    async listen() {
      own = await reservePort(options.host, options.port);
      const { port } = own;
      for (let thread = 0; thread < settings.count; thread++)
        acceptors.push(new Acceptor(thread, options, settings, deps));
      await Promise.all(acceptors.map((acceptor) => acceptor.listen(port)));
      return port;
    },
    async reloadCertificate() {
      for (const acceptor of acceptors) acceptor.reloadCertificate();
    },
    async close(withinMs) {
      await Promise.all(acceptors.map((acceptor) => acceptor.close(withinMs)));
      await own?.release();
    },
  };
}
