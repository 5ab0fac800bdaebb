/** The operations about the service itself: probes, metrics, documents. None asks for a key. */
import { isoTime } from '../../base/clock.ts';
import type { HttpMetrics } from '../metrics.ts';
import type { Page, Work } from '../pipeline.ts';
import type { HttpDeps } from '../ports.ts';
import { oneOf, queryValue } from '../query.ts';

/** What a prober may ask `/ready` for. Reads are all that is asked without it. */
export const READY_FOR = ['reads', 'writes'] as const;

const json = (status: number, value: unknown): Page => ({
  status,
  contentType: 'application/json',
  lines: '\r\nCache-Control: no-store',
  body: JSON.stringify(value),
});

export function healthWork(deps: Pick<HttpDeps, 'clock'>): Work {
  return {
    kind: 'page',
    answer: () => json(200, { success: true, status: 'ok', ts: isoTime(deps.clock.now()) }),
  };
}

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

export function metricsWork(metrics: HttpMetrics): Work {
  return {
    kind: 'page',
    answer: async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.scrape() }),
  };
}

/** A document that never changes while the process lives. */
export function documentWork(contentType: string, document: string, lines = ''): Work {
  const page: Page = {
    status: 200,
    contentType,
    lines: `\r\nCache-Control: max-age=300${lines}`,
    body: Buffer.from(document),
  };
  return { kind: 'page', answer: () => page };
}
