/** The state of the installation, with the session of a person of an operator account. */
import type { ApiPromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource } from '../core/resource.ts';
import type { Data } from '../types.ts';

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
}
