/**
 * A seeded simulation of exchanges and their customers with known truth: deposit addresses that are swept, their fees, and accounts that
 * look like deposit addresses and are none.
 */
import { seededUint32 } from '../../src/base/random.ts';
import type { Initiation, Transfer } from '../../src/chains/transfer.ts';

export const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
export const SPAM_TOKEN = '0x00000000000000000000000000000000deadbeef';
const MINUTE = 60_000;
const DAY = 86_400_000;
/** A million customers live for two years: files with times in the future are rejected. */
const START = Date.parse('2022-01-01T00:00:00Z');
const BLOCK_MS = 12_000;
const FIRST_BLOCK = 21_000_000;

/** Kinds of accounts. Only `deposit` accounts belong to the exchange. */
export type PlantedKind =
  | 'deposit'
  /** One forwarding, and fees that the customer paid: too little to know. */
  | 'single'
  | 'partial-customer'
  | 'withdrawing-customer'
  | 'spending-customer'
  | 'arbitrage'
  | 'late-merchant'
  | 'payer-of-a-deposit'
  | 'contract-forwarder'
  | 'delegated-forwarder'
  | 'other-forwarder';

export interface PlantedAccount {
  readonly address: string;
  readonly kind: PlantedKind;
  /** Number of the exchange; -1 if it belongs to none. */
  readonly exchange: number;
  /** Payments that it forwarded alone, within a day. */
  readonly forwardings: number;
}

export interface SimulatedExchange {
  readonly id: string;
  /** Labelled collecting wallets. */
  readonly wallets: readonly string[];
  /** A deposit address that a publisher lists under the name of the exchange. */
  readonly listedDeposit: string;
}

export interface Simulation {
  readonly exchanges: readonly SimulatedExchange[];
  /** Yields blocks of transfers in the order of time. `planted` is complete at the end. */
  blocks(): Generator<readonly Transfer[]>;
  readonly planted: PlantedAccount[];
}

interface Move {
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly amount: bigint;
  readonly sender: string;
}

/** Fractions in ten-thousandths of the users that are planted beside the deposit addresses. */
const LOOK_ALIKES: readonly (readonly [PlantedKind, number])[] = [
  ['single', 150],
  ['partial-customer', 200],
  ['withdrawing-customer', 200],
  ['spending-customer', 200],
  ['arbitrage', 100],
  ['late-merchant', 100],
  ['payer-of-a-deposit', 10],
  ['contract-forwarder', 100],
  ['delegated-forwarder', 50],
  ['other-forwarder', 200],
];

/** Users that live at the same time: their moves are merged by time, so that memory does not depend on the number of users. */
const COHORT = 4_000;

/** Returns an address of the simulation: scattered, and never the zero address. */
export const simulatedAddress = (number: number): string => {
  const high = Math.imul(number + 1, 2_654_435_761) >>> 0;
  return `0x${high.toString(16).padStart(8, '0')}${(number + 1).toString(16).padStart(32, '0')}`;
};

/** Simulates `users` customers of three exchanges. The same seed gives the same transfers. */
export function simulateExchanges(users: number, seed: number): Simulation {
  return new World(users, seed);
}

class World implements Simulation {
  readonly exchanges: readonly SimulatedExchange[];
  readonly planted: PlantedAccount[] = [];
  readonly #users: number;
  readonly #next: () => number;
  readonly #gasStations: readonly string[];
  readonly #outsiders: number;
  #addresses = 0;
  #transactions = 0;
  #moves: Move[] = [];

  constructor(users: number, seed: number) {
    this.#users = users;
    this.#next = seededUint32(seed);
    this.exchanges = [0, 1, 2].map((exchange) => ({
      id: `exchange-${exchange}`,
      wallets: [this.#address(), this.#address(), this.#address()],
      listedDeposit: this.#address(),
    }));
    // The first wallet pays fees; at the third exchange an address without a label does.
    this.#gasStations = this.exchanges.map(({ wallets }, at) =>
      at === 2 ? this.#address() : (wallets[0] as string),
    );
    this.#outsiders = Math.max(200, users);
  }

  #address(): string {
    return simulatedAddress(this.#addresses++);
  }

