/** Screening of names. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type Cleared = Data<'clearedList'>;

export class Names extends Resource {
  /** Screens names against sanctions lists, politically exposed persons and adverse media. Costs credits. */
  screen(body: Body<'names'>, options?: ChargedOptions): ApiPromise<Data<'names'>> {
    return this.connection.object({
      method: 'POST',
      path: '/namescreen/bulk',
      body,
      options,
      retry: RETRIES.names,
    });
  }

  /** Clears a match of a name: later responses mark it, until the entity changes. */
  clear(body: Body<'clear'>, options?: CallOptions): ApiPromise<Data<'clear'>> {
    const retry = RETRIES.clear;
    return this.connection.json({ method: 'POST', path: '/namescreen/cleared', body, options, retry });
  }

  /** Lists the cleared matches. */
  listCleared(
    query: QueryOf<'clearedList'> = {},
    options?: CallOptions,
  ): PagePromise<Cleared, Cleared['cleared'][number]> {
    return this.connection.list({ method: 'GET', path: '/namescreen/cleared', query, options }, 'cleared');
  }

  /** Deletes a cleared match. */
  unclear(id: string, options?: CallOptions): ApiPromise<Data<'unclear'>> {
    return this.connection.json({ method: 'DELETE', path: `/namescreen/cleared/${segment(id)}`, options });
  }
}
