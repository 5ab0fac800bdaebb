/**
 * Sends transactions of one account, one after the other, and waits until each is confirmed.
 *
 * A transaction is written into a journal before it is sent. After a kill, the next run sends that same transaction again, which changes
 * nothing if the node has it, and waits for it: no work is done twice. Nonces have no gaps, because no transaction is sent while one of
 * the account is pending.
 */
import { rmSync } from 'node:fs';
import type { TransactionLike } from 'ethers';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { sleep } from '../../base/retry.ts';
import { asHexAmount, asHexCount, asObject, type Json } from '../../chains/endpoints/exact-json.ts';
import { RpcRefusal } from '../../chains/endpoints/json-rpc.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { ORACLE_LIMITS } from './limits.ts';
import { blockNumber, type ChainRpc, nonceOf } from './rpc.ts';

/** A confirmed transaction. */
export interface Mined {
  readonly hash: string;
  readonly block: number;
  readonly gasUsed: number;
  /** Wei, decimal. */
  readonly fee: string;
}

/** What became of a transaction: mined, or another one of the account took its nonce. */
export type Outcome = Mined | 'REPLACED';

interface Attempt {
  readonly hash: string;
  /** The signed transaction. It is public once it is sent, and contains no secret. */
  readonly raw: string;
}

interface Journal {
  readonly format: number;
  /** The account that signed. Journals of earlier versions have none. */
  readonly from?: string;
  readonly nonce: number;
  readonly to: string;
  readonly data: string;
  readonly gas: number;
  /** Wei per gas, decimal, of the newest attempt. */
  readonly maxFee: string;
  readonly tip: string;
  /** The same call with rising fees, oldest first. */
  readonly attempts: readonly Attempt[];
}

export interface SenderOptions {
  readonly chainId: number;
  /** `0x` and 64 hexadecimal digits. */
  readonly privateKey: string;
  readonly journalPath: string;
  /** Blocks that must contain or follow a transaction, 1 or more. */
  readonly confirmations: number;
  /** Highest price, wei per gas. */
  readonly feeMax: bigint;
  readonly signal: AbortSignal;
  /** Time after which a pending transaction is sent again with a higher fee. */
  readonly bumpMs?: number;
  readonly pollMs?: number;
  readonly timeoutMs?: number;
}

interface Receipt {
  readonly hash: string;
  readonly block: number;
  readonly isSuccess: boolean;
  readonly gasUsed: number;
  readonly price: bigint;
}

const JOURNAL_FORMAT = 1;
/** Nodes accept a replacement from 10 % more on. */
const BUMP_PERCENT = 125n;

function asReceipt(result: Json, hash: string): Receipt | null {
  if (result === null) return null;
  const receipt = asObject(result, 'receipt');
  return {
    hash,
    block: asHexCount(receipt.blockNumber, 'receipt.blockNumber'),
    isSuccess: asHexCount(receipt.status, 'receipt.status') === 1,
    gasUsed: asHexCount(receipt.gasUsed, 'receipt.gasUsed'),
    price: asHexAmount(receipt.effectiveGasPrice, 'receipt.effectiveGasPrice'),
  };
}

export class Sender {
  readonly address: string;
  readonly #rpc: ChainRpc;
  readonly #clock: Clock;
  readonly #options: SenderOptions;

  private constructor(address: string, rpc: ChainRpc, clock: Clock, options: SenderOptions) {
    this.address = address;
    this.#rpc = rpc;
    this.#clock = clock;
    this.#options = options;
  }

  /** Creates the sender of a key. It sends nothing. */
  static async open(
    options: SenderOptions,
    { rpc, clock }: { readonly rpc: ChainRpc; readonly clock: Clock },
  ): Promise<Sender> {
    const { computeAddress } = await import('ethers');
    return new Sender(computeAddress(options.privateKey), rpc, clock, options);
  }

  /**
   * Finishes the transaction that an earlier run has sent.
   *
   * @returns null if absent
   * @throws STORE_BUSY if another account has sent it; as `send`
   */
  async settle(): Promise<Outcome | null> {
    const journal = this.#readJournal();
    if (journal === null) return null;
    this.#requireOwn(journal);
    await this.#broadcast(journal);
    return this.#wait(journal);
  }

