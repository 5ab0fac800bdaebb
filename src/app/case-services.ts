/** Creates the service of cases, and its retention, over the stores of a server. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { createCases } from '../cases/cases.ts';
import { type Retention, startRetention } from '../cases/retention.ts';
import type { CaseService } from '../cases/service.ts';
import type { Config } from '../config/config.ts';
import { alertAnswer, walletAnswer } from '../monitoring/answers.ts';
import type { MonitoringService } from '../monitoring/service.ts';
import type { AccountServices } from './account-services.ts';

export interface CaseServicesDeps {
  readonly accounts: Pick<AccountServices, 'caseStore' | 'access'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Returns the service of cases. Links to alerts and wallets read the records of monitoring. */
export function casesOf(
  { caseFourEyes }: Pick<Config, 'caseFourEyes'>,
  {
    accounts,
    clock,
    random,
    monitoring,
  }: CaseServicesDeps & { readonly monitoring: () => MonitoringService },
): CaseService {
  return createCases(
    { fourEyes: caseFourEyes },
    {
      store: accounts.caseStore(),
      clock,
      random,
      records: {
        alert(accountId, id) {
          const alert = monitoring().store.alert(accountId, id);
          if (alert === null) return null;
          const { walletAddress: address, chain } = alert.wallet;
          return { answer: alertAnswer(alert), address, chain };
        },
        wallet(accountId, id) {
          const wallet = monitoring().store.wallet(accountId, id);
          if (wallet === null) return null;
          return { answer: walletAnswer(wallet), address: wallet.walletAddress, chain: wallet.chain };
        },
      },
    },
  );
}

/** Starts deleting cases whose retention has ended; null if the settings have none. */
export function retentionOf(
  { caseRetentionDays: days }: Pick<Config, 'caseRetentionDays'>,
  { accounts, clock, log }: CaseServicesDeps,
): Retention | null {
  if (days === null) return null;
  return startRetention(
    { days },
    {
      store: accounts.caseStore(),
      clock,
      log,
      async onDeleted({ id, accountId, number }) {
        await accounts
          .access()
          .audit()
          .write({
            who: 'retention',
            from: 'settings',
            action: 'case.delete',
            accountId,
            subject: id,
            detail: `case ${number}, ASSAY_CASE_RETENTION_DAYS ${days}`,
          });
      },
    },
  );
}
