/**
 * The log of added and changed wallets, numbered by generation: readers that keep a table of all watched addresses apply the
 * changes since their generation. If a replica replaces generations, all results that were derived from the earlier ones are invalid.
 */
import type { LiveDatabase } from '../state/live-store.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoredWallet, WatchChange } from './records.ts';
import type { MonitoringTables } from './tables.ts';

/** More wallet changes than one history of the store can ever have. */
const GENERATIONS_OF_A_HISTORY = 2 ** 40;

/** Records changes of wallets and counts their generations. */
export class WatchLog {
  readonly #changes: MonitoringTables['watchChanges'];
  readonly #meta: LiveDatabase<number, string>;
  /** Whether the current transaction adds or changes a wallet. */
  #isMoved = false;
  /** The newest known generation. */
  #newest = 0;
  /** How often a generation was replaced by another one. */
  #histories = 0;

  constructor({ watchChanges }: Pick<MonitoringTables, 'watchChanges'>, meta: LiveDatabase<number, string>) {
    this.#changes = watchChanges;
    this.#meta = meta;
  }

  /** Starts a transaction, which may run several times before it is committed. */
  begin(): void {
    this.#isMoved = false;
  }

  /** True if a change was recorded since `begin`. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** Returns the stored generation. */
  stored(): number {
    return this.#meta.get('generation') ?? 0;
  }

  /** Remembers the stored generation as known. Call it after each transaction of this process. */
  noteStored(): void {
    this.#newest = this.stored();
  }

  /** Increases whenever a wallet is added or changed. */
  generation(): number {
    return this.stored() + this.#histories * GENERATIONS_OF_A_HISTORY;
  }

  /** Records a wallet that was stored. Call it inside a transaction. */
  record({ chain, walletAddress, id: walletId, accountId, status }: MonitoredWallet): void {
    this.#isMoved = true;
    const generation = this.stored() + 1;
    this.#meta.putSync('generation', generation);
    const isActive = status === 'ACTIVE';
    this.#changes.putSync([generation], { chain, walletAddress, accountId, walletId, isActive });
    this.#changes.removeSync([generation - MONITORING_LIMITS.watchChangesKept]);
  }

  /** Returns the changes after a generation, oldest first; null if it is too old and all wallets have to be read. */
  changesAfter(generation: number): readonly WatchChange[] | null {
    const last = this.stored();
    const after = generation - this.#histories * GENERATIONS_OF_A_HISTORY;
    if (after < 0 || after > last || last - after > MONITORING_LIMITS.watchChangesKept) return null;
    const rows = [...this.#changes.getRange({ start: [after + 1], end: [last + 1] })];
    // Older versions of the program did not store the changes.
    return rows.length === last - after ? rows.map(({ value }) => value) : null;
  }

  /**
   * Notes a write of another node.
   *
   * @param stored - the generation that is stored after all writes of its batch
   */
  applied(generation: number, isRemoved: boolean, stored: number): void {
    // A generation was rolled back or replaced by another one: results derived from it are invalid.
    const isOther = isRemoved ? generation > stored : generation <= this.#newest;
    if (isOther) this.#histories++;
    if (isOther || !isRemoved) this.#newest = Math.min(generation, stored);
  }
}
