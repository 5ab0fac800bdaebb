/**
 * Follows one chain for payments: its blocks from the last processed one on, reorgs, and on UTXO chains the pool of the node. Only one node
 * of an installation follows a chain, under a lease.
 *
 * The position in the chain is stored for many blocks together, and before a payment is confirmed. So a start may read some blocks again, but
 * no confirmed payment is in one of them. A pending one counts as in no block until its block is read: the chain may have reverted it since.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import type {
  BlockRef,
  BlockTag,
  Call,
  ChainAdapter,
  ChainEvent,
  Unconfirmed,
} from '../../chains/families/port.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Handover } from '../../state/handover.ts';
import type { Fence } from '../../state/live-store.ts';
import { CRYPTO_LIMITS } from './limits.ts';
import type { PaymentBook, TagHeights } from './payment-book.ts';
import { ownersOf, paysInvoice, sightingOf, sightingsInBlock, sightingsInTransaction } from './sightings.ts';
import { isUtxo } from './terms.ts';
import type { WatchStore } from './watch-store.ts';
import type { Watched, WatchTable } from './watch-table.ts';

export interface ChainPaymentsDeps {
  readonly adapter: ChainAdapter;
  readonly store: WatchStore;
  readonly table: WatchTable;
  /** Keeps its time if the clock of the machine jumps: first sight is compared with price locks. */
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the endpoints are the operator's own. */
  readonly isOwn: boolean;
}

/** State of a followed chain, for operators. */
export interface ChainPaymentsState {
  readonly chain: ChainId;
  readonly height: number | null;
  readonly lastError: string | null;
}

/** Reads the senders of a payment again from its block; null if they are unknown or the block is gone. */
export async function payersInBlock(
  adapter: ChainAdapter,
  txHash: string,
  position: string,
  { height, hash }: BlockRef,
): Promise<readonly string[] | null> {
  const call = { signal: new AbortController().signal, budgetMs: CRYPTO_LIMITS.requestBudgetMs };
  const { block } = await adapter.block(height, call);
  if (block === null || block.hash !== hash) return null;
  const transaction = block.transactions?.find(({ txid }) => txid === txHash);
  if (transaction !== undefined) return ownersOf(transaction.inputs, transaction.isCoinbase);
  const transfer = block.transfers.find((one) => one.txHash === txHash && one.position === position);
  if (transfer === undefined) return null;
  const watched = { chain: adapter.chain, accountId: '', invoiceId: '', target: '', untilMs: 0 };
  return sightingOf(transfer, watched, { height, hash }).payers;
}

export class ChainPayments {
  readonly #chain: ChainId;
  readonly #book: PaymentBook;
  readonly #deps: ChainPaymentsDeps;
  #height: number | null = null;
  /** Processed blocks above the stored position, oldest first. */
  #unstored: BlockRef[] = [];
  /** Time of the last stored position, by the monotonic clock. */
  #storedAtMs = Number.NEGATIVE_INFINITY;
  #lastError: string | null = null;
  /** Whether the chain cannot be read now. */
  #isAway = false;
  /** Reports are made one after the other: blocks and the pool concern the same payments. */
  #turn: Promise<unknown> = Promise.resolve();
  /** Ids in the pool at the last look; null before the first one since the start or an outage. */
  #pool: Set<string> | null = null;
  /** Time of the last question for tags, by the monotonic clock. */
  #taggedAtMs = Number.NEGATIVE_INFINITY;
  #tags: TagHeights = {};
  /** Blocks that a node called safe or finalized, and that were not compared with the processed ones yet. */
  readonly #claims = new Map<BlockTag, BlockRef>();

  constructor(book: PaymentBook, deps: ChainPaymentsDeps) {
    this.#chain = deps.adapter.chain;
    this.#book = book;
    this.#deps = deps;
  }

