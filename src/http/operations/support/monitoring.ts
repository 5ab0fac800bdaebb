/** Parts of the monitoring operations. Every id is looked up together with the account of the key. */
import { Type } from 'typebox';
import { alertAnswer, followedWallet } from '../../../monitoring/answers.ts';
import { MONITORING_LIMITS } from '../../../monitoring/limits.ts';
import type { Alert, MonitoredWallet, Severity } from '../../../monitoring/records.ts';
import type { AlertQuery } from '../../../monitoring/service.ts';
import { type Call, callerOf, type Services } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText, offsetQuery } from '../../schemas/fields.ts';
import { AlertStatusFilter, SeverityFilter } from '../../schemas/monitoring.ts';
import { offsetEnd, pageOf } from './paging.ts';

/** Columns of all monitoring operations. */
export const MONITORING = {
  tag: 'Monitoring',
  permission: 'monitoring',
  rateClass: 'monitoring',
} as const;

/** Status of operations on a record that the account may not have. */
export const NOT_FOUND = {
  404: { description: 'The account has no record of this id.', schema: ErrorBody },
} as const;

export const walletPath = { id: idText('Id of a wallet of the account.') };

/** Filters and pages of lists of alerts. */
export const alertFilters = {
  status: Type.Optional(AlertStatusFilter),
  severity: Type.Optional(SeverityFilter),
  ...offsetQuery(MONITORING_LIMITS.monitoringPageMax),
  upTo: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Only alerts up to this sequence: `newest` of the first page.',
    }),
  ),
};

interface AlertFilters {
  readonly status?: Alert['status'];
  readonly severity?: Severity;
  readonly upTo?: number;
  readonly limit: number;
  readonly offset: number;
  readonly cursor?: string;
}

/**
 * Returns `data` of a list of alerts.
 *
 * @param chain - the chain of the list's only wallet; default: all chains of the account
 */
export function alertsPage(
  { services, call, query }: { services: Services; call: Call; query: AlertFilters },
  wallets: Pick<AlertQuery, 'walletId' | 'walletAddresses'>,
  chain?: MonitoredWallet['chain'],
): object {
  const { status, severity, upTo } = query;
  const filter = {
    ...wallets,
    ...(status === undefined ? {} : { status }),
    ...(severity === undefined ? {} : { severity }),
    ...(upTo === undefined ? {} : { upTo }),
  };
  const page = pageOf(query);
  const service = services.useCases.monitoring();
  const { accountId } = callerOf(call);
  const result = service.alerts(accountId, filter, page);
  return {
    alerts: result.alerts.map(alertAnswer),
    ...offsetEnd(page, result),
    newest: result.newest,
    notFollowed: service.notFollowed(accountId, chain),
  };
}

/** Returns `data` of a single wallet, with the counts of its alerts and transactions. */
export function walletDetail({ useCases }: Services, wallet: MonitoredWallet): object {
  const service = useCases.monitoring();
  const counts = service.store.counts(wallet.accountId, wallet.id);
  return { wallet: { ...followedWallet(wallet, service.following(wallet.chain)), ...counts } };
}
