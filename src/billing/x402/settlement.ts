/** Takes signed authorizations: checks them, stores them, and resolves when the chain has decided. Any node takes them; one per chain sends. */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import { Handover } from '../../state/handover.ts';
import { createEmbeddedLeases, type Leases, underLease } from '../../state/leases.ts';
import type { ScreenPayers } from '../crypto/payer.ts';
import { FailureBudget } from './failures.ts';
import { X402_LIMITS } from './limits.ts';
import type { Authorization, AuthorizedPayment } from './records.ts';
import { addressOfKey, Relay, type RelayOptions } from './relay.ts';
import type { AuthorizedPayments } from './store.ts';
import { type ChainNode, Eip3009Token } from './token.ts';

/** A chain and its token. */
export interface TokenPlace {
  readonly chain: ChainId;
  /** Contract, as it is shown. */
  readonly asset: string;
}

export interface SettlementOptions {
  readonly relay: RelayOptions;
  /** USDC on the chains that are used. */
  readonly tokens: readonly TokenPlace[];
  /** Default: `waitMs` of the limits. */
  readonly waitMs?: number;
  /** How long the chain may be unreachable before its lease is released. Default: that of `Handover`. */
  readonly patienceMs?: number;
}

export interface SettlementDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: () => AuthorizedPayments;
  readonly node: (chain: ChainId) => ChainNode;
  readonly screen: ScreenPayers;
  readonly leases?: Leases;
}

/** Why a payment is not taken: a reason in the words of x402. */
export class PaymentRefused extends Error {
  readonly reason: string;
  readonly transaction: string | null;

  constructor(reason: string, transaction: string | null = null) {
    super(reason);
    this.name = 'PaymentRefused';
    this.reason = reason;
    this.transaction = transaction;
  }
}

const unavailable = (text: string): AssayError =>
  new AssayError('PAYMENT_UNAVAILABLE', `${text} Nothing was taken.`, { retryAfterSeconds: 60 });

