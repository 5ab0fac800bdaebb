/** Combines the account services of one process: it identifies the key of a request, and checks rate limits, quotas and credits. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Mailer } from '../base/mail.ts';
import type { Random } from '../base/random.ts';
import { scryptOnLibuv } from '../base/scrypt.ts';
import { type Encryption, openEncryption } from '../state/encryption.ts';
import type { OpenStore } from '../state/live-store.ts';
import type { RedisStore } from '../state/redis.ts';
import { type Allowances, openAccounting, type SharedCounting } from './accounting.ts';
import { CODE_ATTEMPTS, EMAIL_REQUESTS } from './attempts.ts';
import { type AuditLog, openAuditLog } from './audit.ts';
import type { PublicUrl } from './emails.ts';
import type { Gate } from './gate.ts';
import { type KeyRecord, type KeyStore, PAY_PER_CALL_ACCOUNT } from './keys.ts';
import { openKeyStore } from './keys-lmdb.ts';
import type { Ledger } from './ledger.ts';
import type { DeriveKey } from './password.ts';
import { createPeople, isPersonal, type People, type PeopleOptions } from './people.ts';
import { openPeopleStore } from './people-lmdb.ts';
import type { PeopleStore } from './people-store.ts';
import {
  type Plan,
  type PlanName,
  type Plans,
  type RateClass,
  type RateOverrides,
  readPlans,
  sessionLimit,
} from './plans.ts';
import { accountOfBalance } from './pools.ts';
import type { QuotaMeter } from './quota.ts';
import { accountOfSession, type RateLimiter } from './rate-limit.ts';
import { createRedisAccounting } from './redis/accounting.ts';
import { createRedisAttempts } from './redis/attempts.ts';

export interface Access {
  readonly keys: KeyStore;
  /** Takes what a request needs before its work starts. */
  readonly gate: Gate;
  readonly limiter: RateLimiter;
  readonly quota: QuotaMeter;
  /** Counters that other threads of this process use as well; null if there are none. */
  readonly sharing: SharedCounting | null;
  /** Returns the plan of an account: its quotas and limits. */
  planOf(accountId: string): Plan;
  /** The ledger of credits, opened at the first call. Throws the error of opening; a later call tries again. */
  ledger(): Ledger;
  /** User accounts, opened at the first call, like the next two. */
  people(): People;
  audit(): AuditLog;
  /** Returns the record of the active key with this text, or null (status 401). */
  verify(token: string): KeyRecord | null;
  close(): Promise<void>;
}

export interface AccessDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Redis, if rates, quotas and credits are shared by all nodes; otherwise they are in the folder. */
  readonly redis?: RedisStore | null;
  /** Opens the stores of all other live state. Default: in the folder. */
  readonly openStore?: OpenStore;
  /** Default: data/plans.json. */
  readonly plans?: Plans;
  /** Free credits per month of an account. Default: those of its plan. */
  readonly freeCredits?: (accountId: string) => number;
  /** Default: a thread of libuv. */
  readonly derive?: DeriveKey;
  /** Default: no email can be sent. */
  readonly mailer?: Mailer | null;
  /** URL of the links in emails. Default: not known. */
  readonly publicUrl?: PublicUrl;
  /** Encrypts the secrets of people. Default: with a key file in the folder. */
  readonly encryption?: () => Encryption;
}

export interface AccessOptions extends Partial<PeopleOptions> {
  readonly folder: string;
  /** Plan of the account `local`, set when it is created. Default: FREE. */
  readonly localPlan?: PlanName;
  /** Other threads of this process admit requests as well. Not with Redis. Default: false. */
  readonly isShared?: boolean;
}

/** Returns the function that returns the limit of a key, or another subject, in a class: requests in any 60 seconds. */
export function rateLimitsOf(
  keys: Pick<KeyStore, 'get' | 'planOf'>,
  plans: Plans,
): (subject: string, rateClass: RateClass) => number {
  return (subject, rateClass) => {
    const ofSession = accountOfSession(subject);
    if (ofSession !== null) return sessionLimit(plans[keys.planOf(ofSession) ?? 'FREE'], rateClass);
    const key = keys.get(subject);
    const own: RateOverrides = key?.rateLimits ?? {};
    return own[rateClass] ?? plans[key?.plan ?? 'FREE'].rateLimits[rateClass];
  };
}

/**
 * Opens keys and quotas in `folder`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT, INVALID_CONFIG
 */
export function createAccess(options: AccessOptions, deps: AccessDeps): Access {
  const plans = deps.plans ?? readPlans();
  const keys = openKeyStore(
    {
      path: join(options.folder, 'keys.mdb'),
      ...(options.localPlan === undefined ? {} : { localPlan: options.localPlan }),
    },
    deps,
  );
  const generation = (): number => keys.generation();
  const planOf = (accountId: string) => plans[keys.planOf(accountId) ?? 'FREE'];
  const freeCredits =
    deps.freeCredits ??
    ((accountId) =>
      isPersonal(accountId) && !people().mayHaveFreeCredits(accountId)
        ? 0
        : planOf(accountId).creditsPerMonth);
  const allowances: Allowances = {
    generation,
    // Each balance of an account gets them.
    freeCredits: (balance) =>
      accountOfBalance(balance) === PAY_PER_CALL_ACCOUNT ? 0 : freeCredits(accountOfBalance(balance)),
    quotaOf: (accountId, meter) => planOf(accountId).quotas[meter],
    rateOf: rateLimitsOf(keys, plans),
  };
  const redis = deps.redis ?? null;
  const accounting =
    redis === null
      ? openAccounting(options, { ...deps, ...allowances })
      : createRedisAccounting({
          ...deps,
          ...allowances,
          redis,
          accountOf: (subject) => accountOfSession(subject) ?? keys.get(subject)?.accountId ?? null,
        });
  let auditLog: AuditLog | null = null;
  let peopleStore: PeopleStore | null = null;
  let openedPeople: People | null = null;
  let openedEncryption: Encryption | null = null;

  function audit(): AuditLog {
    auditLog ??= openAuditLog({ path: join(options.folder, 'audit.mdb') }, deps);
    return auditLog;
  }

  function encryption(): Encryption {
    openedEncryption ??=
      deps.encryption?.() ?? openEncryption({ path: join(options.folder, 'secrets.key') }, deps);
    return openedEncryption;
  }

  function people(): People {
    peopleStore ??= openPeopleStore({ path: join(options.folder, 'people.mdb') }, deps);
    openedPeople ??= createPeople(
      { registration: options.registration ?? 'closed' },
      {
        ...deps,
        store: peopleStore,
        keys,
        audit,
        ...(redis === null
          ? {}
          : {
              isShared: true,
              attempts: createRedisAttempts({ redis }),
              codeAttempts: createRedisAttempts({ redis }, CODE_ATTEMPTS),
              emailRequests: createRedisAttempts({ redis }, EMAIL_REQUESTS),
            }),
        derive: deps.derive ?? scryptOnLibuv,
        encryption,
        mailer: deps.mailer ?? null,
      },
    );
    return openedPeople;
  }

  const access: Access = {
    keys,
    gate: accounting.gate,
    limiter: accounting.limiter,
    quota: accounting.quota,
    sharing: accounting.sharing,
    planOf,
    ledger: accounting.ledger,
    people,
    audit,
    verify: (token) => keys.verify(token),
    async close() {
      await accounting.close();
      await openedPeople?.settled();
      await peopleStore?.close();
      await auditLog?.close();
      await keys.close();
    },
  };
  return access;
}
