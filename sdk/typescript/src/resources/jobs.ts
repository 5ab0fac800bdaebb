/** Bulk jobs. `assay.bulk` runs them from end to end. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import type { ReplayableBody, TransportResponse } from '../core/transport.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Data, QueryOf } from '../types.ts';

type JobList = Data<'listJobs'>;

export interface JobResultOptions extends CallOptions {
  /** First byte, from 0. */
  readonly start?: number | undefined;
  /** ETag of an earlier response. If the result has changed since, the response is the whole result. */
  readonly ifRange?: string | undefined;
}

const TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const;

const jobPath = (id: string): string => `/jobs/${segment(id)}`;

export class Jobs extends Resource {
  /**
   * Starts a job. A body that is an async iterable cannot be sent again, so it is not retried.
   *
   * @param lines - an address or a request a line: NDJSON, or CSV with `format: 'csv'`
   * @param query - `{ kind, chain }`
   * @throws PaymentRequiredError if the quota or the credits do not suffice for all lines
   */
  create(
    lines: ReplayableBody | AsyncIterable<Uint8Array>,
    query: QueryOf<'sendJob'>,
    options: ChargedOptions = {},
  ): ApiPromise<Data<'sendJob'>> {
    return this.connection.json({
      method: 'POST',
      path: '/jobs',
      query,
      content: lines,
      type: TYPES[query.format ?? 'ndjson'],
      // An upload of a gigabyte takes its time; the server ends one that is silent.
      options: { timeout: 0, ...options },
      retry: RETRIES.sendJob,
    });
  }

  list(
    query: QueryOf<'listJobs'> = {},
    options?: CallOptions,
  ): PagePromise<JobList, JobList['jobs'][number]> {
    return this.connection.list({ method: 'GET', path: '/jobs', query, options }, 'jobs');
  }

  get(id: string, options?: CallOptions): ApiPromise<Data<'oneJob'>> {
    return this.connection.json({ method: 'GET', path: jobPath(id), options });
  }

  /**
   * Opens the result of a job: NDJSON, a line for every line of the input. `assay.bulk.results` parses it and resumes a broken
   * connection.
   *
   * @returns the response; `text()` or `body()` of it must be read
   */
  result(id: string, { start, ifRange, ...options }: JobResultOptions = {}): Promise<TransportResponse> {
    const headers = {
      accept: 'application/x-ndjson, application/problem+json',
      ...(start === undefined ? {} : { range: `bytes=${start}-` }),
      ...(ifRange === undefined ? {} : { 'if-range': ifRange }),
      ...options.headers,
    };
    return this.connection.stream({
      method: 'GET',
      path: `${jobPath(id)}/result`,
      options: { ...options, headers },
    });
  }

  /**
   * Gets a line of the result of a job that was sent with `receipt: 'jws'`, with its proof. `verifyLine` verifies it.
   *
   * @param line - number of the line, from 0
   */
  line(id: string, line: number, options?: CallOptions): ApiPromise<Data<'jobLine'>> {
    return this.connection.json({ method: 'GET', path: `${jobPath(id)}/lines/${line}`, options });
  }

  /** Stops a job, or removes one that has ended. */
  cancel(id: string, options?: CallOptions): ApiPromise<Data<'cancelJob'>> {
    return this.connection.json({ method: 'DELETE', path: jobPath(id), options, retry: RETRIES.cancelJob });
  }
}
