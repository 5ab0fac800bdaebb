/**
 * Brings authorizations of one chain into blocks, with the operator's gas-paying account, and follows them until no reorg can change them.
 * It runs on the node that holds the lease of the chain.
 *
 * A payment is QUEUED until its signed transaction is stored; only then is it sent. After a kill, the stored transaction is sent again, which
 * changes nothing if a node has it. The contract accepts each authorization once, so no repetition takes money twice.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import { asHexAmount, asHexCount, asObject } from '../../chains/endpoints/exact-json.ts';
import { RpcRefusal } from '../../chains/endpoints/json-rpc.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Handover } from '../../state/handover.ts';
import type { Fence } from '../../state/live-store.ts';
import { X402_LIMITS } from './limits.ts';
import type { AuthorizedPayment, Sending, Transfer } from './records.ts';
import type { AuthorizedPayments } from './store.ts';
import type { Eip3009Token, FoundTransfer, TransactionReceipt } from './token.ts';

export interface RelayOptions {
  /** `0x` and 64 hexadecimal digits. It holds coins for gas only. */
  readonly privateKey: string;
  /** Blocks that must contain or follow a payment, 1 or more. */
  readonly confirmations: number;
  /** Highest price, wei per gas. */
  readonly feeMax: bigint;
  /** With more coins than this, in wei, the account sends nothing: a key on a server must be worth little. */
  readonly balanceMax: bigint;
  readonly pollMs?: number;
  readonly bumpMs?: number;
}

export interface RelayDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: AuthorizedPayments;
  readonly token: (asset: string) => Eip3009Token;
}

/** A reason that lies with this service: the authorization was never on the chain, and may be presented again. */
export const UNAVAILABLE = 'unexpected_settle_error';
const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before';
const USED = 'invalid_exact_evm_nonce_already_used';
/** Errors of an answer about one payment, and not of the node. */
const OF_ONE_PAYMENT: ReadonlySet<string> = new Set(['CHAIN_BAD_ANSWER', 'CHAIN_REFUSED']);

const isOfNode = (error: unknown): boolean =>
  error instanceof AssayError && error.code.startsWith('CHAIN_') && !OF_ONE_PAYMENT.has(error.code);

/** Returns the address of a private key. */
export async function addressOfKey(privateKey: string): Promise<string> {
  const { computeAddress } = await import('ethers');
  return computeAddress(privateKey).toLowerCase();
}

const failed = (transfer: Transfer, reason: string, change: Partial<Transfer> = {}): Transfer => ({
  ...transfer,
  ...{ state: 'FAILED', reason, mayRetry: false, arrival: null, isFinal: true },
  ...change,
});

export class Relay {
  readonly #chain: ChainId;
  readonly #options: RelayOptions;
  readonly #deps: RelayDeps;
  #address: string | null = null;
  #wake: (() => void) | null = null;
  /** Monotonic time of the last look at payments that are settled, but not final. */
  #deepAtMs = Number.NEGATIVE_INFINITY;
  readonly #sentAgainAt = new Map<string, number>();
  /** Monotonic times until which payments that could not be read are left aside. */
  readonly #asideUntilMs = new Map<string, number>();
  #problem = '';

  constructor(chain: ChainId, options: RelayOptions, deps: RelayDeps) {
    this.#chain = chain;
    this.#options = options;
    this.#deps = deps;
  }

  async address(): Promise<string> {
    this.#address ??= await addressOfKey(this.#options.privateKey);
    return this.#address;
  }

