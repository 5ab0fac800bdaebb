/**
 * The payments of one chain from first sight to their final depth. It reports each change to the settlement, which books credits; a report
 * that is repeated changes nothing, so the same blocks may be processed again after a crash.
 *
 * States of a payment: PENDING until it is deep enough; then CONFIRMED, or HELD if its sender must be checked. A reorg makes it PENDING
 * again; a transaction that was replaced, or that is in no block of the new branch, is REVERTED.
 */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { BlockRef, BlockTag } from '../../chains/families/port.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Invoice, InvoicePayment, PaymentFacts, PaymentState, ReportedPayment } from '../records.ts';
import type { Settlement } from '../settlement.ts';
import type { InvoiceStore } from '../store.ts';
import type { CryptoDetails } from './details.ts';
import { CRYPTO_LIMITS } from './limits.ts';
import type { PayerVerdict, ScreenPayers } from './payer.ts';
import { atLockedRate, type UsdRate } from './quote.ts';
import { paymentIdOf, type Sighting } from './sightings.ts';
import { type Depth, isUtxo } from './terms.ts';
import type { Watched } from './watch-table.ts';

export interface PaymentBookDeps {
  readonly invoices: () => Pick<InvoiceStore, 'get'>;
  readonly settlement: () => Pick<Settlement, 'apply'>;
  /** Returns the current rate of a coin or token; null if none is recent enough. */
  readonly rateOf: (chain: ChainId, asset: string) => Promise<UsdRate | null>;
  /** Returns the depth at which payments of a sum count, in cents of USD. */
  readonly depthOf: (chain: ChainId, usdCents: number) => Depth;
  readonly screen: ScreenPayers;
  /** Whether an asset is money: tokens that anyone can issue are ignored. */
  readonly isKnownAsset: (chain: ChainId, asset: string) => boolean;
  /** Reads the senders of a payment in a block again; null if they are unknown. */
  readonly payersOf: (txHash: string, position: string, block: BlockRef) => Promise<readonly string[] | null>;
  readonly log: Logger;
}

/** A payment that may still change. */
interface Tracked {
  readonly id: string;
  readonly accountId: string;
  readonly invoiceId: string;
  readonly txHash: string;
  readonly position: string;
  /** As in a Transfer. */
  readonly asset: string;
  /** As in the amount due, or with the chain if it is another asset. */
  readonly shownAsset: string;
  readonly amount: bigint;
  readonly seenAtMs: number;
  /** False for an asset that is not that of the invoice. */
  readonly isExpected: boolean;
  depth: Depth;
  /** In the unit of the amount due; null while a late payment waits for a rate. */
  value: bigint | null;
  payers: readonly string[] | null;
  /** Height of the chain when its block was read for unknown senders: a block is read once for each new one. */
  askedAt: number | null;
  block: BlockRef | null;
  /** Height of the chain when its block was reverted; null if it was not. */
  lostAt: number | null;
  /** Consecutive looks at the pool of the node without it. */
  missed: number;
  state: PaymentState;
  reason: string | null;
  /** The last verdict about its senders. A sanctioned sender is left to the operator, also if a list changes later. */
  verdict: PayerVerdict['kind'] | null;
}

/** Heights up to which the processed blocks are safe and finalized; a missing one is unknown. */
export type TagHeights = Partial<Record<BlockTag, number>>;

const REPLACED = 'The transaction was replaced, or dropped by the nodes.';
const NOT_INCLUDED = 'The block of the transaction was reverted, and no later block has it.';
const MOVED = 'The transaction is in another block now, where the transfer has another number.';
const OTHER_ASSET = 'The asset is not that of the invoice.';

const firstState = (isExpected: boolean): Pick<Tracked, 'state' | 'reason'> =>
  isExpected ? { state: 'PENDING', reason: null } : { state: 'WRONG_ASSET', reason: OTHER_ASSET };

const cryptoOf = (invoice: Invoice | null): CryptoDetails | null => invoice?.details.crypto ?? null;

const verdictOf = (fact: unknown): PayerVerdict['kind'] | null =>
  fact === 'CLEAR' || fact === 'SANCTIONED' || fact === 'UNCHECKED' ? fact : null;

