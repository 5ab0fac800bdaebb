/** The stored transactions of a UTXO chain, in chain order, with their inputs looked up: the input of clustering. */
import { formatAddressKey } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { UtxoTransaction } from '../../chains/utxo-transaction.ts';
import type { OutputsReader } from '../utxo/outputs-store.ts';
import { outputOf, type SpendGraph, type SpendTransaction } from '../utxo/spend-graph.ts';

type ClusterableOutputs = Pick<OutputsReader, 'graph' | 'transactionsAt' | 'coverage'>;

/** Address texts to cache. The cache is cleared when this is reached. About 150 bytes each. */
const TEXTS_MAX = 200_000;

/** Returns true if the stored data begins with the chain, so that an unseen address is new. */
export const isWholeHistory = (chain: ChainId, outputs: ClusterableOutputs): boolean => {
  const { firstBlock } = outputs.coverage(chain);
  // Block 0 of Bitcoin pays an unspendable output, and files often begin with block 1.
  return firstBlock !== null && firstBlock <= 1;
};

/** Yields the stored transactions. An input with an unknown output has neither address nor value. Throws STORE_CORRUPT. */
export function* storedTransactions(chain: ChainId, outputs: ClusterableOutputs): Generator<UtxoTransaction> {
  const { firstBlock, lastBlock } = outputs.coverage(chain);
  if (firstBlock === null || lastBlock === null) return;
  const texts = new Map<number, string>();

  const textOf = (graph: SpendGraph, address: number): string | null => {
    if (address === 0) return null;
    const known = texts.get(address);
    if (known !== undefined) return known;
    const text = formatAddressKey(graph.keyOf(address), chain);
    if (texts.size >= TEXTS_MAX) texts.clear();
    texts.set(address, text);
    return text;
  };

  const resolve = (graph: SpendGraph, tx: SpendTransaction): UtxoTransaction => ({
    chain,
    txid: tx.txid,
    blockNumber: tx.block,
    indexInBlock: tx.indexInBlock,
    timestampMs: tx.timestampMs,
    isCoinbase: tx.isCoinbase,
    inputs: tx.inputs.map(({ tx: number, n }) => {
      const parent = graph.transaction(number);
      const output = outputOf(parent, n);
      return {
        txid: parent.txid,
        vout: n,
        address: output ? textOf(graph, output.address) : null,
        value: output?.value ?? null,
      };
    }),
    outputs: tx.outputs.map(({ n, value, script, address }) => ({
      n,
      address: textOf(graph, address),
      value: value ?? 0n,
      script,
    })),
    ...(tx.shieldedIn > 0n || tx.shieldedOut > 0n
      ? { shielded: { in: tx.shieldedIn, out: tx.shieldedOut } }
      : {}),
  });

  for (let height = firstBlock; height <= lastBlock; height++) {
    const numbers = outputs.transactionsAt(chain, height);
    // A view is valid until the thread yields, which may happen between two blocks.
    const graph = numbers.length > 0 ? outputs.graph(chain) : null;
    if (!graph) continue;
    const transactions = numbers
      .map((number) => graph.transaction(number))
      .sort((a, b) => a.indexInBlock - b.indexInBlock);
    for (const tx of transactions) yield resolve(graph, tx);
  }
}
