/** Probes, metrics and documentation of the server. They need no key. */
import type { ApiPromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource } from '../core/resource.ts';
import type { Data, QueryOf } from '../types.ts';

export class Service extends Resource {
  /** Responds while the server is alive. */
  health(options?: CallOptions): ApiPromise<Data<'health'>> {
    return this.connection.object({ method: 'GET', path: '/health', options, auth: 'none' });
  }

  /**
   * Returns the state of the data.
   *
   * @throws ServerError with the code NOT_READY, and the reasons as message
   */
  ready(query: QueryOf<'ready'> = {}, options?: CallOptions): ApiPromise<Data<'ready'>> {
    return this.connection.json({ method: 'GET', path: '/ready', query, options, auth: 'none' });
  }

  /** Returns the metrics in the text format of Prometheus. */
  metrics(options?: CallOptions): ApiPromise<string> {
    return this.connection.text({ method: 'GET', path: '/metrics', options, auth: 'none' });
  }

  /** Returns the OpenAPI document of the server. */
  openapi(options?: CallOptions): ApiPromise<Readonly<Record<string, unknown>>> {
    return this.connection.object({
      method: 'GET',
      path: '/openapi.json',
      isRoot: true,
      options,
      auth: 'none',
    });
  }

  /** Returns the page of the API reference, HTML. */
  docs(options?: CallOptions): ApiPromise<string> {
    return this.connection.text({ method: 'GET', path: '/docs', isRoot: true, options, auth: 'none' });
  }
}