  state(): ChainPaymentsState {
    return { chain: this.#chain, height: this.#height, lastError: this.#lastError };
  }

  /**
   * Follows until `stopped` aborts. Never rejects.
   *
   * @param handover - ends it if this node does not reach the chain and another one might; null if there is no other node
   */
  async run(stopped: AbortSignal, fence: Fence | null, handover: Handover | null = null): Promise<void> {
    const { adapter } = this.#deps;
    const ending = new AbortController();
    const signal = AbortSignal.any([stopped, ending.signal]);
    for (const watched of this.#deps.table.of(this.#chain)) this.#book.load(watched);
    const { unconfirmed } = adapter;
    await Promise.all([
      this.#retried('blocks', signal, () => this.#followBlocks(signal, fence, handover)),
      ...(handover === null ? [] : [this.#leaveIfAway(handover, signal, ending)]),
      this.#retried('checks', signal, () => this.#check(signal, fence)),
      ...(isUtxo(this.#chain) && unconfirmed !== undefined && unconfirmed !== null
        ? [this.#retried('pool', signal, () => this.#followPool(unconfirmed, signal))]
        : []),
    ]);
    // Only saves reading: after a failure, or if the lease is lost, the next start begins lower.
    await this.#inTurn(() => this.#storePosition(fence)).catch(() => undefined);
  }

  async #retried(what: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    let waitMs: number = CRYPTO_LIMITS.retryMs;
    while (!signal.aborted) {
      const startedMs = this.#deps.clock.monotonic();
      try {
        await work();
      } catch (error) {
        if (signal.aborted) return;
        this.#lastError = messageOf(error);
        this.#deps.log.warn(
          { chain: this.#chain, what, error: messageOf(error) },
          'following payments interrupted',
        );
      }
      if (this.#deps.clock.monotonic() - startedMs > CRYPTO_LIMITS.retryMaxMs) waitMs = CRYPTO_LIMITS.retryMs;
      await sleep(waitMs, signal).catch(() => undefined);
      waitMs = Math.min(waitMs * 2, CRYPTO_LIMITS.retryMaxMs);
    }
  }

  async #leaveIfAway(handover: Handover, signal: AbortSignal, ending: AbortController): Promise<void> {
    while (!signal.aborted) {
      if (this.#isAway && handover.failed()) ending.abort();
      await sleep(CRYPTO_LIMITS.checkMs, signal).catch(() => undefined);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  #call(signal: AbortSignal): Call {
    return { signal, budgetMs: CRYPTO_LIMITS.requestBudgetMs };
  }

  /**
   * Begins at the stored position, after a start or a failure.
   *
   * @returns the blocks up to it, oldest first
   */
  async begin(): Promise<readonly BlockRef[]> {
    this.#unstored = [];
    const known = this.#deps.store.blocks(this.#chain);
    const last = known.at(-1);
    if (last !== undefined) {
      this.#height = last.height;
      await this.#book.readAgainAbove(last.height);
    }
    return known;
  }

  async #followBlocks(signal: AbortSignal, fence: Fence | null, handover: Handover | null): Promise<void> {
    const { adapter, store } = this.#deps;
    this.#isAway = false;
    const known = await this.#inTurn(() => this.begin());
    const last = known.at(-1);
    const onFault = (fault: AssayError | null): void => {
      this.#isAway = fault !== null;
      this.#lastError = fault === null ? null : messageOf(fault);
      if (fault === null) handover?.succeeded();
    };
    const onEarlier = (earlier: readonly BlockRef[]) => store.advance(this.#chain, earlier, fence);
    const from = { fromHeight: last === undefined ? null : last.height + 1, known, onFault, onEarlier };
    try {
      for await (const event of adapter.subscribe(from, this.#call(signal))) {
        await this.#inTurn(() => this.apply(event, fence));
        this.#lastError = null;
      }
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'CHAIN_REORG_TOO_DEEP') throw error;
      // Everything in these blocks is pending again, and the new branch is read from their start.
      const lowest = Math.max(0, (this.#height ?? 0) - CHAIN_LIMITS.reorgBlocksMax);
      this.#deps.log.error({ chain: this.#chain, height: lowest }, 'deep reorg: payments are read again');
      await this.#inTurn(async () => {
        this.#capTags(lowest);
        await this.#book.revert(lowest);
        await store.revert(this.#chain, lowest, fence);
        const hash = (await adapter.block(lowest, this.#call(signal))).block?.hash;
        if (hash !== undefined) await store.advance(this.#chain, [{ height: lowest, hash }], fence);
      });
    }
  }

  /** Processes an event. A block counts as processed when its payments are recorded: after a crash before that, it is processed again. */
  async apply(event: ChainEvent, fence: Fence | null): Promise<void> {
    const { store, table, clock } = this.#deps;
    if (event.type === 'reorg') {
      const height = event.ancestor?.height ?? (event.dropped.at(-1)?.height ?? 0) - 1;
      await this.#book.revert(height);
      await store.revert(this.#chain, height, fence);
      this.#unstored = this.#unstored.filter((block) => block.height <= height);
      this.#height = height;
      this.#capTags(height);
      this.#deps.log.warn({ chain: this.#chain, blocks: event.dropped.length, height }, 'payments reverted');
      return;
    }
    const { block } = event;
    for (const sighting of sightingsInBlock(block, table, clock.now())) await this.#book.observe(sighting);
    this.#unstored.push({ height: block.height, hash: block.hash });
    const isMuch =
      this.#unstored.length >= CRYPTO_LIMITS.unstoredBlocksMax ||
      clock.monotonic() - this.#storedAtMs >= CRYPTO_LIMITS.unstoredMs;
    if (isMuch) await this.#storePosition(fence);
    await this.#advance(block.height, fence);
    this.#height = block.height;
  }

  /** Confirms payments that are deep enough. The position is stored before: see above. */
  async #advance(height: number, fence: Fence | null): Promise<void> {
    if (this.#book.confirms(height, this.#tags)) await this.#storePosition(fence);
    await this.#book.advance(height, this.#tags);
  }

  async #storePosition(fence: Fence | null): Promise<void> {
    const blocks = this.#unstored;
    if (blocks.length === 0) return;
    await this.#deps.store.advance(this.#chain, blocks, fence);
    this.#unstored = [];
    this.#storedAtMs = this.#deps.clock.monotonic();
  }

  /** Confirms what waits for finality, a rate or fresh lists. */
  async #check(signal: AbortSignal, fence: Fence | null): Promise<void> {
    while (!signal.aborted) {
      await sleep(CRYPTO_LIMITS.checkMs, signal);
      await this.check(signal, fence);
    }
  }

  /** Looks once. */
  async check(signal: AbortSignal, fence: Fence | null): Promise<void> {
    await this.#readTags(signal);
    const height = this.#height;
    if (height !== null && this.#book.isWaiting)
      await this.#inTurn(() => this.#advance(this.#height ?? height, fence));
  }

  async #readTags(signal: AbortSignal): Promise<void> {
    const { adapter, clock } = this.#deps;
    const { taggedBlock } = adapter;
    if (taggedBlock === undefined) return;
    const wanted = (['safe', 'finalized'] as const).filter((tag) => this.#book.needsTag(tag));
    if (wanted.length === 0 || clock.monotonic() - this.#taggedAtMs < CRYPTO_LIMITS.checkMs) return;
    this.#taggedAtMs = clock.monotonic();
    for (const tag of wanted) {
      const block = await taggedBlock(tag, this.#call(signal));
      const earlier = this.#claims.get(tag);
      // The lowest one is processed first.
      if (block !== null && (earlier === undefined || block.height < earlier.height))
        this.#claims.set(tag, block);
      await this.#checkClaim(tag, signal);
    }
  }

  /**
   * Takes the processed blocks for final up to a block with a tag, if it is one of them. It may come from another node than the processed blocks,
   * which may be stuck on a branch that the chain has left.
   */
  async #checkClaim(tag: BlockTag, signal: AbortSignal): Promise<void> {
    const claim = this.#claims.get(tag);
    if (claim === undefined || this.#height === null || claim.height > this.#height) return;
    const { height, hash } = claim;
    const processed = this.#hashAt(height);
    const final = processed === null ? await this.#highestFinal(tag, height, signal) : height;
    // The chain may have been reverted in between.
    if (this.#claims.get(tag) !== claim) return;
    this.#claims.delete(tag);
    if (processed === null || processed === hash) this.#tags = { ...this.#tags, [tag]: final };
    else
      this.#deps.log.warn(
        { chain: this.#chain, tag, height, hash, processed },
        'a node is on another branch: payments are not confirmed',
      );
  }

  /** Blocks above a height were reverted: what the nodes said about them is void. */
  #capTags(height: number): void {
    for (const [tag, final] of Object.entries(this.#tags))
      this.#tags = { ...this.#tags, [tag]: Math.min(final, height) };
    this.#claims.clear();
  }

  #hashAt(height: number): string | null {
    const unstored = this.#unstored.find((block) => block.height === height);
    return unstored?.hash ?? this.#deps.store.hashAt(this.#chain, height);
  }

  /** Compares the blocks of payments one by one, if the block with the tag is too old to be remembered, as on chains with fast blocks. */
  async #highestFinal(tag: BlockTag, height: number, signal: AbortSignal): Promise<number> {
    const { header } = this.#deps.adapter;
    let final = height;
    if (header === undefined) return final;
    for (const block of this.#book.blocksWaiting(tag, height)) {
      const own = await header(block.height, this.#call(signal));
      if (own?.hash !== block.hash) final = Math.min(final, block.height - 1);
    }
    return final;
  }

  async #followPool(unconfirmed: Unconfirmed, signal: AbortSignal): Promise<void> {
    const pollMs = this.#deps.isOwn ? CRYPTO_LIMITS.poolPollMs : CRYPTO_LIMITS.poolPollPublicMs;
    try {
      while (!signal.aborted) {
        await this.#lookAtPool(unconfirmed, signal);
        await sleep(pollMs, signal);
      }
    } finally {
      this.#pool = null;
    }
  }

  async #lookAtPool(unconfirmed: Unconfirmed, signal: AbortSignal): Promise<void> {
    const { adapter } = this.#deps;
    const before = await adapter.head(this.#call(signal));
    const ids = await unconfirmed.ids(this.#call(signal));
    // The node has seen these transactions before this process looked, so its time counts.
    const isFirstLook = this.#pool === null;
    const known = this.#pool ?? new Set<string>();
    const unread = ids.filter((txid) => !known.has(txid));
    const reading = unread.slice(0, CRYPTO_LIMITS.poolReadsMax);
    for (let at = 0; at < reading.length; at += CRYPTO_LIMITS.poolReadsAtOnce)
      await Promise.all(
        reading
          .slice(at, at + CRYPTO_LIMITS.poolReadsAtOnce)
          .map((txid) =>
            this.#readPooled(unconfirmed, txid, isFirstLook || unread.length > reading.length, signal),
          ),
      );
    const skipped = new Set(unread.slice(reading.length));
    this.#pool = new Set(ids.filter((txid) => !skipped.has(txid)));
    // A transaction that left the pool for a block is not missing: the block must be processed first.
    if (this.#height === before.height) await this.#inTurn(() => this.#book.compareWithPool(new Set(ids)));
  }

  async #readPooled(
    unconfirmed: Unconfirmed,
    txid: string,
    isOld: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { table, clock } = this.#deps;
    const transaction = await unconfirmed.transaction(txid, this.#call(signal));
    if (transaction === null || !paysInvoice(transaction, table)) return;
    const nowMs = clock.now();
    const whole = await unconfirmed.withSources(transaction, this.#call(signal));
    const seenAtMs = isOld ? Math.min(nowMs, whole.receivedAtMs ?? nowMs) : nowMs;
    const place = { block: null, seenAtMs, isCoinbase: false };
    for (const sighting of sightingsInTransaction(this.#chain, whole, table, place))
      await this.#inTurn(() => this.#book.observe(sighting));
  }

  /** Whether the payments of an invoice can no longer change. */
  isAtRest({ invoiceId }: Watched): boolean {
    return this.#book.isAtRest(invoiceId);
  }

  forget({ invoiceId }: Watched): void {
    this.#book.forget(invoiceId);
  }
}