  /**
   * Works until `signal` is aborted.
   *
   * @param handover - ends the work if this node does not reach the chain and another one might; null if there is no other node
   */
  async run(signal: AbortSignal, fence: Fence | null, handover: Handover | null = null): Promise<void> {
    const stop = this.#deps.store.onChange(() => this.#wake?.());
    try {
      while (!signal.aborted) {
        try {
          if (await this.step(fence)) handover?.succeeded();
          this.#problem = '';
        } catch (error) {
          if (isOfNode(error) && handover?.failed()) return;
          const reason = messageOf(error);
          if (reason !== this.#problem)
            this.#deps.log.error({ chain: this.#chain, error: reason }, 'settlement of payments failed');
          this.#problem = reason;
        }
        await this.#pause(signal);
      }
    } finally {
      stop();
    }
  }

  /** Waits for the next look: at once after a new payment, and not at all often if nothing is open. */
  async #pause(signal: AbortSignal): Promise<void> {
    const waking = new AbortController();
    const end = (): void => waking.abort();
    signal.addEventListener('abort', end, { once: true });
    this.#wake = () => {
      const hasNew = this.#deps.store.open(this.#chain).some(({ transfer }) => transfer.state === 'QUEUED');
      if (hasNew) waking.abort();
    };
    try {
      if (!signal.aborted)
        await sleep(this.#options.pollMs ?? X402_LIMITS.settlePollMs, waking.signal).catch(() => {});
    } finally {
      this.#wake = null;
      signal.removeEventListener('abort', end);
    }
  }

