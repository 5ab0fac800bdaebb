/** `GET /monitoring/wallets`. */
import { Type } from 'typebox';
import { followedWalletText } from '../../monitoring/answers.ts';
import type { ChainFollowing } from '../../monitoring/records.ts';
import { parseMonitoringChain } from '../../monitoring/service.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { chainText, offsetQuery, oneOf } from '../schemas/fields.ts';
import { WalletList } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';
import { offsetEnd, pageOf } from './support/paging.ts';

export const listWallets = operation({
  ...MONITORING,
  id: 'listWallets',
  sdk: 'wallets.list',
  method: 'GET',
  path: '/monitoring/wallets',
  query: {
    includeDeleted: Type.Boolean({ default: false, description: 'Default false.' }),
    chain: Type.Optional(chainText('Only wallets on this chain.')),
    status: Type.Optional(oneOf(['ACTIVE', 'PAUSED', 'DELETED'], 'Only wallets in this state.')),
    search: Type.Optional(Type.String({ description: 'Part of the label or of the address.' })),
    ...offsetQuery(HTTP_LIMITS.walletsPageMax, HTTP_LIMITS.walletsPageMax),
  },
  response: WalletList,
  summary: 'Watched wallets',
  description: 'The wallets of the account, oldest first.',
  async run({ services, call, query }) {
    const { includeDeleted, chain, status, search } = query;
    const filter = {
      // A filter by DELETED implies that deleted wallets are included.
      includeDeleted: includeDeleted || status === 'DELETED',
      ...(chain === undefined ? {} : { chain: parseMonitoringChain(chain) }),
      ...(status === undefined ? {} : { status }),
      ...(search === undefined ? {} : { search }),
    };
    const { store, following } = services.useCases.monitoring();
    const page = pageOf(query);
    const result = store.wallets(callerOf(call).accountId, filter, page);
    const chains = new Map(
      [...new Set(result.wallets.map((wallet) => wallet.chain))].map((one) => [one, following(one)]),
    );
    const rows = result.wallets
      .map((wallet) => followedWalletText(wallet, chains.get(wallet.chain) as ChainFollowing))
      .join(',');
    const end = JSON.stringify(offsetEnd(page, result)).slice(1);
    return Buffer.from(`{"wallets":[${rows}],${end}`);
  },
});
