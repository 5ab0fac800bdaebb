/** The stored blocks of a UTXO chain, with the inputs of their transactions looked up: the input of clustering. */
import { formatAddressKey } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { OutputsReader } from '../utxo/outputs-store.ts';
import { outputOf, type SpendGraph, type SpendTransaction } from '../utxo/spend-graph.ts';
import type { NumberedTransaction } from './links.ts';
import type { ClusterSource, NumberedBlock } from './scan.ts';

type ClusterableOutputs = Pick<
  OutputsReader,
  'graph' | 'transactionsAt' | 'coverage' | 'block' | 'addressKey'
>;

/** Address texts to cache. The cache is cleared when this is reached. About 150 bytes each. */
const TEXTS_MAX = 200_000;

/** Returns true if the stored data begins with the chain, so that an unseen address is new. */
export const isWholeHistory = (chain: ChainId, outputs: Pick<OutputsReader, 'coverage'>): boolean => {
  const { firstBlock } = outputs.coverage(chain);
  // Block 0 of Bitcoin pays an unspendable output, and files often begin with block 1.
  return firstBlock !== null && firstBlock <= 1;
};

/**
 * The stored blocks of a chain up to the one that is the last now. An input with an unknown output has neither address nor value. Reading
 * the blocks throws STORE_CORRUPT for a damaged store.
 */
export function storedBlocks(chain: ChainId, outputs: ClusterableOutputs): ClusterSource {
  const { firstBlock, lastBlock, transactions } = outputs.coverage(chain);
  return {
    firstBlock,
    lastBlock,
    transactions,
    blocks: (from) => readBlocks(chain, outputs, from, lastBlock ?? -1),
    hashOf: (height) => outputs.block(chain, height)?.hash ?? null,
    keyOf: (number) => outputs.addressKey(chain, number),
  };
}

function* readBlocks(
  chain: ChainId,
  outputs: ClusterableOutputs,
  from: number,
  to: number,
): Generator<NumberedBlock> {
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

  const resolve = (graph: SpendGraph, tx: SpendTransaction): NumberedTransaction => {
    const spent = tx.inputs.map(({ tx: number, n }) => {
      const parent = graph.transaction(number);
      return { txid: parent.txid, n, output: outputOf(parent, n) };
    });
    return {
      tx: {
        chain,
        txid: tx.txid,
        blockNumber: tx.block,
        indexInBlock: tx.indexInBlock,
        timestampMs: tx.timestampMs,
        isCoinbase: tx.isCoinbase,
        inputs: spent.map(({ txid, n, output }) => ({
          txid,
          vout: n,
          address: output ? textOf(graph, output.address) : null,
          value: output?.value ?? null,
        })),
        outputs: tx.outputs.map(({ n, value, script, address }) => ({
          n,
          address: textOf(graph, address),
          value: value ?? 0n,
          script,
        })),
        ...(tx.shieldedIn > 0n || tx.shieldedOut > 0n
          ? { shielded: { in: tx.shieldedIn, out: tx.shieldedOut } }
          : {}),
      },
      inputs: spent.map(({ output }) => output?.address ?? 0),
      outputs: tx.outputs.map(({ address }) => address),
    };
  };

  for (let height = from; height <= to; height++) {
    const numbers = outputs.transactionsAt(chain, height);
    // A view is valid until the thread yields, which may happen between two blocks.
    const graph = numbers.length > 0 ? outputs.graph(chain) : null;
    if (!graph) continue;
    const transactions = numbers
      .map((number) => graph.transaction(number))
      .sort((a, b) => a.indexInBlock - b.indexInBlock)
      .map((tx) => resolve(graph, tx));
    yield { height, timestampMs: transactions[0]?.tx.timestampMs ?? 0, transactions };
  }
}
