/** A simulated chain: blocks, reorgs, and on UTXO chains a pool with replaced transactions. The test decides everything by its seed. */
import type { Block } from '../../../src/chains/block.ts';
import type { BlockRef, ChainAdapter, ChainEvent } from '../../../src/chains/families/port.ts';
import type { ChainId } from '../../../src/chains/registry.ts';
import { chainOf } from '../../../src/chains/registry.ts';

export interface SimTransaction {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  readonly amount: bigint;
}

interface SimBlock extends BlockRef {
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactions: readonly SimTransaction[];
}

export class SimChain {
  readonly chain: ChainId;
  readonly #isUtxo: boolean;
  readonly blocks: SimBlock[] = [];
  readonly pool = new Map<string, SimTransaction>();
  #serial = 0;

  constructor(chain: ChainId, isUtxo: boolean) {
    this.chain = chain;
    this.#isUtxo = isUtxo;
    this.#append([], 0);
  }

  get head(): SimBlock {
    return this.blocks.at(-1) as SimBlock;
  }

  newId(): string {
    return `${this.#isUtxo ? '' : '0x'}${(++this.#serial).toString(16).padStart(64, '0')}`;
  }

  #append(transactions: readonly SimTransaction[], timestampMs: number): void {
    const height = this.blocks.length;
    const hash = `hash-${height}-${++this.#serial}`;
    const parentHash = this.blocks.at(-1)?.hash ?? '';
    this.blocks.push({ height, hash, parentHash, timestampMs, transactions });
  }

  /** Makes a block of chosen transactions of the pool. */
  mine(chosen: (id: string) => boolean, timestampMs: number): void {
    const transactions = [...this.pool.values()].filter(({ id }) => chosen(id));
    for (const { id } of transactions) this.pool.delete(id);
    this.#append(transactions, timestampMs);
  }

  /** Removes the newest blocks. Their transactions return to the pool, if `keeps` says so. */
  reorg(depth: number, keeps: (id: string) => boolean): void {
    for (const { transactions } of this.blocks.splice(Math.max(1, this.blocks.length - depth)))
      for (const transaction of transactions)
        if (keeps(transaction.id)) this.pool.set(transaction.id, transaction);
  }

  /** Returns the block in the form of adapters. Numbers of logs depend on the block, as on EVM chains. */
  block({ height, hash, parentHash, timestampMs, transactions }: SimBlock): Block {
    const { chain } = this;
    const { symbol, decimals } = chainOf(chain);
    const base = { chain, height, hash, parentHash, timestampMs };
    if (this.#isUtxo)
      return {
        ...base,
        transfers: [],
        transactions: transactions.map((one, indexInBlock) => ({
          ...{ chain, txid: one.id, blockNumber: height, indexInBlock, timestampMs, isCoinbase: false },
          inputs: [{ txid: 'f'.repeat(64), vout: 0, address: one.from, value: one.amount }],
          outputs: [{ n: 0, address: one.to, value: one.amount, script: 'p2pkh' as const }],
        })),
      };
    return {
      ...base,
      transfers: transactions.map(({ id, from, to, asset, amount }, index) => ({
        ...{ chain, txHash: id, blockNumber: height, timestampMs, from, to, asset, amount },
        ...{ position: asset === symbol ? 'value' : `log:${height + index}`, decimals, valueUsd: null },
      })),
    };
  }

  /** Returns the events that lead a follower from its last blocks to the head. */
  eventsAfter(known: readonly BlockRef[]): readonly ChainEvent[] {
    let keep = known.length;
    while (keep > 0 && this.blocks[(known[keep - 1] as BlockRef).height]?.hash !== known[keep - 1]?.hash)
      keep--;
    const ancestor = known[keep - 1] ?? null;
    const dropped = known.slice(keep).toReversed();
    const from = ancestor === null ? (dropped.at(-1)?.height ?? this.blocks.length) : ancestor.height + 1;
    return [
      ...(dropped.length > 0 ? [{ type: 'reorg' as const, ancestor, dropped }] : []),
      ...this.blocks.slice(from).map((one) => ({
        type: 'block' as const,
        block: this.block(one),
        completeness: 'COMPLETE' as const,
      })),
    ];
  }

  /** The parts of an adapter that payments use. */
  adapter(): ChainAdapter {
    const provenance = { source: 'json-rpc sim', completeness: 'COMPLETE', note: null } as const;
    return {
      chain: this.chain,
      head: async () => ({
        ...provenance,
        height: this.head.height,
        hash: this.head.hash,
        timestampMs: null,
      }),
      block: async (height: number) => {
        const block = this.blocks[height];
        return { ...provenance, height, block: block === undefined ? null : this.block(block) };
      },
    } as unknown as ChainAdapter;
  }
}
