/** The stored transfers of one transaction on one chain, with the attributions of both sides as a trace has them. */
import { isoTime } from '../base/clock.ts';
import { nativeUnits } from '../chains/native-units.ts';
import { parseChainId } from '../chains/registry.ts';
import { hashReadings } from '../chains/transaction-hash.ts';
import { NOBODY, type NodeId } from '../graph/graph.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Assessor } from './assess.ts';
import { createLabelContext } from './context.ts';
import type { ScreeningDeps } from './deps.ts';
import { shownAsset, shownNode } from './subject.ts';
import type { ChainTransaction, TransactionSearch } from './transaction-answers.ts';
import { weighingOf } from './weighing.ts';

/** A transaction that is searched on one chain. */
export interface ChainTransactionRequest {
  readonly chain: string;
  readonly hash: string;
}

export type ChainTransactionQuery = (request: ChainTransactionRequest) => TransactionSearch;

/**
 * Returns the query that finds a transaction on one chain. Synchronous; it reads at most `transfersPerTransaction` transfers. The query
 * throws UNKNOWN_CHAIN.
 */
export function createChainTransaction(deps: ScreeningDeps, assessor: Assessor): ChainTransactionQuery {
  const { transfers } = deps;
  const contextNow = createLabelContext(deps);
  return (request) => {
    const chain = parseChainId(request.chain);
    const texts = hashReadings(request.hash).find((reading) => reading.chain === chain)?.texts ?? [];
    const graph = transfers.graph(chain);
    if (graph === null) return { chain, status: 'NO_TRANSFERS', transaction: null };
    const found = transfers.transaction(chain, texts, GRAPH_LIMITS.transfersPerTransaction);
    if (found === null) return { chain, status: 'NOT_SEARCHABLE', transaction: null };
    // Transfers of TON have the id of their trace: a transaction that does not begin one is stored, and cannot be found.
    if (found.total === 0)
      return { chain, status: chain === 'TON' ? 'NOT_SEARCHABLE' : 'NOT_FOUND', transaction: null };
    const { reader, coverage } = contextNow();
    const attributions = assessor.attributions(graph, reader, null);
    const { isEvidence } = weighingOf(chain, deps);
    const addresses = new Map<NodeId, string>();
    const addressOf = (node: NodeId): string | null => {
      if (node === NOBODY) return null;
      const known = addresses.get(node) ?? shownNode(graph, node);
      addresses.set(node, known);
      return known;
    };
    const listed = found.transfers.map((one) => ({
      position: one.position,
      from: addressOf(one.from),
      to: addressOf(one.to),
      asset: shownAsset(chain, one.asset),
      amount: nativeUnits(one.amount, one.decimals),
      decimals: one.decimals,
      valueUsd: one.valueUsd,
      evidence: isEvidence(one.asset),
      blockNumber: one.blockNumber,
      timestamp: isoTime(one.timestampMs),
    }));
    const transaction: ChainTransaction = {
      chain,
      hash: texts[0] ?? request.hash,
      transfers: listed,
      totalTransfers: found.total,
      truncated: found.total - found.unread > listed.length,
      unreadTransfers: found.unread,
      parties: [...addresses].map(([node, address]) => {
        const { entity, category, riskLevel, sanctioned } = attributions.of(node);
        return {
          address,
          label: entity?.name ?? null,
          category,
          riskLevel,
          entity,
          threatLevel: entity?.threatLevel ?? null,
          sanctioned,
        };
      }),
      coverage: {
        ...coverage,
        // Files contain only parts of a chain's history, so other transfers of the transaction may be missing.
        graph: { status: 'PARTIAL', asOf: transfers.coverage(chain).asOf },
      },
      dataVersion: reader.meta.dataVersion,
    };
    return { chain, status: 'FOUND', transaction };
  };
}