  /** Looks at all open payments once. Returns whether the chain was read. */
  async step(fence: Fence | null): Promise<boolean> {
    const { store, clock } = this.#deps;
    const open = store.open(this.#chain);
    if (open.length === 0) return false;
    const isDeepDue = clock.monotonic() - this.#deepAtMs >= X402_LIMITS.deepPollMs;
    const due = open.filter(({ transfer: { state } }) => isDeepDue || state === 'QUEUED' || state === 'SENT');
    if (isDeepDue) this.#deepAtMs = clock.monotonic();
    if (due.length === 0) return false;
    const first = due[0] as AuthorizedPayment;
    const head = await this.#deps.token(first.asset).height();
    const latest = await this.#nonce(first, 'latest');
    const failures: unknown[] = [];
    for (const payment of due.filter(({ transfer }) => transfer.state !== 'QUEUED'))
      await this.#apart(payment, failures, () => this.#follow(payment, head, latest, fence));
    for (const payment of due.filter(({ transfer }) => transfer.state === 'QUEUED'))
      await this.#apart(payment, failures, () => this.#send(payment, fence));
    for (const [key, untilMs] of this.#asideUntilMs)
      if (untilMs <= clock.monotonic()) this.#asideUntilMs.delete(key);
    if (failures.length > 0) throw failures[0];
    return true;
  }

  /**
   * Looks at one payment. If what the chain has of it cannot be read, it is left aside for a while: one payment must not hold up the others.
   *
   * @throws the error if it is one of the node or of the store, which concerns all payments
   */
  async #apart({ key }: AuthorizedPayment, failures: unknown[], look: () => Promise<void>): Promise<void> {
    const { clock } = this.#deps;
    if ((this.#asideUntilMs.get(key) ?? Number.NEGATIVE_INFINITY) > clock.monotonic()) return;
    try {
      await look();
    } catch (error) {
      if (error instanceof AssayError && !OF_ONE_PAYMENT.has(error.code)) throw error;
      this.#asideUntilMs.set(key, clock.monotonic() + X402_LIMITS.deepPollMs);
      failures.push(error);
    }
  }

  async #nonce({ asset }: AuthorizedPayment, block: 'latest' | 'pending'): Promise<number> {
    const address = await this.address();
    return this.#deps
      .token(asset)
      .node.rpc('eth_getTransactionCount', [address, block], (result) => asHexCount(result, 'nonce'));
  }

  /** Stores another state of a payment, if it is still as it was read. Returns whether it was. */
  async #change(payment: AuthorizedPayment, transfer: Transfer, fence: Fence | null): Promise<boolean> {
    let isSame = false;
    await this.#deps.store.change(
      payment.key,
      (stored) => {
        isSame = stored?.transfer.state === payment.transfer.state;
        return stored === null || !isSame ? null : { ...stored, transfer };
      },
      fence,
    );
    const { state, reason, arrival } = transfer;
    if (!isSame || (state === payment.transfer.state && reason === payment.transfer.reason)) return isSame;
    this.#deps.log.info(
      {
        chain: this.#chain,
        payment: payment.key,
        kind: payment.kind,
        state,
        reason,
        transaction: arrival?.transaction ?? null,
      },
      'authorized payment changed',
    );
    return true;
  }

  /** Signs the transaction of a payment, stores it, and sends it. */
  async #send(payment: AuthorizedPayment, fence: Fence | null): Promise<void> {
    const { authorization, asset, transfer } = payment;
    const token = this.#deps.token(asset);
    const refuse = async (reason: string, change?: Partial<Transfer>): Promise<void> => {
      await this.#change(payment, failed(transfer, reason, change), fence);
    };
    // Read before its use: a use in a block after this time is impossible if it is after the expiry.
    const chainNow = await token.timestamp();
    const now = Math.max(Math.floor(this.#deps.clock.now() / 1_000), chainNow);
    if (BigInt(authorization.validBefore) <= BigInt(now)) {
      // A transaction that is not stored may have used it: that of another sender, or one that a backup or Redis does not have.
      if (await token.isUsed(authorization.from, authorization.nonce)) return this.#settleUse(payment, fence);
      return refuse(EXPIRED, { isFinal: BigInt(authorization.validBefore) <= BigInt(chainNow) });
    }
    const unfinished = this.#deps.store
      .open(this.#chain)
      .flatMap(({ transfer: { state, sending } }) =>
        state === 'SENT' && sending !== null ? [sending.accountNonce] : [],
      );
    if (unfinished.length >= X402_LIMITS.inFlightMax) return;
    const reason = await token.simulate(authorization, await this.address());
    // Used by another sender since it was stored: the money is here, or the payer has cancelled it.
    if (reason === USED) return this.#settleUse(payment, fence);
    if (reason !== null) return refuse(reason);
    const terms = await this.#terms(payment);
    if (typeof terms === 'string') {
      this.#deps.log.error({ chain: this.#chain, reason: terms }, 'payment not sent');
      return refuse(UNAVAILABLE, { mayRetry: true });
    }
    const accountNonce = Math.max(
      await this.#nonce(payment, 'pending'),
      ...unfinished.map((nonce) => nonce + 1),
    );
    const sending = await this.#sign(payment, {
      ...terms,
      accountNonce,
      attempts: [],
      sentAtMs: this.#deps.clock.now(),
    });
    const sent: Transfer = { ...transfer, state: 'SENT', sending };
    // Nothing is sent that a restart would not find.
    if (await this.#change(payment, sent, fence)) await this.#broadcast(payment, sending);
  }

  /** Returns the gas and its price, or why nothing is sent. */
  async #terms({
    authorization,
    asset,
  }: AuthorizedPayment): Promise<Pick<Sending, 'gas' | 'maxFee' | 'tip'> | string> {
    const { feeMax, balanceMax } = this.#options;
    const token = this.#deps.token(asset);
    const { rpc } = token.node;
    const from = await this.address();
    const call = { from, to: asset, data: await token.transferData(authorization) };
    const estimate = await rpc('eth_estimateGas', [call], (result) => asHexCount(result, 'gas'));
    const gas = Math.ceil((estimate * X402_LIMITS.transferGasPercent) / 100);
    if (gas > X402_LIMITS.gasMax)
      return `The transfer would take ${gas} gas, more than ${X402_LIMITS.gasMax}.`;
    const base = await rpc('eth_getBlockByNumber', ['latest', false], (result) => {
      const { baseFeePerGas } = asObject(result, 'block');
      return baseFeePerGas === undefined ? null : asHexAmount(baseFeePerGas, 'baseFeePerGas');
    });
    const price = await rpc('eth_gasPrice', [], (result) => asHexAmount(result, 'gas price'));
    if (price > feeMax) return `The gas price is ${price} wei, above ASSAY_RELAY_MAX_FEE_GWEI.`;
    const tip = base === null || price < base ? price : price - base;
    const wanted = base === null ? price : 2n * base + tip;
    const maxFee = wanted < feeMax ? wanted : feeMax;
    const balance = await token.balanceOfCoin(from);
    if (balance > balanceMax)
      return `The account ${from} holds ${balance} wei, more than ASSAY_RELAY_BALANCE_MAX. Move the rest away: its key is on a server.`;
    if (balance < maxFee * BigInt(gas))
      return `The account ${from} holds ${balance} wei, too little for gas.`;
    return { gas, maxFee: String(maxFee), tip: String(tip < maxFee ? tip : maxFee) };
  }

  async #sign({ asset, authorization }: AuthorizedPayment, sending: Sending): Promise<Sending> {
    const { Transaction, SigningKey } = await import('ethers');
    const token = this.#deps.token(asset);
    const transaction = Transaction.from({
      ...{ type: 2, chainId: token.node.chainId, nonce: sending.accountNonce, to: asset },
      data: await token.transferData(authorization),
      gasLimit: sending.gas,
      maxFeePerGas: BigInt(sending.maxFee),
      maxPriorityFeePerGas: BigInt(sending.tip),
    });
    transaction.signature = new SigningKey(this.#options.privateKey).sign(transaction.unsignedHash);
    const attempt = { hash: transaction.hash as string, raw: transaction.serialized };
    return { ...sending, attempts: [...sending.attempts, attempt] };
  }

  /** Sends the newest attempt. A node that has it, or has mined its nonce, refuses it: the next look shows which. */
  async #broadcast({ asset, key }: AuthorizedPayment, { attempts }: Sending): Promise<void> {
    this.#sentAgainAt.set(key, this.#deps.clock.monotonic());
    const raw = attempts.at(-1)?.raw ?? '';
    try {
      await this.#deps.token(asset).node.rpc('eth_sendRawTransaction', [raw], () => null);
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      const isKnown =
        error instanceof RpcRefusal && /known|imported|nonce too low|underpriced/i.test(error.message);
      if (!isKnown)
        this.#deps.log.warn(
          { chain: this.#chain, payment: key, error: error.message },
          'payment not accepted by the node yet',
        );
    }
  }

  /** Finds the transfer of a payment, or the transaction of this account that was reverted; null if no block has one. */
  async #receiptOf(payment: AuthorizedPayment, head: number): Promise<TransactionReceipt | null> {
    const { asset, authorization, transfer } = payment;
    const { arrival, sending } = transfer;
    const token = this.#deps.token(asset);
    const own = sending?.attempts.map(({ hash }) => hash).reverse() ?? [];
    if (arrival !== null && !own.includes(arrival.transaction)) {
      // A reorg may have moved it to an earlier block.
      const since = Math.max(0, arrival.height - X402_LIMITS.finalBlocks);
      const use = await token.findUse(authorization, since, head);
      if (use !== null) return { ...use, isSuccess: true, hasTransfer: true };
    }
    for (const hash of new Set([...(arrival === null ? [] : [arrival.transaction]), ...own])) {
      const receipt = await token.receipt(hash, authorization);
      if (receipt !== null) return receipt;
    }
    return null;
  }

  /** Looks at a payment that has, or had, a transaction. */
  async #follow(
    payment: AuthorizedPayment,
    head: number,
    latest: number,
    fence: Fence | null,
  ): Promise<void> {
    const { transfer } = payment;
    if (transfer.state === 'FAILED') return this.#watchFailed(payment, fence);
    const receipt = await this.#receiptOf(payment, head);
    if (receipt?.isSuccess && receipt.hasTransfer) return this.#arrived(payment, receipt, head, fence);
    if (receipt !== null) return this.#reverted(payment, receipt, head, fence);
    if (transfer.state === 'SETTLED') {
      // A reorg has removed it. The stored transaction is sent again; if another sender's was removed, it is queued.
      this.#deps.log.warn({ chain: this.#chain, payment: payment.key }, 'payment removed by a reorg');
      const state = transfer.sending === null ? 'QUEUED' : 'SENT';
      await this.#change(payment, { ...transfer, state, arrival: null }, fence);
      return;
    }
    const { sending } = transfer;
    if (sending === null || latest > sending.accountNonce) {
      // Another transaction has taken the nonce of the account. The receipt was read after the nonce, so it would have been seen.
      await this.#change(payment, { ...transfer, state: 'QUEUED', sending: null }, fence);
      return;
    }
    await this.#sendAgain(payment, sending, fence);
  }

  /** Sends a pending transaction again: unchanged, or after a longer time with a higher fee. */
  async #sendAgain(payment: AuthorizedPayment, sending: Sending, fence: Fence | null): Promise<void> {
    const { feeMax, bumpMs = X402_LIMITS.feeBumpMs } = this.#options;
    const raised = (text: string): bigint => (BigInt(text) * BigInt(X402_LIMITS.bumpPercent)) / 100n + 1n;
    const maxFee = raised(sending.maxFee);
    const isOld = this.#deps.clock.now() - sending.sentAtMs > bumpMs;
    if (isOld && maxFee <= feeMax && sending.attempts.length < X402_LIMITS.feeAttemptsMax) {
      const next = await this.#sign(payment, {
        ...sending,
        ...{ maxFee: String(maxFee), tip: String(raised(sending.tip)), sentAtMs: this.#deps.clock.now() },
      });
      if (await this.#change(payment, { ...payment.transfer, sending: next }, fence))
        await this.#broadcast(payment, next);
      return;
    }
    const lastMs = this.#sentAgainAt.get(payment.key) ?? Number.NEGATIVE_INFINITY;
    if (this.#deps.clock.monotonic() - lastMs >= X402_LIMITS.resendMs)
      await this.#broadcast(payment, sending);
  }

  async #arrived(
    payment: AuthorizedPayment,
    { transaction, height, blockHash }: FoundTransfer,
    head: number,
    fence: Fence | null,
  ): Promise<void> {
    const { transfer } = payment;
    if (head - height + 1 < this.#options.confirmations) return;
    const isFinal = head - height >= X402_LIMITS.finalBlocks;
    const isKnown = transfer.arrival?.blockHash === blockHash && transfer.arrival.transaction === transaction;
    if (isKnown && transfer.isFinal === isFinal) return;
    const settledAtMs = transfer.arrival?.settledAtMs ?? this.#deps.clock.now();
    if (isFinal) this.#sentAgainAt.delete(payment.key);
    await this.#change(
      payment,
      {
        ...transfer,
        state: 'SETTLED',
        reason: null,
        mayRetry: false,
        isFinal,
        arrival: { transaction, height, blockHash, settledAtMs },
      },
      fence,
    );
  }

  /** The transaction reverted: the authorization was used by another sender, cancelled, or could not be executed. */
  async #reverted(
    payment: AuthorizedPayment,
    { height }: TransactionReceipt,
    head: number,
    fence: Fence | null,
  ): Promise<void> {
    if (head - height + 1 < this.#options.confirmations) return;
    await this.#settleUse(payment, fence);
  }

  /** Finds what became of an authorization that can no longer be sent, or could not be. */
  async #settleUse(payment: AuthorizedPayment, fence: Fence | null): Promise<void> {
    const { authorization, asset, transfer } = payment;
    const token = this.#deps.token(asset);
    const head = await token.height();
    if (!(await token.isUsed(authorization.from, authorization.nonce))) {
      // It is public now. Until it expires, anyone may use it, so it is watched until then.
      const reason = await token.failureOf(authorization);
      await this.#change(payment, failed(transfer, reason, { isFinal: false }), fence);
      return;
    }
    const use = await token.findUse(authorization, transfer.sinceHeight, head);
    if (use !== null) return this.#arrived(payment, use, head, fence);
    // Cancelled, or the node's logs are behind its state: it is looked for until it would have expired.
    const isOver = BigInt(await token.timestamp()) >= BigInt(authorization.validBefore);
    await this.#change(payment, failed(transfer, USED, { isFinal: isOver }), fence);
  }

  /** Looks at a failed payment with an authorization that may still be used by another sender. */
  async #watchFailed(payment: AuthorizedPayment, fence: Fence | null): Promise<void> {
    const { authorization, asset, transfer } = payment;
    const token = this.#deps.token(asset);
    // Read first: a use in a block after this time is impossible if it is after the expiry.
    const now = await token.timestamp();
    if (await token.isUsed(authorization.from, authorization.nonce)) return this.#settleUse(payment, fence);
    if (BigInt(now) >= BigInt(authorization.validBefore))
      await this.#change(payment, { ...transfer, isFinal: true }, fence);
  }
}