  #draw(limit: number): number {
    return this.#next() % limit;
  }

  #outsider(): string {
    return simulatedAddress(1_000_000_000 + this.#draw(this.#outsiders));
  }

  #move(at: number, from: string, to: string, asset: string, amount: bigint, sender = from): void {
    this.#moves.push({ at, from, to, asset, amount, sender });
  }

  #amountOf(asset: string): bigint {
    const units = BigInt(20_000 + this.#draw(50_000_000));
    return asset === USDT ? units * 1_000n : units * 10n ** 12n;
  }

  #walletOf(exchange: number): string {
    const { wallets } = this.exchanges[exchange] as SimulatedExchange;
    return wallets[this.#draw(wallets.length)] as string;
  }

  *blocks(): Generator<readonly Transfer[]> {
    let left = this.#users;
    for (let cohort = 0; left > 0; cohort++, left -= COHORT) {
      const begin = START + cohort * 3 * DAY;
      for (let user = 0; user < Math.min(COHORT, left); user++) this.#live(begin);
      yield* this.#drain(begin + 3 * DAY);
    }
    yield* this.#drain(Number.POSITIVE_INFINITY);
  }

  /** Yields the moves before a time as blocks. */
  *#drain(until: number): Generator<readonly Transfer[]> {
    const ready = this.#moves.filter(({ at }) => at < until).sort((a, b) => a.at - b.at);
    this.#moves = this.#moves.filter(({ at }) => at >= until);
    let block: Transfer[] = [];
    for (const move of ready) {
      const transfer = this.#transferOf(move);
      if (block.length > 0 && block[0]?.blockNumber !== transfer.blockNumber) {
        yield block;
        block = [];
      }
      block.push(transfer);
    }
    if (block.length > 0) yield block;
  }

  #transferOf({ at, from, to, asset, amount, sender }: Move): Transfer {
    const slot = Math.floor((at - START) / BLOCK_MS);
    const isToken = asset !== 'ETH';
    const initiation: Initiation = {
      sender,
      callsAsset: isToken ? true : null,
      decodes: isToken ? true : null,
    };
    return {
      chain: 'ETH',
      txHash: `0x${(++this.#transactions).toString(16).padStart(64, '0')}`,
      position: isToken ? 'log:0' : 'value',
      blockNumber: FIRST_BLOCK + slot,
      timestampMs: START + slot * BLOCK_MS,
      from,
      to,
      asset,
      amount,
      decimals: asset === USDT ? 6 : 18,
      valueUsd: null,
      initiation,
    };
  }

  #plant(address: string, kind: PlantedKind, exchange: number, forwardings: number): void {
    this.planted.push({ address, kind, exchange, forwardings });
  }

  #live(begin: number): void {
    const roll = this.#draw(10_000);
    let from = 0;
    for (const [kind, share] of LOOK_ALIKES) {
      if (roll >= from && roll < from + share) {
        this.#lookAlike(kind, begin);
        return;
      }
      from += share;
    }
    this.#deposit(begin);
  }

  /** Pays for the fees of a sweep of tokens. */
  #fund(exchange: number, address: string, at: number): void {
    this.#move(at, this.#gasStations[exchange] as string, address, 'ETH', 2n * 10n ** 15n);
  }

  #deposit(begin: number): void {
    const exchange = this.#draw(3);
    const address = this.#address();
    const asset = this.#draw(10) < 6 ? USDT : 'ETH';
    const count = 1 + this.#draw(4) + (this.#draw(4) === 0 ? this.#draw(14) : 0);
    let at = begin + this.#draw(2 * DAY);
    let forwardings = 0;
    for (let deposit = 0; deposit < count; deposit++) {
      let amount = this.#amountOf(asset);
      this.#move(at, this.#outsider(), address, asset, amount);
      let swept = at + (5 + this.#draw(600)) * MINUTE;
      // Some payments are joined in one sweep, and few sweeps come days later.
      if (this.#draw(12) === 0) {
        const second = this.#amountOf(asset);
        this.#move(at + 4 * MINUTE, this.#outsider(), address, asset, second);
        amount += second;
      }
      const isLate = this.#draw(40) === 0;
      if (isLate) swept += 2 * DAY;
      else forwardings++;
      if (asset === USDT) this.#fund(exchange, address, swept - 2 * MINUTE);
      const fee = asset === USDT ? 0n : 420_000_000_000_000n;
      this.#move(swept, address, this.#walletOf(exchange), asset, amount - fee);
      at = swept + (60 + this.#draw(5_000)) * MINUTE;
    }
    this.#nuisance(address, asset, at);
    this.#plant(address, 'deposit', exchange, forwardings);
  }

  /** What anybody can send to anybody: spam tokens, dust, forged payments of nothing, and forged payments of spam. */
  #nuisance(address: string, asset: string, at: number): void {
    const kind = this.#draw(20);
    const attacker = this.#outsider();
    if (kind === 0) this.#move(at, attacker, address, SPAM_TOKEN, 10n ** 18n);
    if (kind === 1) this.#move(at, address, attacker, USDT, 0n, attacker);
    if (kind === 2) this.#move(at, address, attacker, SPAM_TOKEN, 10n ** 18n, attacker);
    if (kind === 3) this.#move(at, attacker, address, asset, 1n);
  }

  #lookAlike(kind: PlantedKind, begin: number): void {
    const exchange = this.#draw(3);
    const address = kind === 'payer-of-a-deposit' ? this.#address() : this.#address();
    let at = begin + this.#draw(2 * DAY);
    const other = (exchange + 1) % 3;
    const rounds = kind === 'single' ? 1 : 3 + this.#draw(12);
    for (let round = 0; round < rounds; round++) {
      const amount = this.#amountOf(USDT);
      const source = kind === 'arbitrage' ? this.#walletOf(other) : this.#outsider();
      this.#move(at, source, address, USDT, amount);
      const later = at + (10 + this.#draw(300)) * MINUTE;
      this.#answer(kind, exchange, other, address, amount, at, later, round);
      at = later + (100 + this.#draw(3_000)) * MINUTE;
    }
    this.#plant(address, kind, -1, 0);
  }

  /** What a look-alike does with a payment. */
  #answer(
    kind: PlantedKind,
    exchange: number,
    other: number,
    address: string,
    amount: bigint,
    at: number,
    later: number,
    round: number,
  ): void {
    const pay = (to: string, sum: bigint, when = later, sender = address): void =>
      this.#move(when, address, to, USDT, sum, sender);
    switch (kind) {
      case 'single':
        pay(this.#walletOf(exchange), amount);
        break;
      case 'partial-customer':
        pay(this.#walletOf(exchange), (amount * BigInt(30 + this.#draw(60))) / 100n);
        break;
      case 'withdrawing-customer':
        pay(this.#walletOf(exchange), amount);
        if (round === 1)
          this.#move(later + 30 * MINUTE, this.#walletOf(exchange), address, USDT, amount / 3n);
        break;
      case 'spending-customer':
        // Forwards all of the tokens, and pays a shop in the native coin.
        pay(this.#walletOf(exchange), amount);
        if (round === 2) {
          this.#move(later, this.#outsider(), address, 'ETH', 10n ** 17n);
          this.#move(later + 5 * MINUTE, address, this.#outsider(), 'ETH', 5n * 10n ** 16n);
        }
        break;
      case 'arbitrage':
        pay(this.#walletOf(round % 2 === 0 ? exchange : (exchange + 2) % 3), amount);
        break;
      case 'late-merchant':
        pay(this.#walletOf(exchange), amount, at + 3 * DAY);
        break;
      case 'payer-of-a-deposit':
        // Pays everything to the deposit address of the customer, which a publisher lists under the name of the exchange.
        pay((this.exchanges[exchange] as SimulatedExchange).listedDeposit, amount);
        break;
      case 'contract-forwarder':
        // A contract forwards the coins in the transaction of another account.
        pay(this.#walletOf(exchange), amount, later, this.#gasStations[exchange] as string);
        this.#move(later, this.#outsider(), address, 'ETH', 10n ** 17n);
        this.#move(later + MINUTE, address, this.#walletOf(exchange), 'ETH', 10n ** 17n, this.#outsider());
        break;
      case 'delegated-forwarder':
        // Signs tokens itself; a delegate sends its coins.
        pay(this.#walletOf(exchange), amount);
        this.#move(later, this.#outsider(), address, 'ETH', 10n ** 17n);
        this.#move(later + MINUTE, address, this.#walletOf(exchange), 'ETH', 10n ** 17n, this.#outsider());
        break;
      case 'other-forwarder':
        pay(simulatedAddress(2_000_000_000 + other), amount);
        break;
      case 'deposit':
        break;
    }
  }
}
