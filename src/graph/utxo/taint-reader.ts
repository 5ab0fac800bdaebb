/** Taint queries by transaction id and address over the outputs store. Results contain texts and sums. */
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import { UTXO_LIMITS } from './limits.ts';
import type { OutputsReader } from './outputs-store.ts';
import { type Provenance, provenanceOf } from './provenance.ts';
import { outputOf, type SpendGraph } from './spend-graph.ts';
import { type OutputRef, type TaintAnswer, type TaintBudget, type TaintedOutput, taintOf } from './taint.ts';
import { TAINT_METHODS, type TaintMethod } from './taint-rules.ts';

/** An output by transaction id and index. */
export interface OutputName {
  /** As displayed: 64 hex digits. */
  readonly txid: string;
  readonly n: number;
}

export interface NamedTaintedOutput extends Omit<TaintedOutput, 'tx' | 'address'> {
  /** Canonical text. Null if the script has no address. */
  readonly address: string | null;
}

export interface NamedTaintAnswer extends Omit<TaintAnswer, 'outputs'> {
  readonly outputs: readonly NamedTaintedOutput[];
}

export interface TaintQuery {
  /** Height of the last block in which spends are followed. Default: the newest known block. */
  readonly until?: number;
  readonly budget?: TaintBudget;
  /** Whether taint that arrives at an address ends there. */
  readonly stopAt?: (key: AddressKey) => boolean;
}

export interface ProvenanceQuery<Category extends string> {
  readonly method: TaintMethod;
  /** Category of a labelled address, or null. Called once for each address of a result. */
  readonly originOf: (key: AddressKey) => Category | null;
  /** How many of the newest outputs of the address are considered. Maximum and default: `addressOutputsMax`. */
  readonly outputs?: number;
  readonly transactions?: number;
  readonly maxHops?: number;
  /** Milliseconds since the epoch. Outputs and spends of later transactions are hidden. */
  readonly untilMs?: number;
}

export interface AddressProvenance<Category extends string> extends Provenance<Category> {
  /** True if the number of outputs reached the limit: the address may have more. */
  readonly hasMoreOutputs: boolean;
}

export interface TaintReader {
  /** Follows outputs forwards. Throws NOT_FOUND if an output is not stored. */
  taintOf(
    chain: ChainId,
    seeds: readonly OutputName[],
    method: TaintMethod,
    query?: TaintQuery,
  ): NamedTaintAnswer;
  /** The results of the five rules, in the order of TAINT_METHODS. */
  taintByAll(chain: ChainId, seeds: readonly OutputName[], query?: TaintQuery): readonly NamedTaintAnswer[];
  /**
   * Returns the outputs that an address held after a block: created by then, and not yet spent. Without a height it returns the newest
   * `addressOutputsMax` outputs, spent or not.
   */
  outputsOf(chain: ChainId, key: AddressKey, atHeight?: number): readonly OutputName[];
  /** Determines the origins of the money of an address. Null if no output of the address is known. */
  provenanceOf<Category extends string>(
    chain: ChainId,
    key: AddressKey,
    query: ProvenanceQuery<Category>,
  ): AddressProvenance<Category> | null;
}

/** A graph in which outputs that are spent after `untilMs` count as unspent. */
const spendsUntil = (graph: SpendGraph, untilMs: number): SpendGraph => ({
  numberOf: (txid) => graph.numberOf(txid),
  keyOf: (address) => graph.keyOf(address),
  transaction(number) {
    const transaction = graph.transaction(number);
    const isLater = (spentBy: number | null): boolean =>
      spentBy !== null && graph.transaction(spentBy).timestampMs > untilMs;
    if (!transaction.outputs.some(({ spentBy }) => isLater(spentBy))) return transaction;
    const outputs = transaction.outputs.map((output) =>
      isLater(output.spentBy) ? { ...output, spentBy: null } : output,
    );
    return { ...transaction, outputs };
  },
});

/**
 * Creates a taint reader over the outputs store. Its methods throw NOT_FOUND if no outputs of the chain are stored, except `outputsOf` and
 * `provenanceOf`.
 */