const FINAL: ReadonlySet<PaymentState> = new Set(['REVERTED', 'REFUSED', 'WRONG_ASSET']);

export class PaymentBook {
  readonly #chain: ChainId;
  readonly #deps: PaymentBookDeps;
  readonly #tracked = new Map<string, Tracked>();
  /** Those of them that a further block may change. Most payments are deep, and each block looks only at these. */
  readonly #waiting = new Set<Tracked>();
  /** Height of the newest block that was processed. */
  #height = 0;

  constructor(chain: ChainId, deps: PaymentBookDeps) {
    this.#chain = chain;
    this.#deps = deps;
  }

  /** Number of payments that may still change. */
  get size(): number {
    return this.#tracked.size;
  }

  /** Whether any payment waits for a block, a rate, fresh lists or an operator. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether `advance` would confirm or hold a payment, or check a held one again. */
  confirms(height: number, tags: TagHeights): boolean {
    for (const tracked of this.#waiting) if (isDue(tracked, height, tags)) return true;
    return false;
  }

  /** Whether a payment waits for a block with a tag. */
  needsTag(tag: BlockTag): boolean {
    for (const { depth, state, block } of this.#waiting)
      if (state === 'PENDING' && block !== null && 'tag' in depth && depth.tag === tag) return true;
    return false;
  }

  /** Returns the blocks of the payments that wait for a block with a tag and are not above a height. */
  blocksWaiting(tag: BlockTag, height: number): readonly BlockRef[] {
    const blocks = new Map<string, BlockRef>();
    for (const { depth, state, block } of this.#waiting)
      if (
        state === 'PENDING' &&
        block !== null &&
        'tag' in depth &&
        depth.tag === tag &&
        block.height <= height
      )
        blocks.set(block.hash, block);
    return [...blocks.values()];
  }

  /** Loads the stored payments of an invoice on this chain, after a start. */
  load({ accountId, invoiceId }: Watched): void {
    const invoice = this.#deps.invoices().get(accountId, invoiceId);
    const details = cryptoOf(invoice);
    if (invoice === null || details === null) return;
    for (const payment of invoice.payments) this.#load(invoice, details, payment);
    this.#setDepths(invoice, details);
  }

  /** Sets the depth by the sum of all payments of an invoice: a surplus buys credits as well, and an attack on it is worth as much. */
  #setDepths({ id, amount: priceCents, due }: Invoice, { depth }: CryptoDetails): void {
    const counted = [...this.#tracked.values()].filter(
      ({ invoiceId, isExpected, state }) => invoiceId === id && isExpected && !FINAL.has(state),
    );
    const sum = counted.reduce((total, { value, amount }) => total + (value ?? amount), 0n);
    const cents = Number((sum * BigInt(priceCents)) / BigInt(due.amount));
    const needed = cents > priceCents ? this.#deps.depthOf(this.#chain, cents) : depth;
    for (const tracked of counted) tracked.depth = needed;
  }

  #load(invoice: Invoice, details: CryptoDetails, payment: InvoicePayment): void {
    const { chain, asset, transaction, position, height, blockHash } = payment.facts;
    if (chain !== this.#chain || this.#tracked.has(payment.id)) return;
    if (typeof transaction !== 'string' || typeof position !== 'string' || typeof asset !== 'string') return;
    const block =
      typeof height === 'number' && typeof blockHash === 'string' ? { height, hash: blockHash } : null;
    this.#track({
      ...{ id: payment.id, accountId: invoice.accountId, invoiceId: invoice.id },
      ...{ txHash: transaction, position, asset, shownAsset: payment.asset, amount: BigInt(payment.amount) },
      ...{
        seenAtMs: payment.seenAtMs,
        depth: details.depth,
        isExpected: payment.asset === invoice.due.asset,
      },
      // Reported with 0 while it waits for a rate.
      value: payment.value === '0' ? null : BigInt(payment.value),
      ...{ payers: null, askedAt: null, block, lostAt: null, missed: 0 },
      ...{ state: payment.state, reason: payment.reason },
      verdict: verdictOf(payment.facts.verdict),
    });
  }

