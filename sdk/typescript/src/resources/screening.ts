/** Risk of addresses and transfers, and traces of funds. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, PathOf, QueryOf } from '../types.ts';

type SavedList = Data<'listScreenings'>;

export class Screening extends Resource {
  /**
   * Screens an address: score, exposure, sanctions, counterparties and their coverage. Costs 1 credit.
   *
   * @param body - `{ chain, address }`, and the jurisdiction of the legal interpretation
   * @throws InvalidRequestError, PaymentRequiredError
   * @example
   * const report = await assay.screening.create({ chain: 'ETH', address });
   */
  create(body: Body<'screening'>, options?: ChargedOptions): ApiPromise<Data<'screening'>> {
    return this.connection.json({
      method: 'POST',
      path: '/screening',
      body,
      options,
      retry: RETRIES.screening,
    });
  }
}

export class Kyt extends Resource {
  /**
   * Checks a transfer before it is accepted or sent: `BLOCK`, `REVIEW` or `ALLOW`. Costs 1 credit.
   *
   * @param body - `{ chain, from, to }`, or `{ chain, address, direction }`
   * @throws InvalidRequestError, PaymentRequiredError
   * @example
   * const { decision } = await assay.kyt.check({ chain: 'ETH', from, to });
   */
  check(body: Body<'kyt'>, options?: ChargedOptions): ApiPromise<Data<'kyt'>> {
    return this.connection.json({ method: 'POST', path: '/kyt', body, options, retry: RETRIES.kyt });
  }
}

export class Trace extends Resource {
  /**
   * Traces funds up to three hops, or finds the paths to `targetAddress`. Costs 5 credits, paths 10.
   *
   * @param body - `{ chain, address, direction, hops }`
   * @throws InvalidRequestError, PaymentRequiredError
   */
  create(body: Body<'trace'>, options?: ChargedOptions): ApiPromise<Data<'trace'>> {
    return this.connection.json({ method: 'POST', path: '/trace', body, options, retry: RETRIES.trace });
  }
}

export class Transactions extends Resource {
  /**
   * Returns the stored transfers of a transaction, on every chain that has the hash. Free.
   *
   * @param params - the hash, and the chain if only one is meant
   * @throws InvalidRequestError if the text is not a transaction hash
   * @example
   * const { transactions, searched } = await assay.transactions.get({ hash });
   */
  get(
    { hash, ...query }: PathOf<'transaction'> & QueryOf<'transaction'>,
    options?: CallOptions,
  ): ApiPromise<Data<'transaction'>> {
    return this.connection.json({ method: 'GET', path: `/transactions/${segment(hash)}`, query, options });
  }
}

/** Answers of `screening.create` and `kyt.check` that were kept with `save: true`. */
export class SavedScreenings extends Resource {
  /**
   * Lists saved answers without their content, the newest first.
   *
   * @example
   * for await (const saved of assay.savedScreenings.list({ chain: 'ETH', address })) console.log(saved.riskLevel);
   */
  list(
    query: QueryOf<'listScreenings'> = {},
    options?: CallOptions,
  ): PagePromise<SavedList, SavedList['screenings'][number]> {
    return this.connection.list({ method: 'GET', path: '/screenings', query, options }, 'screenings');
  }

  /** Gets a saved answer as it was returned, with its facts. */
  get(id: string, options?: CallOptions): ApiPromise<Data<'oneScreening'>> {
    return this.connection.json({ method: 'GET', path: `/screenings/${segment(id)}`, options });
  }

  /**
   * Says what changed from one saved answer to another about the same address, and why.
   *
   * @param a - id of the earlier one
   * @param b - id of the later one
   */
  compare(a: string, b: string, options?: CallOptions): ApiPromise<Data<'compareScreenings'>> {
    const path = `/screenings/${segment(a)}/compare/${segment(b)}`;
    return this.connection.json({ method: 'GET', path, options });
  }
}
