/** Labels, sanctions checks and verdicts of single addresses. These cost a unit of the monthly quota of the key, and no credits. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, PathOf, QueryOf } from '../types.ts';

type ReportList = Data<'labelReports'>;

export class Oracle extends Resource {
  /**
   * Returns a verdict before a transaction: `safe`, `warning` or `danger`, with score and reasons.
   *
   * @param params - the chain and the address, and `receipt: 'jws'` for a signed receipt
   * @throws InvalidRequestError, PaymentRequiredError if the quota of the month is used up
   * @example
   * const { verdict, assessed } = await assay.oracle.check({ chain: 'ETH', address });
   */
  check(
    { chain, address, ...query }: PathOf<'oracle'> & QueryOf<'oracle'>,
    options?: CallOptions,
  ): ApiPromise<Data<'oracle'>> {
    const path = `/oracle/address/${segment(chain)}/${segment(address)}`;
    return this.connection.json({ method: 'GET', path, query, options });
  }

  /**
   * Returns the root of the tree of the sanctioned addresses of a chain, for contracts.
   *
   * @param params - a chain with EVM addresses
   */
  root({ chain }: PathOf<'oracleRoot'>, options?: CallOptions): ApiPromise<Data<'oracleRoot'>> {
    return this.connection.json({ method: 'GET', path: `/oracle/root/${segment(chain)}`, options });
  }

  /**
   * Returns the proof that an address is, or is not, in the tree of the sanctioned addresses of a chain.
   *
   * @param params - the chain and the address, and the root of an earlier tree if the contract has not got the newest
   * @throws NotFoundError if the tree of that root is no longer kept
   */
  proof(
    { chain, address, ...query }: PathOf<'oracleProof'> & QueryOf<'oracleProof'>,
    options?: CallOptions,
  ): ApiPromise<Data<'oracleProof'>> {
    const path = `/oracle/proof/${segment(chain)}/${segment(address)}`;
    return this.connection.json({ method: 'GET', path, query, options });
  }
}

export class Entity extends Resource {
  /**
   * Returns the entity that owns an address.
   *
   * @param params - the address, and the chain if the address is valid on several
   * @throws NotFoundError if nothing is known about the address
   */
  get(
    { address, ...query }: PathOf<'entity'> & QueryOf<'entity'>,
    options?: CallOptions,
  ): ApiPromise<Data<'entity'>> {
    return this.connection.json({ method: 'GET', path: `/entity/${segment(address)}`, query, options });
  }
}

export class Labels extends Resource {
  /** Returns all labels of an address. With `headers: { 'if-none-match': etag }`, an unchanged response throws an ApiError of status 304. */
  list({ chain, address }: PathOf<'labels'>, options?: CallOptions): ApiPromise<Data<'labels'>> {
    const path = `/address/${segment(chain)}/${segment(address)}/labels`;
    return this.connection.json({ method: 'GET', path, options });
  }

  /**
   * Returns what the rules found about an address: derived labels with their rule, its measured error rate, transactions and blocks.
   *
   * @param params - the chain and the address
   * @example
   * const { findings } = await assay.labels.attribution({ chain: 'ETH', address });
   */
  attribution(
    { chain, address }: PathOf<'attribution'>,
    options?: CallOptions,
  ): ApiPromise<Data<'attribution'>> {
    const path = `/address/${segment(chain)}/${segment(address)}/attribution`;
    return this.connection.json({ method: 'GET', path, options });
  }

  /**
   * Reports a wrong label to the operators of the service. While the account has an open report on the same labels, that one is returned.
   *
   * @param params - the chain, the address, what is wrong, and the source of the labels if not all are meant
   * @throws NotFoundError if the address has no such label
   * @example
   * const { report } = await assay.labels.report({ chain: 'ETH', address, reason: 'This is our donation wallet.' });
   */
  report(
    { chain, address, ...body }: PathOf<'reportLabel'> & Body<'reportLabel'>,
    options?: CallOptions,
  ): ApiPromise<Data<'reportLabel'>> {
    const path = `/address/${segment(chain)}/${segment(address)}/reports`;
    return this.connection.json({ method: 'POST', path, body, options, retry: RETRIES.reportLabel });
  }

  /** Returns the reports of the account, newest first, with the decisions of the operators. */
  listReports(
    query: QueryOf<'labelReports'> = {},
    options?: CallOptions,
  ): PagePromise<ReportList, ReportList['reports'][number]> {
    return this.connection.list({ method: 'GET', path: '/label-reports', query, options }, 'reports');
  }

  /** Returns all labels of an address, given in the body. */
  screen(body: Body<'screen'>, options?: CallOptions): ApiPromise<Data<'screen'>> {
    return this.connection.json({ method: 'POST', path: '/screen', body, options, retry: RETRIES.screen });
  }

  /**
   * Returns the labels of many addresses in the order of the request. For more than one request takes, see `assay.bulk.screen`.
   *
   * @example
   * const { results } = await assay.labels.screenBulk({ chain: 'ETH', addresses, verdict: true });
   */
  screenBulk(body: Body<'screenBulk'>, options?: CallOptions): ApiPromise<Data<'screenBulk'>> {
    return this.connection.json({
      method: 'POST',
      path: '/screen/bulk',
      body,
      options,
      retry: RETRIES.screenBulk,
    });
  }
}

export class Sanctions extends Resource {
  /** Checks an address against the sanctions lists; direct matches only. */
  check(query: QueryOf<'sanctionsCheck'>, options?: CallOptions): ApiPromise<Data<'sanctionsCheck'>> {
    return this.connection.json({ method: 'GET', path: '/sanctions/check', query, options });
  }
}

export class Exchanges extends Resource {
  /**
   * Returns the registrations of an exchange.
   *
   * @param query - a name, alias, domain or LEI, and optionally a jurisdiction
   * @throws NotFoundError if no exchange has the name
   */
  status(query: QueryOf<'exchangeStatus'>, options?: CallOptions): ApiPromise<Data<'exchangeStatus'>> {
    return this.connection.json({ method: 'GET', path: '/exchange-status', query, options });
  }
}
