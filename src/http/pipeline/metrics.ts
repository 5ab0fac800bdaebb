/**
 * HTTP metrics for Prometheus. A request only adds to plain arrays, and the scrape converts them, so that counting adds no
 * measurable cost to a request.
 */
import { createRequire } from 'node:module';
import type { MetricValue, Gauge as PromGauge, Registry } from 'prom-client';
import { processMemory } from '../../base/process-memory.ts';
import type { Gauge } from '../ports.ts';

/** Returns the library of the metrics. It is loaded at the first scrape, because few servers of a short life are scraped. */
const promClient = (): typeof import('prom-client') => createRequire(import.meta.url)('prom-client');

/** Upper bounds in seconds: label look-ups take microseconds, a screening milliseconds, a full queue a second. */
const BUCKETS_SECONDS = [0.00005, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.05, 0.25, 1, 5] as const;
const BUCKETS_MS = BUCKETS_SECONDS.map((seconds) => seconds * 1000);

/** Status that is recorded if the client disconnected before its response. */
export const CLIENT_GONE = 0;

/** Statuses with their own count: all that this program sends. Any other status is counted as the last one. */
const STATUSES = [
  CLIENT_GONE,
  200,
  202,
  206,
  301,
  304,
  400,
  401,
  402,
  403,
  404,
  405,
  406,
  429,
  503,
  500,
] as const;
const statusSlot = new Map<number, number>(STATUSES.map((status, slot) => [status, slot]));

export interface HttpMetrics {
  /**
   * Counts one answered request.
   *
   * @param route - position of the route in the table
   */
  record(route: number, status: number, durationMs: number): void;
  readonly contentType: string;
  /** Returns the text of `/metrics`, of a later turn of the event loop. All requests of one turn share it. */
  scrape(): Promise<string>;
}

interface Series {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  readonly values: () => MetricValue<string>[];
}

/** Registers values that are kept elsewhere. The counters of prom-client can only be incremented, one call each. */
function register(registry: Registry, series: Series): void {
  const { name, help, type, values } = series;
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    reset: () => {},
    get: async () => ({ name, help, type, aggregator: 'sum', values: values() }),
  };
  registry.registerMetric(metric as unknown as PromGauge);
}

function memoryByKind(): ReadonlyMap<string, number> {
  const memory = processMemory();
  if (memory === null) return new Map();
  return new Map([
    ['own', memory.ownBytes],
    ['mapped', memory.mappedBytes],
  ]);
}

const PROCESS_GAUGES: readonly Gauge[] = [
  {
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    value: () => process.memoryUsage.rss(),
  },
  {
    name: 'assay_memory_bytes',
    help: 'Resident memory by kind: own (heaps, buffers, caches of the allocator) or mapped (memory-mapped files, which the system can reclaim). Linux only.',
    label: 'kind',
    value: memoryByKind,
  },
  {
    name: 'nodejs_heap_used_bytes',
    help: 'Heap in use on the main thread.',
    value: () => process.memoryUsage().heapUsed,
  },
  {
    name: 'nodejs_external_memory_bytes',
    help: 'Memory outside the main thread heap that its objects hold, including buffers.',
    value: () => process.memoryUsage().external,
  },
  {
    name: 'process_cpu_seconds',
    help: 'CPU time of the process since its start, user and system.',
    value: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  },
];

const WIDTH = STATUSES.length;
const SLOTS = BUCKETS_MS.length + 1;

/** Answered requests of one thread, by route. Another thread may read them: every number is written by one thread only. */
export class RequestCounts {
  readonly #counts: Float64Array;
  readonly #buckets: Float64Array;
  readonly #sumsMs: Float64Array;

  constructor(routes: number, memory: ArrayBufferLike = new ArrayBuffer(RequestCounts.bytesOf(routes))) {
    this.#counts = new Float64Array(memory, 0, routes * WIDTH);
    this.#buckets = new Float64Array(memory, this.#counts.byteLength, routes * SLOTS);
    this.#sumsMs = new Float64Array(memory, this.#counts.byteLength + this.#buckets.byteLength, routes);
  }

