/** Watches the coins of the gas-paying account on each chain, so that an operator refills it before payments are refused. */
import { type Clock, isoTime } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { asHexAmount } from '../../chains/endpoints/exact-json.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import { coinsOf } from '../crypto/quote.ts';
import { X402_LIMITS } from './limits.ts';
import { addressOfKey, type RelayOptions } from './relay.ts';
import type { AuthorizationSettlement } from './settlement.ts';

/** The account on one chain, at the last look. */
export interface GasAccount {
  readonly chain: ChainId;
  readonly address: string;
  /** Wei. */
  readonly balance: bigint;
  /** Payments that it can send at the highest fee that it would offer now. */
  readonly paymentsLeft: number;
}

/** Why payments on a chain are refused, or will be soon. */
export interface GasProblem {
  readonly chain: ChainId;
  readonly reason: string;
  /** ISO time. */
  readonly since: string;
}

export interface GasAccountsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly settlement: Pick<AuthorizationSettlement, 'token'>;
}

export class GasAccounts {
  readonly #chains: readonly ChainId[];
  readonly #relay: Pick<RelayOptions, 'privateKey' | 'feeMax' | 'balanceMax'>;
  readonly #deps: GasAccountsDeps;
  readonly #accounts = new Map<ChainId, GasAccount>();
  readonly #problems = new Map<ChainId, GasProblem>();
  /** Last failure of a look by chain, so that it is logged once. */
  readonly #failures = new Map<ChainId, string>();
  /** Derived once: it is a multiplication on the curve. */
  #address: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(
    chains: readonly ChainId[],
    relay: Pick<RelayOptions, 'privateKey' | 'feeMax' | 'balanceMax'>,
    deps: GasAccountsDeps,
  ) {
    this.#chains = chains;
    this.#relay = relay;
    this.#deps = deps;
  }

  /** Returns the accounts that were read since the start. */
  accounts(): readonly GasAccount[] {
    return [...this.#accounts.values()];
  }

  problems(): readonly GasProblem[] {
    return [...this.#problems.values()];
  }

  /** Reads all accounts. Never rejects: if a node fails, its account stays as it was read before. */
  async look(): Promise<void> {
    await Promise.all(this.#chains.map((chain) => this.#lookAt(chain)));
  }

  async #lookAt(chain: ChainId): Promise<void> {
    const token = this.#deps.settlement.token(chain);
    if (token === null) return;
    const { feeMax, privateKey } = this.#relay;
    try {
      this.#address ??= await addressOfKey(privateKey);
      const address = this.#address;
      const balance = await token.balanceOfCoin(address);
      const price = await token.node.rpc('eth_gasPrice', [], (result) => asHexAmount(result, 'gas price'));
      // As the relay offers it: twice the base fee. At least 1 wei, for chains without fees.
      const offered = 2n * price < feeMax ? 2n * price : feeMax;
      const cost = (offered > 0n ? offered : 1n) * BigInt(X402_LIMITS.gasUsual);
      const left = balance / cost;
      const paymentsLeft = left > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(left);
      this.#note({ chain, address, balance, paymentsLeft });
      this.#failures.delete(chain);
    } catch (error) {
      const reason = messageOf(error);
      if (this.#failures.get(chain) !== reason)
        this.#deps.log.warn({ chain, error: reason }, 'gas-paying account not read');
      this.#failures.set(chain, reason);
    }
  }

  #note(account: GasAccount): void {
    const { chain } = account;
    this.#accounts.set(chain, account);
    const reason = this.#reasonOf(account);
    if (reason === null) {
      if (this.#problems.delete(chain))
        this.#deps.log.info({ chain }, 'gas-paying account is in order again');
      return;
    }
    const known = this.#problems.get(chain);
    if (known === undefined) this.#deps.log.warn({ chain, reason }, 'gas-paying account needs the operator');
    this.#problems.set(chain, {
      chain,
      reason,
      since: known?.since ?? isoTime(this.#deps.clock.now()),
    });
  }

  #reasonOf({ chain, address, balance, paymentsLeft }: GasAccount): string | null {
    const { symbol, decimals } = chainOf(chain);
    const holds = `The gas-paying account ${address} holds ${coinsOf(balance, decimals)} ${symbol} on ${chain}`;
    if (balance > this.#relay.balanceMax)
      return `${holds}, more than ASSAY_RELAY_BALANCE_MAX, so it sends nothing. Move the rest away: its key is on a server.`;
    if (paymentsLeft < 1)
      return `${holds}, too little for one payment, so payments by a signature are refused. Refill it.`;
    if (paymentsLeft < X402_LIMITS.gasLowPayments)
      return `${holds}, enough for ${paymentsLeft} payments at the current price of gas. Refill it.`;
    return null;
  }

  /** Looks at once and then at intervals, until `stop`. */
  start(): void {
    const look = (): void => {
      this.#looking = this.#looking.then(() => this.look());
    };
    this.#timer = setInterval(look, X402_LIMITS.gasLookMs);
    this.#timer.unref();
    look();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#looking;
  }
}
