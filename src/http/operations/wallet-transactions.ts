/** `GET /monitoring/wallets/{id}/transactions`. */
import { transactionAnswer } from '../../monitoring/answers.ts';
import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import { callerOf, operation } from '../operation.ts';
import { offsetQuery } from '../schemas/fields.ts';
import { TransactionList } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletPath } from './support/monitoring.ts';
import { offsetEnd, pageOf } from './support/paging.ts';

export const walletTransactions = operation({
  ...MONITORING,
  id: 'walletTransactions',
  sdk: 'wallets.transactions',
  method: 'GET',
  path: '/monitoring/wallets/{id}/transactions',
  pathParameters: walletPath,
  query: offsetQuery(MONITORING_LIMITS.monitoringPageMax),
  response: TransactionList,
  statuses: NOT_FOUND,
  summary: 'Monitored transactions of a wallet',
  description: 'Newest first.',
  async run({ services, call, path, query }) {
    const service = services.useCases.monitoring();
    const { store } = service;
    const wallet = service.wallet(callerOf(call).accountId, path.id);
    const head = store.blocks(wallet.chain).at(-1)?.height ?? null;
    const page = pageOf(query);
    const result = store.transactions(wallet.accountId, wallet.id, page);
    const transactions = result.transactions.map((transaction) => transactionAnswer(transaction, head));
    return { transactions, ...offsetEnd(page, result) };
  },
});
