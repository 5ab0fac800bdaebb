/** Search of a transaction on one chain. */
import type { PooledJson } from '../../base/buffer-pool.ts';
import { type ChainTransactionRequest, createChainTransaction } from '../../screening/transaction.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

export const chainTransactionTask = task({
  name: 'chainTransaction',
  run(services) {
    const find = createChainTransaction(services, services.assessor);
    return (request: ChainTransactionRequest): PooledJson => ({ json: jsonBytes(find(request)) });
  },
  route: routeByChain<ChainTransactionRequest>(),
});
