/** Whether the chain of a wallet is followed, as clients see it. Reasons name no server of the operator and no error of a library. */
import { isoTime } from '../base/clock.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { ChainFollowing, FollowReport, MonitoredWallet, MonitoringChain } from './records.ts';

/** State of a chain that this process follows. */
export interface FollowState {
  readonly chain: MonitoringChain;
  readonly state: 'FOLLOWING' | 'WAITING' | 'STANDBY' | 'UNREACHABLE';
  readonly lastError: string | null;
}

const FOLLOWED: FollowReport = { following: true, reason: null };
const broken = (reason: string): FollowReport => ({ following: false, reason });

/** Returns the report of a chain for which no node is configured. */
export const notConfigured = (chain: MonitoringChain): FollowReport =>
  broken(`No node of ${chain} is configured, so transfers on this chain are not seen.`);

/** Returns the report of a chain with a node that did not respond when a wallet was added. */
export const notAnswering = (chain: MonitoringChain): FollowReport =>
  broken(`The node of ${chain} did not respond. Transfers are seen as soon as it does.`);

/**
 * Returns the report of a chain that this process follows.
 *
 * @param sinceMs - time of the last block, or of the start
 */
export function reportOf(
  { chain, state, lastError }: FollowState,
  sinceMs: number,
  nowMs: number,
): FollowReport {
  if (state === 'UNREACHABLE') return notConfigured(chain);
  if (state === 'WAITING' && lastError !== null)
    return broken(
      `The node of ${chain} cannot be read. It is tried again, and blocks that were missed are then read first.`,
    );
  // A node that responds, but does not follow its chain, looks like a chain without transfers.
  if (state !== 'STANDBY' && nowMs - sinceMs > MONITORING_LIMITS.followStallMs)
    return broken(`The node of ${chain} has not returned a new block since ${isoTime(sinceMs)}.`);
  return FOLLOWED;
}

/** Returns the report of a chain that another node follows. */
export const reportElsewhere = (stored: FollowReport | null): FollowReport => stored ?? FOLLOWED;

/** Returns whether a wallet is followed: transfers of a wallet that is not active are ignored. */
export function followingOf({ status }: Pick<MonitoredWallet, 'status'>, of: ChainFollowing): ChainFollowing {
  if (status === 'ACTIVE') return of;
  return { ...of, ...broken(`The wallet is ${status.toLowerCase()}, so its transfers are ignored.`) };
}
