/** `GET /monitoring/wallets`. */
import { Type } from 'typebox';
import { walletText } from '../../monitoring/answers.ts';
import { parseMonitoringChain } from '../../monitoring/service.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { chainText, oneOf, paging } from '../schemas/common.ts';
import { WalletList } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const listWallets = operation({
  ...MONITORING,
  id: 'listWallets',
  method: 'GET',
  path: '/monitoring/wallets',
  query: {
    includeDeleted: Type.Boolean({ default: false, description: 'Default false.' }),
    chain: Type.Optional(chainText('Only wallets on this chain.')),
    status: Type.Optional(oneOf(['ACTIVE', 'PAUSED', 'DELETED'], 'Only wallets in this state.')),
    search: Type.Optional(Type.String({ description: 'Part of the label or of the address.' })),
    ...paging(HTTP_LIMITS.walletsPageMax, HTTP_LIMITS.walletsPageMax),
  },
  response: WalletList,
  summary: 'Watched wallets',
  description: 'The wallets of the account, oldest first.',
  async run({ services, call, query }) {
    const { includeDeleted, chain, status, search, limit, offset } = query;
    const filter = {
      // A filter by DELETED implies that deleted wallets are included.
      includeDeleted: includeDeleted || status === 'DELETED',
      ...(chain === undefined ? {} : { chain: parseMonitoringChain(chain) }),
      ...(status === undefined ? {} : { status }),
      ...(search === undefined ? {} : { search }),
    };
    const { store } = services.useCases.monitoring();
    const { wallets, total } = store.wallets(callerOf(call).accountId, filter, { limit, offset });
    const rows = wallets.map(walletText).join(',');
    return Buffer.from(`{"wallets":[${rows}],"total":${total},"limit":${limit},"offset":${offset}}`);
  },
});
