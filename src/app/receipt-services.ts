/** Creates the service of receipts, its retention, and its commands, over the stores of an installation. */
import { type AuditAction, type AuditLog, OPERATOR } from '../accounts/audit.ts';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type Retention, startRetention } from '../base/retention.ts';
import type { Config } from '../config/config.ts';
import type { ListFreshness } from '../labels/freshness.ts';
import { RECEIPT_LIMITS } from '../receipts/limits.ts';
import type { ReceiptListState } from '../receipts/receipt-schema.ts';
import { createReceipts, type ReceiptsDeps } from '../receipts/receipts.ts';
import type { Receipts } from '../receipts/service.ts';
import { openVerdictKeys, verdictKeyPath } from '../receipts/verdict-key.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { LISTS } from '../sources/lists.ts';
import type { AccountServices } from './account-services.ts';

export interface ReceiptServicesDeps {
  readonly accounts: Pick<AccountServices, 'receiptStore' | 'access' | 'publicUrl' | 'openEncryption'>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Issuer of an installation without a host. */
const NO_HOST = 'urn:assay';

/** Returns the state of each list, as a receipt has it. */
export const listStates = ({ lists }: Pick<ListFreshness, 'lists'>): readonly ReceiptListState[] =>
  LISTS.ids.map((list) => ({
    list,
    publishedAt: lists[list]?.publishedAt ?? null,
    checkedAt: lists[list]?.checkedAt ?? null,
    parties: lists[list]?.records ?? null,
  }));

/** Returns the service of receipts. */
export const receiptsOf = (
  {
    version,
    freshness,
    policy,
    log,
    dataDir,
  }: {
    readonly version: string;
    readonly dataDir: string;
    readonly freshness: () => ListFreshness;
    readonly policy: RiskPolicy;
    readonly log: ReceiptsDeps['log'];
  },
  { accounts, clock, random }: ReceiptServicesDeps,
): Receipts => {
  const encryption = () => accounts.openEncryption();
  const verdictKeys = openVerdictKeys(verdictKeyPath(dataDir), { clock, random, encryption });
  return createReceipts(
    { softwareVersion: version },
    {
      store: accounts.receiptStore(),
      verdictKey: () => verdictKeys.open(),
      policy,
      lists: () => listStates(freshness()),
      issuer: () => accounts.publicUrl ?? NO_HOST,
      log,
      clock,
      random,
    },
  );
};

/** Returns the service for the commands of an operator: changes are recorded in the audit log. */
export function auditedReceipts(receipts: Receipts, audit: () => AuditLog): Receipts {
  const { keys } = receipts;
  const write = (action: AuditAction, accountId: string, subject: string, detail: string | null) =>
    audit().write({ ...OPERATOR, action, accountId, subject, detail });
  return {
    issue: (client, answer, target) => receipts.issue(client, answer, target),
    attest: (client, answer, target) => receipts.attest(client, answer, target),
    issueBatch: (batch) => receipts.issueBatch(batch),
    batchProof: (id, line) => receipts.batchProof(id, line),
    one: (id, accountId, kinds) => receipts.one(id, accountId, kinds),
    async erase(id) {
      const erased = await receipts.erase(id);
      await write('receipt.erase', erased.accountId, id, `SHA-256 ${erased.sha256}`);
      return erased;
    },
    keys: {
      active: () => keys.active(),
      list: () => keys.list(),
      async rotate() {
        const key = await keys.rotate();
        await write('receipt.rotate-key', LOCAL_ACCOUNT, key.kid, null);
        return key;
      },
    },
  };
}

/** Starts deleting receipts past their retention. */
export const receiptRetentionOf = (
  { receiptRetentionDays: days }: Pick<Config, 'receiptRetentionDays'>,
  { accounts, clock, log }: ReceiptServicesDeps & { readonly log: Logger },
): Retention =>
  startRetention(
    { days, what: 'receipts', atOnce: RECEIPT_LIMITS.receiptsDeletedAtOnceMax },
    {
      deleteBefore: (beforeMs, limit) => accounts.receiptStore().deleteIssuedBefore(beforeMs, limit),
      clock,
      log,
      // Not in the audit log: there may be a receipt for every request of an account, and its end follows from the setting.
      onDeleted: async () => {},
    },
  );
