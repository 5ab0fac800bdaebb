/** Settings: signed receipts. */
import { number } from './readers.ts';
import { setting } from './setting.ts';

/** Days of a hundred years. */
const DAYS_MAX = 36_525;

export const receiptsSettings = {
  receiptRetentionDays: setting(
    'ASSAY_RECEIPT_RETENTION_DAYS',
    '2557',
    number(1, DAYS_MAX, true),
    'Days for which a receipt and its evidence are kept; then they are deleted. Default: seven years. Nodes with the role `api` need the same value.',
  ),
} as const;
