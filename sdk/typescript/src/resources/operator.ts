/** The state of the installation, with the session of a person of an operator account. */
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource } from '../core/resource.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type ReportList = Data<'operatorLabelReports'>;

export class Operator extends Resource {
  /**
   * Returns health checks, snapshots, lists, chains, queues and nodes.
   *
   * @throws PermissionError if the account is not an operator account
   */
  status(options?: CallOptions): ApiPromise<Data<'operatorStatus'>> {
    return this.connection.json({ method: 'GET', path: '/operator/status', options, auth: 'session' });
  }

  /**
   * Returns what is imported, and the last imports, syncs and builds.
   *
   * @throws PermissionError if the account is not an operator account
   */
  imports(options?: CallOptions): ApiPromise<Data<'operatorImports'>> {
    return this.connection.json({ method: 'GET', path: '/operator/imports', options, auth: 'session' });
  }

  /**
   * Returns the reports of all accounts on labels, newest first.
   *
   * @param query - only reports in a state; the part of the list
   * @throws PermissionError if the account is not an operator account
   */
  labelReports(
    query: QueryOf<'operatorLabelReports'> = {},
    options?: CallOptions,
  ): PagePromise<ReportList, ReportList['reports'][number]> {
    const path = '/operator/label-reports';
    return this.connection.list({ method: 'GET', path, query, options, auth: 'session' }, 'reports');
  }

  /**
   * Decides a report on labels. Accepting it disputes the labels of the address; a build in the background publishes that.
   *
   * @param id - id of an open report
   * @throws PermissionError if the account is not an operator account; NotFoundError
   * @example
   * await assay.operator.decideLabelReport(id, { state: 'REJECTED', reason: 'The exchange names the address.' });
   */
  decideLabelReport(
    id: string,
    decision: Body<'decideLabelReport'>,
    options?: CallOptions,
  ): ApiPromise<Data<'decideLabelReport'>> {
    return this.connection.json({
      method: 'POST',
      path: `/operator/label-reports/${encodeURIComponent(id)}/decision`,
      body: decision,
      options,
      auth: 'session',
    });
  }
}
