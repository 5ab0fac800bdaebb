/** `GET /monitoring/wallets/{id}/transactions`. */
import { transactionAnswer } from '../../monitoring/answers.ts';
import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import { callerOf, operation } from '../operation.ts';
import { paging } from '../schemas/common.ts';
import { TransactionList } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletPath } from './support/monitoring.ts';

export const walletTransactions = operation({
  ...MONITORING,
  id: 'walletTransactions',
  method: 'GET',
  path: '/monitoring/wallets/{id}/transactions',
  pathParameters: walletPath,
  query: paging(MONITORING_LIMITS.monitoringPageMax),
  response: TransactionList,
  statuses: NOT_FOUND,
  summary: 'Monitored transactions of a wallet',
  description: 'Newest first.',
  async run({ services, call, path, query: page }) {
    const service = services.useCases.monitoring();
    const { store } = service;
    const wallet = service.wallet(callerOf(call).accountId, path.id);
    const head = store.blocks(wallet.chain).at(-1)?.height ?? null;
    const { transactions, total } = store.transactions(wallet.accountId, wallet.id, page);
    const shown = transactions.map((transaction) => transactionAnswer(transaction, head));
    return { transactions: shown, total, ...page };
  },
});
