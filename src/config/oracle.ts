/** Settings: contracts that hold the sanctions lists. */
import { optionalPrivateKey } from './readers.ts';
import { setting } from './setting.ts';

export const oracleSettings = {
  oracleKey: setting(
    'ASSAY_ORACLE_KEY',
    '',
    optionalPrivateKey,
    'Private key of the account that `assay oracle push` sends transactions from: 64 hexadecimal digits. A file is preferable: `--key-file`.',
  ),
} as const;