  static bytesOf(routes: number): number {
    return routes * (WIDTH + SLOTS + 1) * Float64Array.BYTES_PER_ELEMENT;
  }

  readonly record: HttpMetrics['record'] = (route, status, durationMs) => {
    const cell = route * WIDTH + (statusSlot.get(status) ?? WIDTH - 1);
    this.#counts[cell] = (this.#counts[cell] as number) + 1;
    let slot = 0;
    while (slot < BUCKETS_MS.length && durationMs > (BUCKETS_MS[slot] as number)) slot++;
    const bucket = route * SLOTS + slot;
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.#sumsMs[route] = (this.#sumsMs[route] as number) + durationMs;
  };

  count(route: number, slot: number): number {
    return this.#counts[route * WIDTH + slot] as number;
  }

  bucket(route: number, slot: number): number {
    return this.#buckets[route * SLOTS + slot] as number;
  }

  sumMs(route: number): number {
    return this.#sumsMs[route] as number;
  }
}

/** Creates the HTTP metrics. */
export function createHttpMetrics(options: {
  /** Label of each route, in the order of the table. */
  readonly routes: readonly string[];
  readonly gauges: readonly Gauge[];
  /** Counts of the other threads that answer requests. Default: none. */
  readonly others?: readonly RequestCounts[];
}): HttpMetrics {
  const { routes } = options;
  const own = new RequestCounts(routes.length);
  const all = [own, ...(options.others ?? [])];
  const sum = (numberOf: (counts: RequestCounts) => number): number =>
    all.reduce((total, counts) => total + numberOf(counts), 0);
  let registry: Registry | null = null;
  const registered = (): Registry => {
    registry ??= createRegistry();
    return registry;
  };

  function createRegistry(): Registry {
    const { Gauge: PromGauge, Registry } = promClient();
    const registry = new Registry();

    register(registry, {
      name: 'assay_http_requests_total',
      help: 'Answered requests by route and status; status 0 means that the client disconnected before the response.',
      type: 'counter',
      values: () =>
        routes.flatMap((route, row) =>
          STATUSES.flatMap((status, slot) => {
            const value = sum((counts) => counts.count(row, slot));
            return value === 0 ? [] : [{ value, labels: { route, status } }];
          }),
        ),
    });

    register(registry, {
      name: 'assay_http_request_duration_seconds',
      help: 'Time from the request headers until the response was passed to the socket.',
      type: 'histogram',
      values: () =>
        routes.flatMap((route, row) => {
          const name = 'assay_http_request_duration_seconds';
          const values: (MetricValue<string> & { metricName: string })[] = [];
          let total = 0;
          for (let slot = 0; slot <= BUCKETS_MS.length; slot++) {
            total += sum((counts) => counts.bucket(row, slot));
            const le = BUCKETS_SECONDS[slot] ?? '+Inf';
            values.push({ metricName: `${name}_bucket`, value: total, labels: { route, le } });
          }
          if (total === 0) return [];
          values.push({
            metricName: `${name}_sum`,
            value: sum((counts) => counts.sumMs(row)) / 1000,
            labels: { route },
          });
          values.push({ metricName: `${name}_count`, value: total, labels: { route } });
          return values;
        }),
    });

    for (const { name, help, value, label } of [...PROCESS_GAUGES, ...options.gauges]) {
      new PromGauge({
        name,
        help,
        labelNames: label === undefined ? [] : [label],
        registers: [registry],
        collect() {
          const now = value();
          if (typeof now === 'number') return this.set(now);
          // Reset first, so that a label which no longer has a value is not reported with its old one.
          this.reset();
          for (const [of, one] of now) this.set({ [label ?? name]: of }, one);
        },
      });
    }
    return registry;
  }

  let scraping: Promise<string> | null = null;

  /**
   * A text takes milliseconds, and needs no key. Within a turn, thousands of requests of one connection can be answered, so that one client
   * could stop the server for many seconds.
   */
  async function scrapeLater(): Promise<string> {
    await new Promise(setImmediate);
    scraping = null;
    return registered().metrics();
  }

  return {
    get contentType() {
      return registered().contentType;
    },
    scrape() {
      scraping ??= scrapeLater();
      return scraping;
    },
    record: own.record,
  };
}