  #track(tracked: Tracked): void {
    this.#tracked.set(tracked.id, tracked);
    this.#sort(tracked);
  }

  /** Notes whether a further block may change a payment. */
  #sort(tracked: Tracked): void {
    const { state, block } = tracked;
    if (state === 'PENDING' || state === 'HELD' || (state === 'WRONG_ASSET' && block === null))
      this.#waiting.add(tracked);
    else this.#waiting.delete(tracked);
  }

  /** Records money that arrived at the address of an invoice. */
  async observe(sighting: Sighting): Promise<void> {
    const { watched, asset, amount, block } = sighting;
    const id = paymentIdOf(sighting);
    const known = this.#tracked.get(id);
    if (known !== undefined) return this.#observeAgain(known, sighting);
    const { accountId, invoiceId } = watched;
    const invoice = this.#deps.invoices().get(accountId, invoiceId);
    const details = cryptoOf(invoice);
    if (invoice === null || details === null) return;
    const stored = invoice.payments.find((payment) => payment.id === id);
    if (stored !== undefined) {
      this.#load(invoice, details, stored);
      const loaded = this.#tracked.get(id);
      if (loaded !== undefined) return this.#observeAgain(loaded, sighting);
    }
    const isExpected = details.chain === this.#chain && details.asset === asset;
    if (!isExpected && !this.#deps.isKnownAsset(this.#chain, asset)) return;
    const { txHash, position, payers, seenAtMs } = sighting;
    const tracked: Tracked = {
      ...{ id, accountId, invoiceId, txHash, position, asset, amount, seenAtMs, payers, block, isExpected },
      shownAsset: isExpected ? invoice.due.asset : `${this.#chain}:${asset}`,
      ...{ depth: details.depth, value: null, askedAt: null, lostAt: null, missed: 0, verdict: null },
      ...firstState(isExpected),
    };
    await this.#revertSiblings(tracked);
    if (isExpected) await this.#setValue(tracked, invoice);
    await this.#report(tracked);
    this.#track(tracked);
    this.#setDepths(invoice, details);
    this.#deps.log.info(
      { chain: this.#chain, invoice: invoiceId, accountId, payment: id, state: tracked.state },
      'payment seen',
    );
  }

  async #observeAgain(tracked: Tracked, { block, payers }: Sighting): Promise<void> {
    tracked.payers = payers ?? tracked.payers;
    tracked.missed = 0;
    const isSameBlock = tracked.block?.hash === block?.hash;
    // A transaction of a block is not unconfirmed because another node has not read that block yet.
    const isBehind = tracked.block !== null && block === null;
    if (tracked.state !== 'REVERTED' && (isSameBlock || isBehind)) return;
    await this.#revertSiblings(tracked);
    await this.#change(tracked, {
      block,
      lostAt: null,
      ...(tracked.state === 'REVERTED' ? firstState(tracked.isExpected) : {}),
    });
    const invoice = this.#deps.invoices().get(tracked.accountId, tracked.invoiceId);
    const details = cryptoOf(invoice);
    if (invoice !== null && details !== null) this.#setDepths(invoice, details);
  }

  /** Reverts payments of the same transaction that a reorg has left with another number. */
  async #revertSiblings({ id, txHash, invoiceId }: Tracked): Promise<void> {
    for (const other of this.#tracked.values()) {
      const isLeft = other.block === null && other.state !== 'REVERTED';
      if (
        isLeft &&
        !isUtxo(this.#chain) &&
        other.txHash === txHash &&
        other.invoiceId === invoiceId &&
        other.id !== id
      )
        await this.#change(other, { state: 'REVERTED', reason: MOVED });
    }
  }

  /** Sets what a payment is worth: its amount, or after the expiry its amount at the current rate. */
  async #setValue(tracked: Tracked, invoice: Invoice): Promise<void> {
    if (tracked.seenAtMs < invoice.expiresAtMs) {
      tracked.value = tracked.amount;
      return;
    }
    const now = await this.#deps.rateOf(this.#chain, tracked.asset);
    if (now === null || invoice.rate === null) return;
    const locked = { usd: invoice.rate.value, source: invoice.rate.source, atMs: invoice.rate.atMs };
    tracked.value = atLockedRate(tracked.amount, now, locked);
  }

  /** Applies a change only if it was reported: after a failure, the block is processed again. */
  async #change(
    tracked: Tracked,
    change: Partial<Pick<Tracked, 'state' | 'reason' | 'block' | 'lostAt' | 'verdict'>>,
  ): Promise<void> {
    await this.#report({ ...tracked, ...change });
    Object.assign(tracked, change);
    this.#sort(tracked);
  }

  async #report(tracked: Tracked): Promise<void> {
    const { id, accountId, invoiceId, shownAsset: asset, amount, value, state, reason, seenAtMs } = tracked;
    const payment: ReportedPayment = {
      ...{ id, asset, amount: String(amount), state, reason, seenAtMs },
      value: String(tracked.isExpected ? (value ?? 0n) : 0n),
      facts: this.#factsOf(tracked),
    };
    try {
      await this.#deps.settlement().apply(accountId, invoiceId, { kind: 'payment', payment });
    } catch (error) {
      const isRefused = error instanceof AssayError && ['INVALID_REQUEST', 'NOT_FOUND'].includes(error.code);
      if (!isRefused) throw error;
      // Hundreds of payments at one address: the chain has them, and `assay billing verify` finds them.
      this.#deps.log.error(
        { payment: id, invoice: invoiceId, error: messageOf(error) },
        'payment not recorded',
      );
    }
  }

  #factsOf({ txHash, position, asset, block, payers, verdict }: Tracked): PaymentFacts {
    const { payersShownMax } = CRYPTO_LIMITS;
    const shown = payers?.slice(0, payersShownMax).join(' ') ?? null;
    return {
      ...{ chain: this.#chain, asset, transaction: txHash, position },
      ...{ height: block?.height ?? null, blockHash: block?.hash ?? null, payers: shown },
      ...{ payerCount: payers?.length ?? null, verdict },
    };
  }

  /**
   * Confirms payments that are deep enough, and gives up those that a reorg removed.
   *
   * @param height - of the newest processed block
   */
  async advance(height: number, tags: TagHeights = {}): Promise<void> {
    this.#height = height;
    for (const tracked of [...this.#waiting]) {
      const { block, state } = tracked;
      const isLost = block === null && (state === 'PENDING' || state === 'WRONG_ASSET');
      if (isLost && !isUtxo(this.#chain)) {
        tracked.lostAt ??= height;
        if (height >= tracked.lostAt + CRYPTO_LIMITS.reinclusionBlocks)
          await this.#change(tracked, { state: 'REVERTED', reason: NOT_INCLUDED });
        continue;
      }
      if (block !== null && isDue(tracked, height, tags)) await this.#confirm(tracked, block);
    }
  }

  async #confirm(tracked: Tracked, block: BlockRef): Promise<void> {
    const invoice = this.#deps.invoices().get(tracked.accountId, tracked.invoiceId);
    if (invoice === null) return;
    if (tracked.value === null) await this.#setValue(tracked, invoice);
    if (tracked.value === null) return;
    if (tracked.payers === null && tracked.askedAt !== this.#height) {
      tracked.payers = await this.#deps.payersOf(tracked.txHash, tracked.position, block);
      tracked.askedAt = this.#height;
    }
    const verdict = this.#deps.screen(this.#chain, tracked.payers);
    const isReleased = invoice.payments.some(
      ({ id, releasedAtMs }) => id === tracked.id && releasedAtMs !== null,
    );
    if (verdict.kind === 'CLEAR' || isReleased)
      return this.#change(tracked, { state: 'CONFIRMED', reason: null, verdict: verdict.kind });
    if (tracked.state === 'HELD' && tracked.reason === verdict.reason) return;
    await this.#change(tracked, { state: 'HELD', reason: verdict.reason, verdict: verdict.kind });
    this.#deps.log.warn(
      {
        chain: this.#chain,
        invoice: tracked.invoiceId,
        accountId: tracked.accountId,
        payment: tracked.id,
        verdict: verdict.kind,
      },
      'payment held',
    );
  }

  /** Makes payments pending whose blocks the chain reverted. */
  async revert(ancestorHeight: number): Promise<void> {
    for (const tracked of [...this.#tracked.values()]) {
      const { block, state } = tracked;
      if (block === null || block.height <= ancestorHeight) continue;
      // After a start, the book has no height yet.
      const lost = { block: null, lostAt: Math.max(this.#height, block.height) };
      // Stored also for another asset: after a start, the payment would otherwise seem to be in its old block.
      if (state === 'WRONG_ASSET') await this.#change(tracked, lost);
      else if (FINAL.has(state)) Object.assign(tracked, lost);
      else await this.#change(tracked, { ...lost, state: 'PENDING', reason: null, verdict: null });
    }
    this.#height = Math.min(this.#height, ancestorHeight);
  }

  /**
   * After a start, makes the pending payments above the stored position wait until their block is read again: the chain may have reverted it
   * since. Others are confirmed only after the position is stored.
   */
  async readAgainAbove(height: number): Promise<void> {
    for (const tracked of [...this.#tracked.values()]) {
      const { block, state } = tracked;
      if (block === null || block.height <= height) continue;
      if (state === 'PENDING' || state === 'WRONG_ASSET')
        await this.#change(tracked, { block: null, lostAt: block.height });
    }
  }

  /** Compares the pending payments with the pool of a node. A payment that is missing twice is reverted. */
  async compareWithPool(ids: ReadonlySet<string>): Promise<void> {
    for (const tracked of [...this.#tracked.values()]) {
      const { block, state, txHash } = tracked;
      if (block !== null || !tracked.isExpected) continue;
      if (ids.has(txHash)) {
        tracked.missed = 0;
        if (state === 'REVERTED') await this.#change(tracked, { state: 'PENDING', reason: null });
        continue;
      }
      tracked.missed++;
      if (state === 'PENDING' && tracked.missed >= CRYPTO_LIMITS.poolMissesMax)
        await this.#change(tracked, { state: 'REVERTED', reason: REPLACED });
    }
  }

  /** Reverts pending payments of an invoice that a look at its reference key did not find twice: their block was skipped. */
  async withdrawMissing(invoiceId: string, found: ReadonlySet<string>): Promise<void> {
    for (const tracked of [...this.#tracked.values()]) {
      if (tracked.invoiceId !== invoiceId || tracked.state !== 'PENDING') continue;
      tracked.missed = found.has(tracked.id) ? 0 : tracked.missed + 1;
      if (tracked.missed >= CRYPTO_LIMITS.poolMissesMax)
        await this.#change(tracked, { state: 'REVERTED', reason: NOT_INCLUDED });
    }
  }

  /** Whether all payments of an invoice are so deep that no reorg changes them, or are gone. */
  isAtRest(invoiceId: string): boolean {
    for (const { invoiceId: own, state, block } of this.#tracked.values()) {
      if (own !== invoiceId || FINAL.has(state)) continue;
      if (state === 'PENDING' || block === null) return false;
      if (state === 'HELD' || block.height > this.#height - CHAIN_LIMITS.reorgBlocksMax) return false;
    }
    return true;
  }

  /** Forgets the payments of an invoice. */
  forget(invoiceId: string): void {
    for (const tracked of [...this.#tracked.values()]) {
      if (tracked.invoiceId !== invoiceId) continue;
      this.#tracked.delete(tracked.id);
      this.#waiting.delete(tracked);
    }
  }
}

/** Whether a payment must be checked, and be confirmed if its sender is. */
function isDue({ state, verdict, block, depth, missed }: Tracked, height: number, tags: TagHeights): boolean {
  // A look at its reference key did not find it.
  if (missed > 0 || block === null) return false;
  const isOpen = state === 'PENDING' || (state === 'HELD' && verdict !== 'SANCTIONED');
  return isOpen && isDeep(depth, block.height, height, tags);
}

function isDeep(depth: Depth, blockHeight: number, height: number, tags: TagHeights): boolean {
  if ('blocks' in depth) return height - blockHeight + 1 >= depth.blocks;
  return (tags[depth.tag] ?? -1) >= blockHeight;
}
