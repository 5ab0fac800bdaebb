/** Verifies a whole ledger in Redis: each account from its first entry to its last, and its holds. */
import type { RedisStore } from '../../state/redis.ts';
import type { LedgerReport } from '../ledger.ts';
import { decodeEntry, EMPTY_HEAD, entryId, type Head } from '../ledger-entry.ts';
import { accountsOf, FAULTS_MAX, faultOf } from '../ledger-verify.ts';
import { balanceId, POOLS } from '../pools.ts';
import { balanceKey } from './account-steps.ts';

/** Entries of one read. */
const STRIDE = 1_000;

type Row = readonly [id: Buffer, fields: readonly Buffer[]];

/** Returns the ids of all balances that have a key of this name, each once. */
export async function balancesIn(
  redis: Pick<RedisStore, 'slotsWith'>,
  name: 'log' | 'events',
): Promise<ReadonlySet<string>> {
  const balances = new Set<string>();
  for (const pool of POOLS)
    for await (const slot of redis.slotsWith(pool === 'api' ? name : `${pool}:${name}`))
      balances.add(balanceId(slot, pool));
  return balances;
}

/** Checks every balance of every account. While servers are running, an account may get entries after it was read; the next check reads them. */
export async function checkAccounts(
  redis: RedisStore,
  onProgress: (checked: number, total: number) => void,
): Promise<LedgerReport> {
  const faults: string[] = [];
  const report = (fault: string): void => {
    if (faults.length < FAULTS_MAX) faults.push(fault);
  };
  const accounts = await balancesIn(redis, 'log');
  let total = 0;
  for (const accountId of accounts)
    total += await redis.guard(redis.connection.xlen(balanceKey(redis, accountId, 'log')));

  /** Reads all entries of an account; returns the last one. */
  async function checkEntries(accountId: string): Promise<Head> {
    let head: Head = EMPTY_HEAD;
    let from = '-';
    for (;;) {
      const log = balanceKey(redis, accountId, 'log');
      const rows = (await redis.guard(
        redis.connection.xrangeBuffer(log, from, '+', 'COUNT', STRIDE),
      )) as unknown as Row[];
      for (const [id, fields] of rows) {
        const sequence = Number(id.toString('latin1').split('-')[0]);
        from = `(${id.toString('latin1')}`;
        entries++;
        try {
          const entry = decodeEntry(sequence, fields[1]);
          const fault =
            entry.accountId !== accountId ? `belongs to '${entry.accountId}'` : faultOf(entry, head);
          if (fault !== null) report(`Entry ${entryId(sequence)} of '${accountId}' ${fault}.`);
          head = entry;
        } catch {
          report(`Entry ${entryId(sequence)} of '${accountId}' is damaged.`);
        }
      }
      if (rows.length < STRIDE) return head;
      onProgress(entries, total);
    }
  }

  /** Reads both in one transaction, so that they are of the same moment. */
  async function checkHolds(accountId: string): Promise<void> {
    const look = redis.connection
      .multi()
      .hget(balanceKey(redis, accountId, 'held'), 'held')
      .zrange(balanceKey(redis, accountId, 'holds'), '0', '-1')
      .exec();
    const [[, held], [, members]] = (await redis.guard(look)) as [[null, string | null], [null, string[]]];
    const sum = members.reduce((before, member) => before + Number(member.split(':')[1]), 0);
    if (Number(held ?? 0) !== sum)
      report(`Account '${accountId}' counts ${held} credits as held, but its holds add up to ${sum}.`);
  }

  let entries = 0;
  let balance = 0;
  for (const accountId of accounts) {
    balance += (await checkEntries(accountId)).balance;
    await checkHolds(accountId);
    onProgress(Math.min(entries, total), total);
  }
  return { entries, accounts: accountsOf(accounts), balance, faults };
}
