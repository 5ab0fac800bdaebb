/**
 * The two balances of an account: calls with a key are charged to `api`, calls with a session to `dashboard`. Each balance is an account of
 * its own in the ledger. That of `api` has the id of the account, so the entries of releases with one balance belong to it.
 */

export const POOLS = ['api', 'dashboard'] as const;
export type Pool = (typeof POOLS)[number];

/** Ids of accounts contain no full stop, so no account can have the id of another account's balance. */
const DASHBOARD_SUFFIX = '.dashboard';

/** Returns the id in the ledger of a balance of an account. */
export const balanceId = (accountId: string, pool: Pool): string =>
  pool === 'api' ? accountId : `${accountId}${DASHBOARD_SUFFIX}`;

/** Returns the pool of a balance, by its id in the ledger. */
export const poolOf = (id: string): Pool => (id.endsWith(DASHBOARD_SUFFIX) ? 'dashboard' : 'api');

/** Returns the account of a balance, by its id in the ledger. */
export const accountOfBalance = (id: string): string =>
  poolOf(id) === 'api' ? id : id.slice(0, -DASHBOARD_SUFFIX.length);
