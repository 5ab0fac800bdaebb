/** Creates the service of cases, and its retention, over the stores of a server. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type Retention, startRetention } from '../base/retention.ts';
import { createCases } from '../cases/cases.ts';
import { CASE_LIMITS } from '../cases/limits.ts';
import type { LinkedRecords } from '../cases/links.ts';
import type { CaseService } from '../cases/service.ts';
import type { Config } from '../config/config.ts';
import { alertAnswer, walletAnswer } from '../monitoring/answers.ts';
import type { MonitoringService } from '../monitoring/service.ts';
import type { SavedScreenings } from '../saved-screenings/service.ts';
import type { AccountServices } from './account-services.ts';

export interface CaseServicesDeps {
  readonly accounts: Pick<AccountServices, 'caseStore' | 'access'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The services with records that cases link to. */
export interface LinkedServices {
  readonly monitoring: () => { readonly store: Pick<MonitoringService['store'], 'alert' | 'wallet'> };
  readonly savedScreenings: () => Pick<SavedScreenings, 'find' | 'answer'>;
}

/** Returns the reader of the records that cases link to: those of monitoring, and saved screenings. */
export const linkedRecords = ({ monitoring, savedScreenings }: LinkedServices): LinkedRecords => ({
  alert(accountId, id) {
    const alert = monitoring().store.alert(accountId, id);
    if (alert === null) return null;
    const { walletAddress: address, chain } = alert.wallet;
    return { answer: JSON.stringify(alertAnswer(alert)), dataVersion: null, address, chain };
  },
  wallet(accountId, id) {
    const wallet = monitoring().store.wallet(accountId, id);
    if (wallet === null) return null;
    const { walletAddress: address, chain } = wallet;
    return { answer: JSON.stringify(walletAnswer(wallet)), dataVersion: null, address, chain };
  },
  screening(accountId, id, kinds) {
    const saved = savedScreenings();
    const screening = saved.find(accountId, kinds, id);
    if (screening === null) return null;
    const { addresses, chain, dataVersion } = screening;
    const answer = saved.answer(screening).toString();
    return { answer, dataVersion, address: addresses[0] ?? '', chain };
  },
});

/** Returns the service of cases. */
export function casesOf(
  { caseFourEyes }: Pick<Config, 'caseFourEyes'>,
  { accounts, clock, random, ...linked }: CaseServicesDeps & LinkedServices,
): CaseService {
  return createCases(
    { fourEyes: caseFourEyes },
    {
      store: accounts.caseStore(),
      clock,
      random,
      records: linkedRecords(linked),
    },
  );
}

/** Starts deleting cases past their retention; null if the settings have none. */
export function retentionOf(
  { caseRetentionDays: days }: Pick<Config, 'caseRetentionDays'>,
  { accounts, clock, log }: CaseServicesDeps,
): Retention | null {
  if (days === null) return null;
  return startRetention(
    { days, what: 'cases', atOnce: CASE_LIMITS.deletedAtOnceMax },
    {
      deleteBefore: (beforeMs, limit) => accounts.caseStore().deleteClosedBefore(beforeMs, limit),
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
