/**
 * The Lua script with every atomic step on a balance of an account in Redis. All keys of an account are in one slot: its log of entries (a stream
 * of the entries of ledger-entry.ts), its state (reserved credits, units taken this month), its holds by expiry, its events, and
 * expiring keys: windows of rate limits, stored responses, marks. Numbers are doubles: integers are exact up to 2^53, and are written
 * without an exponent.
 */
import { luaScript } from '../../base/paths.ts';

/** Operations, by their name in the first argument. */
export type AccountOperation =
  | 'admit'
  | 'commit'
  | 'release'
  | 'undo'
  | 'refund'
  | 'settle'
  | 'book'
  | 'balance'
  | 'usage'
  | 'rate'
  | 'uncount'
  | 'take'
  | 'give'
  | 'settleUnits'
  | 'used'
  | 'kept'
  | 'confirm';

/** The outcome of a step: the first number of its reply. */
export const OUTCOME = {
  done: 0,
  rateLimited: 1,
  kept: 2,
  quotaExhausted: 3,
  creditsExhausted: 4,
  otherBody: 5,
  voided: 6,
  unknown: 7,
  repeated: 8,
  belowZero: 9,
  otherAccount: 10,
  expired: 11,
} as const;

/** The parts of the script, in their order: local functions of a part are known to the parts after it. */
const PARTS = ['step', 'entries', 'holds', 'kept', 'rate', 'quota', 'operations', 'run'] as const;

/** Returns the text of the script: its parts, with the number of each outcome in place of its name. */
export function accountScript(): string {
  const parts = PARTS.map((part) => luaScript('accounts', 'redis', 'lua', `account-${part}`));
  return parts
    .join('\n')
    .replaceAll(/\bOUTCOME\.(\w+)/g, (_, name: keyof typeof OUTCOME) => String(OUTCOME[name]));
}