  /**
   * Sends a call of a contract and waits until it is confirmed.
   *
   * @throws CHAIN_REFUSED if the node refuses it or it reverted; CHAIN_TIMEOUT if it is not confirmed in time, and the next run then waits
   * for it; STORE_BUSY if another transaction of the account stays pending
   */
  async send(to: string, data: string): Promise<Outcome> {
    const nonce = await this.#freeNonce();
    const gas = await this.#rpc.request('eth_estimateGas', [{ from: this.address, to, data }], (result) =>
      asHexCount(result, 'gas'),
    );
    const { maxFee, tip } = await this.#fees();
    const journal = await this.#sign({
      format: JOURNAL_FORMAT,
      from: this.address,
      ...{ nonce, to, data, maxFee: String(maxFee), tip: String(tip), attempts: [] },
      gas: Math.ceil((gas * ORACLE_LIMITS.gasPercent) / 100),
    });
    await this.#broadcast(journal);
    return this.#wait(journal);
  }

  #readJournal(): Journal | null {
    const { journalPath } = this.#options;
    let journal: Partial<Journal>;
    try {
      journal = readJson(journalPath) as Partial<Journal>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
    if (journal.format === JOURNAL_FORMAT && Array.isArray(journal.attempts)) return journal as Journal;
    throw new AssayError(
      'STORE_CORRUPT',
      `${journalPath} is not the journal of a push. Check the account's pending transactions, then remove it.`,
    );
  }

  /** Nonces of two accounts say nothing about each other: the transaction would count as replaced, or be signed again by this account. */
  #requireOwn({ from }: Journal): void {
    if (from === undefined || from === this.address) return;
    throw new AssayError(
      'STORE_BUSY',
      `${this.#options.journalPath} has a pending transaction of ${from}. Finish it with that key, or remove the file.`,
    );
  }

  /** Waits until no transaction of the account is pending, and returns its next nonce. */
  async #freeNonce(): Promise<number> {
    const { signal, timeoutMs = ORACLE_LIMITS.confirmMs } = this.#options;
    const from = this.#clock.monotonic();
    for (;;) {
      signal.throwIfAborted();
      const latest = await nonceOf(this.#rpc, this.address, 'latest');
      const pending = await nonceOf(this.#rpc, this.address, 'pending');
      if (pending <= latest) return latest;
      if (this.#clock.monotonic() - from > timeoutMs)
        throw new AssayError(
          'STORE_BUSY',
          `${this.address} has ${pending - latest} pending transactions that this command has not sent. Use an account that nothing else uses.`,
        );
      await sleep(this.#pollMs, signal);
    }
  }

  get #pollMs(): number {
    return this.#options.pollMs ?? ORACLE_LIMITS.pollMs;
  }

  async #fees(): Promise<{ maxFee: bigint; tip: bigint }> {
    const base = await this.#rpc.request('eth_getBlockByNumber', ['latest', false], (result) => {
      const { baseFeePerGas } = asObject(result, 'block');
      return baseFeePerGas === undefined ? null : asHexAmount(baseFeePerGas, 'baseFeePerGas');
    });
    const price = await this.#rpc.request('eth_gasPrice', [], (result) => asHexAmount(result, 'gas price'));
    // The price of the node is the base fee and a tip. Twice the base fee lasts for six full blocks.
    const tip = base === null || price < base ? price : price - base;
    const wanted = base === null ? price : 2n * base + tip;
    const { feeMax } = this.#options;
    if (price > feeMax)
      throw new AssayError(
        'CHAIN_REFUSED',
        `The gas price is ${price} wei, above --max-fee-gwei. Try again later, or raise it.`,
      );
    const maxFee = wanted < feeMax ? wanted : feeMax;
    return { maxFee, tip: tip < maxFee ? tip : maxFee };
  }

  /** Signs a further attempt, and writes it into the journal before a node can see it. */
  async #sign(journal: Journal): Promise<Journal> {
    const { Transaction, SigningKey } = await import('ethers');
    const { chainId, privateKey, journalPath } = this.#options;
    const call: TransactionLike = {
      type: 2,
      chainId,
      nonce: journal.nonce,
      to: journal.to,
      data: journal.data,
      gasLimit: journal.gas,
      maxFeePerGas: BigInt(journal.maxFee),
      maxPriorityFeePerGas: BigInt(journal.tip),
    };
    const transaction = Transaction.from(call);
    transaction.signature = new SigningKey(privateKey).sign(transaction.unsignedHash);
    const attempt = { hash: transaction.hash as string, raw: transaction.serialized };
    const written = { ...journal, attempts: [...journal.attempts, attempt] };
    writeJsonAtomically(journalPath, written);
    return written;
  }

  /** Sends the newest attempt. A node that has it already, or has mined its nonce, refuses it: waiting shows which. */
  async #broadcast({ attempts }: Journal): Promise<void> {
    const { raw } = attempts.at(-1) as Attempt;
    try {
      await this.#rpc.request('eth_sendRawTransaction', [raw], () => null);
    } catch (error) {
      if (error instanceof RpcRefusal && /known|imported|nonce too low|underpriced/i.test(error.message))
        return;
      // Nothing was accepted: the next run must not wait for it.
      if (error instanceof RpcRefusal && attempts.length === 1) this.#forget();
      throw error;
    }
  }

  #forget(): void {
    rmSync(this.#options.journalPath, { force: true });
  }

  async #receipt(journal: Journal): Promise<Receipt | null> {
    for (const { hash } of journal.attempts) {
      const receipt = await this.#rpc.request('eth_getTransactionReceipt', [hash], (result) =>
        asReceipt(result, hash),
      );
      if (receipt !== null) return receipt;
    }
    return null;
  }

  async #wait(sent: Journal): Promise<Outcome> {
    const { signal, confirmations, timeoutMs = ORACLE_LIMITS.confirmMs } = this.#options;
    const { bumpMs = ORACLE_LIMITS.bumpMs } = this.#options;
    const from = this.#clock.monotonic();
    let bumpedAt = from;
    let journal = sent;
    for (;;) {
      signal.throwIfAborted();
      // Before the receipt: if the nonce was used by then, one of the attempts has a receipt, or none ever will.
      const latest = await nonceOf(this.#rpc, this.address, 'latest');
      const receipt = await this.#receipt(journal);
      if (receipt !== null) {
        const head = await blockNumber(this.#rpc);
        if (head - receipt.block + 1 >= confirmations) return this.#end(receipt);
      } else if (latest > journal.nonce) {
        this.#forget();
        return 'REPLACED';
      }
      const now = this.#clock.monotonic();
      if (now - from > timeoutMs)
        throw new AssayError(
          'CHAIN_TIMEOUT',
          `The transaction ${(journal.attempts.at(-1) as Attempt).hash} is not confirmed. Run the command again: it waits for this one first.`,
        );
      if (receipt === null && now - bumpedAt > bumpMs) {
        bumpedAt = now;
        journal = await this.#bump(journal);
      }
      await sleep(this.#pollMs, signal);
    }
  }

  #end({ hash, block, isSuccess, gasUsed, price }: Receipt): Mined {
    this.#forget();
    if (!isSuccess)
      throw new AssayError('CHAIN_REFUSED', `The transaction ${hash} reverted (${gasUsed} gas used).`);
    return { hash, block, gasUsed, fee: String(BigInt(gasUsed) * price) };
  }

  /** Sends the call again with the same nonce: with a higher fee, or unchanged if the highest fee is reached. */
  async #bump(journal: Journal): Promise<Journal> {
    const { feeMax } = this.#options;
    const raised = (text: string): bigint => (BigInt(text) * BUMP_PERCENT) / 100n + 1n;
    const maxFee = raised(journal.maxFee);
    const isHigher = maxFee <= feeMax && journal.attempts.length < ORACLE_LIMITS.attemptsMax;
    const next = isHigher
      ? await this.#sign({ ...journal, maxFee: String(maxFee), tip: String(raised(journal.tip)) })
      : journal;
    await this.#broadcast(next);
    return next;
  }
}
