/** Operations of the service itself: probes, metrics, documents. None of them requires a key. */
import { isoTime } from '../../base/clock.ts';
import type { HttpMetrics } from '../pipeline/metrics.ts';
import { oneOf, queryValue } from '../pipeline/query.ts';
import type { Page, Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

/** Values of the `for` parameter of `/ready`. Default: `reads`. */
export const READY_FOR = ['reads', 'writes'] as const;

const json = (status: number, value: unknown): Page => ({
  status,
  contentType: 'application/json',
  lines: '\r\nCache-Control: no-store',
  body: JSON.stringify(value),
});

/** Handles `GET /health`. */
export function healthWork(deps: Pick<HttpDeps, 'clock'>): Work {
  return {
    kind: 'page',
    answer: () => json(200, { success: true, status: 'ok', ts: isoTime(deps.clock.now()) }),
  };
}

/** Handles `GET /ready`. */
export function readyWork(deps: Pick<HttpDeps, 'readiness'>): Work {
  return {
    kind: 'page',
    answer: (call) => {
      const wanted = queryValue(call.exchange.query(), 'for');
      const forWrites = wanted !== undefined && oneOf('for', wanted, READY_FOR) === 'writes';
      const data = deps.readiness();
      if (data.ready && forWrites && data.degraded !== undefined) {
        const reasons = data.degraded.map(({ reason }) => reason);
        return json(503, { error: `Not ready for writes: ${reasons.join(' ')}`, data });
      }
      if (data.ready) return json(200, { success: true, data });
      return json(503, { error: `Not ready: ${data.reasons.join(' ')}`, data });
    },
  };
}

/** Handles `GET /metrics`. */
export function metricsWork(metrics: HttpMetrics): Work {
  return {
    kind: 'page',
    answer: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.scrape() }),
  };
}

/**
 * Serves a document that does not change during the life of the process.
 *
 * @param lines - additional header lines, each preceded by its line break
 */
export function documentWork(contentType: string, document: string, lines = ''): Work {
  const page: Page = {
    status: 200,
    contentType,
    lines: `\r\nCache-Control: max-age=300${lines}`,
    body: Buffer.from(document),
  };
  return { kind: 'page', answer: () => page };
}