export class AuthorizationSettlement {
  readonly #options: SettlementOptions;
  readonly #deps: SettlementDeps;
  readonly #tokens = new Map<string, Eip3009Token>();
  readonly #nodes = new Map<ChainId, ChainNode>();
  readonly #failures: FailureBudget;
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];
  #relay: string | null = null;

  constructor(options: SettlementOptions, deps: SettlementDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#failures = new FailureBudget(deps.clock);
  }

  /** Returns the token of a chain; null if it is not used. */
  token(chain: ChainId): Eip3009Token | null {
    const place = this.#options.tokens.find((one) => one.chain === chain);
    return place === undefined ? null : this.#tokenOf(chain, place.asset.toLowerCase());
  }

  #tokenOf(chain: ChainId, asset: string): Eip3009Token {
    const place = `${chain} ${asset}`;
    let token = this.#tokens.get(place);
    if (token === undefined) {
      let node = this.#nodes.get(chain);
      if (node === undefined) {
        node = this.#deps.node(chain);
        this.#nodes.set(chain, node);
      }
      token = new Eip3009Token(node, asset);
      this.#tokens.set(place, token);
    }
    return token;
  }

  /** Returns the chain of a CAIP-2 id, if it is used. */
  chainOfNetwork(network: string): ChainId | null {
    return this.#options.tokens.find(({ chain }) => chainOf(chain).caip2 === network)?.chain ?? null;
  }

  /**
   * Checks an authorization before it is stored, except for its receiver and value.
   *
   * @param client - its failures are counted
   * @returns the authorization as the contract takes it, and the height of the chain before the check
   * @throws PaymentRefused; FORBIDDEN if the payer is sanctioned; PAYMENT_UNAVAILABLE if nothing can be taken now; the errors of the node
   */
  async check(
    token: Eip3009Token,
    authorization: Authorization,
    client: string,
  ): Promise<{ readonly authorization: Authorization; readonly sinceHeight: number }> {
    const { clock, store } = this.#deps;
    const { chain } = token.node;
    store().requireCurrent();
    const now = BigInt(Math.floor(clock.now() / 1_000));
    const before = BigInt(authorization.validBefore);
    const { marginSeconds, validSecondsMax, openMax } = X402_LIMITS;
    if (before < now + BigInt(marginSeconds) || before > now + BigInt(validSecondsMax))
      throw new PaymentRefused('invalid_exact_evm_payload_authorization_valid_before');
    if (BigInt(authorization.validAfter) > now)
      throw new PaymentRefused('invalid_exact_evm_payload_authorization_valid_after');
    this.#requireClear(chain, authorization.from);
    if (!this.#failures.mayTry(client))
      throw unavailable('Too many payments failed on the chain within an hour, and each has cost gas.');
    if (
      store()
        .open(chain)
        .filter(({ transfer: { state } }) => state === 'QUEUED' || state === 'SENT').length >= openMax
    )
      throw unavailable('Too many payments wait for their settlement.');
    const checked = await this.checkSignature(token, authorization);
    const sinceHeight = await token.height();
    this.#relay ??= await addressOfKey(this.#options.relay.privateKey);
    const reason = await token.simulate(checked, this.#relay);
    if (reason !== null) throw new PaymentRefused(reason);
    return { authorization: checked, sinceHeight };
  }

  /** Returns an authorization with its signature as the contract takes it. Throws PaymentRefused. */
  async checkSignature(token: Eip3009Token, authorization: Authorization): Promise<Authorization> {
    const result = await token.checkSignature(authorization);
    if ('reason' in result) throw new PaymentRefused(result.reason);
    return { ...authorization, signature: result.signature };
  }

  /** @throws FORBIDDEN if the payer is sanctioned, PAYMENT_UNAVAILABLE if it cannot be checked */
  #requireClear(chain: ChainId, payer: string): void {
    const verdict = this.#deps.screen(chain, [payer]);
    if (verdict.kind === 'CLEAR') return;
    this.#deps.log.warn({ chain, payer, verdict: verdict.kind }, 'payment by authorization refused');
    if (verdict.kind === 'UNCHECKED') throw unavailable(`The payer cannot be checked: ${verdict.reason}`);
    throw new AssayError('FORBIDDEN', `${verdict.reason} No payment of it is taken.`, { field: 'payer' });
  }

  /**
   * Resolves when a payment has arrived, or failed, or after the longest wait.
   *
   * @returns the payment as it is then
   */
  async wait(key: string): Promise<AuthorizedPayment | null> {
    const store = this.#deps.store();
    const isDecided = (payment: AuthorizedPayment | null): boolean =>
      payment === null || payment.transfer.state === 'SETTLED' || payment.transfer.state === 'FAILED';
    let now = store.get(key);
    if (isDecided(now)) return now;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => end(), this.#options.waitMs ?? X402_LIMITS.waitMs);
      const stop = store.onChange((changed) => {
        if (changed === key && isDecided(store.get(key))) end();
      });
      const end = (): void => {
        clearTimeout(timer);
        stop();
        this.#stop.signal.removeEventListener('abort', end);
        resolve();
      };
      this.#stop.signal.addEventListener('abort', end, { once: true });
      // Decided since it was read.
      if (isDecided(store.get(key)) || this.#stop.signal.aborted) end();
    });
    now = store.get(key);
    return now;
  }

  /** Sends and follows the payments of all chains, each on the node that holds its lease. */
  start(): void {
    const store = this.#deps.store();
    store.onChange((key) => {
      const payment = store.get(key);
      if (payment === null || payment.transfer.state !== 'FAILED' || payment.transfer.sending === null)
        return;
      // The same part of an invoice may fail again, with another authorization.
      this.#failures.note(
        `${key} ${payment.createdAtMs}`,
        payment.kind === 'call' ? payment.client : payment.accountId,
      );
    });
    const { leases = createEmbeddedLeases(), log } = this.#deps;
    const { patienceMs } = this.#options;
    this.#running = [...new Set(this.#options.tokens.map(({ chain }) => chain))].map((chain) => {
      const handover = new Handover(
        {
          needs: `the chain node of ${chain}`,
          probe: async () => this.token(chain)?.height(),
          ...(patienceMs === undefined ? {} : { patienceMs }),
        },
        this.#deps.clock,
      );
      return underLease(
        {
          store: 'authorized-payments',
          name: `x402:${chain}`,
          obstacle: () => handover.obstacle(),
          // Without a fence there is no other node.
          work: ({ fence }, signal) => this.relay(chain).run(signal, fence, fence === null ? null : handover),
        },
        this.#stop.signal,
        { leases, log },
      );
    });
  }

  /** Returns the sender of a chain. */
  relay(chain: ChainId): Relay {
    const { clock, log, store } = this.#deps;
    return new Relay(chain, this.#options.relay, {
      ...{ clock, log, store: store() },
      token: (asset) => this.#tokenOf(chain, asset),
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async close(): Promise<void> {
    await this.stop();
    await Promise.all([...this.#nodes.values()].map((node) => node.close()));
  }
}
