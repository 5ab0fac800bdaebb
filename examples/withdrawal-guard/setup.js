/** What both example servers share: the guard from environment variables, and a list of held withdrawals in memory. */
import { createAssayClient } from '../shared/assay-client.js';
import { log, onOff, required, wholeNumber } from '../shared/settings.js';
import { createWithdrawalGuard } from './guard.js';

export const port = wholeNumber('PORT', 3_000, 0, 65_535);

/** Held withdrawals. A real service keeps them in its database, in the transaction that creates the withdrawal. */
export const reviews = [];

export const guard = createWithdrawalGuard({
  client: createAssayClient({
    url: required('ASSAY_BASE_URL'),
    apiKey: required('ASSAY_API_KEY'),
    timeoutMs: wholeNumber('TIMEOUT_MS', 2_000, 1, 60_000),
  }),
  chains: (process.env.CHAINS ?? 'BTC,ETH,TRON').split(','),
  failOpen: onOff('FAIL_OPEN', 'off'),
  holdNotAssessed: onOff('HOLD_NOT_ASSESSED', 'off'),
  async hold(withdrawal, { verdict, reasons }) {
    const id = String(reviews.length + 1);
    reviews.push({ id, withdrawal, verdict, reasons });
    return id;
  },
  log,
});

/** The handler behind the guard: it sends the withdrawal. */
export const send = ({ chain, address, amount }, screening) => ({
  status: 'SENT',
  chain,
  address,
  amount: amount ?? null,
  screened: screening !== null,
});