export function createTaintReader(deps: {
  readonly outputs: Pick<OutputsReader, 'graph' | 'outputsOf' | 'addressNumber'>;
}): TaintReader {
  const { outputs } = deps;

  const graphOf = (chain: ChainId): SpendGraph => {
    const graph = outputs.graph(chain);
    if (graph) return graph;
    throw new AssayError('NOT_FOUND', `chain: no outputs of ${chain} are stored.`, { field: 'chain' });
  };

  const refOf = (graph: SpendGraph, { txid, n }: OutputName): OutputRef => {
    const tx = graph.numberOf(txid);
    if (tx !== null && outputOf(graph.transaction(tx), n)) return { tx, n };
    throw new AssayError('NOT_FOUND', `Output ${n} of ${txid} is not stored.`, { field: 'outputs' });
  };

  /** Calls `ask` at most once per address, however often its number comes up. */
  const remembered = <T>(graph: SpendGraph, ask: (key: AddressKey) => T): ((address: number) => T) => {
    const known = new Map<number, T>();
    return (address) => {
      const answer = known.get(address);
      if (answer !== undefined) return answer;
      const asked = ask(graph.keyOf(address));
      known.set(address, asked);
      return asked;
    };
  };

  const follow = (
    chain: ChainId,
    seeds: readonly OutputName[],
    method: TaintMethod,
    query: TaintQuery,
  ): NamedTaintAnswer => {
    const graph = graphOf(chain);
    const { until, budget, stopAt } = query;
    const answer = taintOf(
      graph,
      seeds.map((seed) => refOf(graph, seed)),
      {
        method,
        ...(until === undefined ? {} : { until }),
        ...(budget ? { budget } : {}),
        ...(stopAt ? { stopAt: remembered(graph, stopAt) } : {}),
      },
    );
    return {
      ...answer,
      outputs: answer.outputs.map(({ txid, n, address, value, tainted, end }) => ({
        txid,
        n,
        address: address > 0 ? formatAddressKey(graph.keyOf(address), chain) : null,
        value,
        tainted,
        end,
      })),
    };
  };

  return {
    taintOf: (chain, seeds, method, query = {}) => follow(chain, seeds, method, query),
    taintByAll: (chain, seeds, query = {}) =>
      TAINT_METHODS.map((method) => follow(chain, seeds, method, query)),

    outputsOf(chain, key, atHeight) {
      const graph = outputs.graph(chain);
      if (!graph) return [];
      const names: OutputName[] = [];
      for (const { tx, n } of outputs.outputsOf(chain, key, UTXO_LIMITS.addressOutputsMax)) {
        const transaction = graph.transaction(tx);
        const spentBy = outputOf(transaction, n)?.spentBy ?? null;
        const isHeld =
          atHeight === undefined ||
          (transaction.block <= atHeight &&
            (spentBy === null || graph.transaction(spentBy).block > atHeight));
        if (isHeld) names.push({ txid: transaction.txid, n });
      }
      return names;
    },

    provenanceOf(chain, key, query) {
      const { method, transactions, maxHops, untilMs } = query;
      const whole = outputs.graph(chain);
      const subject = outputs.addressNumber(chain, key);
      if (!whole || subject === null) return null;
      const graph = untilMs === undefined ? whole : spendsUntil(whole, untilMs);
      const limit = Math.min(query.outputs ?? UTXO_LIMITS.addressOutputsMax, UTXO_LIMITS.addressOutputsMax);
      const newest = outputs.outputsOf(chain, key, limit);
      const refs =
        untilMs === undefined
          ? newest
          : newest.filter(({ tx }) => whole.transaction(tx).timestampMs <= untilMs);
      if (refs.length === 0 && untilMs !== undefined) return null;
      const provenance = provenanceOf(graph, refs, {
        method,
        subject,
        originOf: remembered(graph, query.originOf),
        ...(transactions === undefined ? {} : { transactions }),
        ...(maxHops === undefined ? {} : { maxHops }),
      });
      return { ...provenance, hasMoreOutputs: newest.length === limit };
    },
  };
}
