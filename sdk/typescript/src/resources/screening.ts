/** Risk of addresses and transfers, and traces of funds. */
import type { ApiPromise } from '../core/api-promise.ts';
import type { ChargedOptions } from '../core/connection.ts';
import { Resource } from '../core/resource.ts';
import type { Body, Data } from '../types.ts';

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
    return this.connection.json({ method: 'POST', path: '/screening', body, options, retry: 'keyed' });
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
    return this.connection.json({ method: 'POST', path: '/kyt', body, options, retry: 'keyed' });
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
    return this.connection.json({ method: 'POST', path: '/trace', body, options, retry: 'keyed' });
  }
}
