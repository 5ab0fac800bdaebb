/** The operations that an acceptor answers itself: the oracle, and labels of many addresses. Both come from mapped files alone. */
import { ThreadGate } from '../../accounts/gate-thread.ts';
import type { KeyRecord, KeyStore } from '../../accounts/keys.ts';
import type { RateClass } from '../../accounts/plans.ts';
import type { SharedCounterMemory } from '../../accounts/shared-counters.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { BulkQuery } from '../../screening/bulk.ts';
import type { OracleWriter } from '../../screening/oracle-writer.ts';
import type { Operation, Services } from '../operation.ts';
import { oracle } from '../operations/oracle.ts';
import { screenBulk } from '../operations/screen-bulk.ts';
import { tokenOf } from '../pipeline/admit.ts';
import { type HttpMetrics, RequestCounts } from '../pipeline/metrics.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import { createRequestIds } from '../pipeline/request-id.ts';
import type { CallerAccess } from '../ports.ts';
import { patternsOf } from '../routes.ts';
import { createClientOrigin } from '../server/client-origin.ts';
import type { Handler } from '../server/port.ts';
import type { RouteEntry } from '../server/router.ts';
import type { OpenHotRoutes } from './thread.ts';

/** The operations, by their ids. Their responses are the same on every thread. */
export const HOT_OPERATIONS: readonly Operation[] = [oracle, screenBulk];

/** Settings with which a thread answers as the main thread does. */
export interface HotSettings {
  readonly publicHost: string | null;
  readonly trustedProxies: readonly string[];
  readonly isTls: boolean;
  /** Rows of the hot operations in the metrics, by id, and the number of all rows. */
  readonly rows: Readonly<Record<string, number>>;
  readonly rowCount: number;
  /** Memory of the counts of this thread. */
  readonly metrics: SharedArrayBuffer;
  readonly counters: SharedCounterMemory;
}

export interface HotDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly keys: KeyStore;
  readonly rateOf: (subject: string, rateClass: RateClass) => number;
  readonly oracle: OracleWriter;
  readonly bulk: BulkQuery;
  /** Called before each request: makes a newer snapshot current. */
  readonly refresh: () => void;
}

/** A service that no hot operation uses. */
const elsewhere = (): never => {
  throw new Error('This service is on the main thread.');
};

/** Creates the handlers of the hot operations, without the end of their stores. */
export function createHotRoutes(
  settings: HotSettings,
  deps: HotDeps,
  { main, forward }: Parameters<OpenHotRoutes>[0],
): readonly RouteEntry<Handler>[] {
  const { clock, random, log, keys, rateOf, refresh } = deps;
  const counts = new RequestCounts(settings.rowCount, settings.metrics);
  const gate = new ThreadGate({
    ...{ clock, main, rateOf },
    memory: settings.counters,
    generation: () => keys.generation(),
  });
  const metrics: HttpMetrics = { record: counts.record, contentType: '', scrape: elsewhere };
  /** The key of the request that is being handled: it is verified before the pipeline begins. */
  let verified: { readonly token: string; readonly record: KeyRecord } | null = null;
  const access: CallerAccess = {
    verify: (token) => (verified?.token === token ? verified.record : keys.verify(token)),
    gate,
    quota: {
      take: elsewhere,
      give: (...units) => gate.give(...units),
      settle: elsewhere,
      used: elsewhere,
      monthUse: elsewhere,
      close: elsewhere,
    },
    planOf: elsewhere,
    ledger: elsewhere,
    keys,
    people: elsewhere,
    audit: elsewhere,
  };
  const { publicHost, trustedProxies, isTls } = settings;
  const pipeline = createPipeline(
    { publicHost },
    {
      ...{ clock, log, access, metrics },
      requestIdFor: createRequestIds(random),
      origin: createClientOrigin({ trustedProxies, tls: isTls }),
    },
  );
  const useCases = { oracle: deps.oracle, bulk: async (body: Uint8Array) => deps.bulk(body) };
  // The hot operations use nothing else; a request that needs more is forwarded.
  const services = { clock, log, access, metrics, useCases } as unknown as Services;

  return HOT_OPERATIONS.flatMap((operation) => {
    const row = settings.rows[operation.id] as number;
    const answer = operation.bind(services, (work) => pipeline.handlerFor(operation, row, work));
    const value: Handler = (exchange) => {
      const token = tokenOf(exchange.header('authorization'));
      let record: ReturnType<typeof keys.verify> = null;
      try {
        if (token !== '' && exchange.query() === '') record = keys.verify(token);
        refresh();
      } catch (error) {
        // The main thread answers, or says why not.
        log.error({ err: error }, 'acceptor could not read its stores');
        record = null;
      }
      // Sessions, invalid keys, receipts and unknown parameters are for the main thread.
      if (record === null || record.receipts !== 'none') {
        forward(exchange);
        return;
      }
      verified = { token, record };
      try {
        answer(exchange);
      } finally {
        verified = null;
      }
    };
    const { method } = operation;
    return patternsOf(operation).map((pattern) => ({ method, pattern, value }));
  });
}
