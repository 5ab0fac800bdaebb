/** All settings by subject. The reference and the validation of variable names are derived from them. */
import { accountsSettings } from './accounts.ts';
import { billingSettings } from './billing.ts';
import { casesSettings } from './cases.ts';
import { chainsSettings } from './chains.ts';
import { listsSettings } from './lists.ts';
import { logSettings } from './log.ts';
import { monitoringSettings } from './monitoring.ts';
import { nodesSettings } from './nodes.ts';
import { oracleSettings } from './oracle.ts';
import { pricesSettings } from './prices.ts';
import { receiptsSettings } from './receipts.ts';
import { replicationSettings } from './replication.ts';
import { serverSettings } from './server.ts';
import type { Setting } from './setting.ts';
import { x402Settings } from './x402.ts';

/** Settings of one subject, as they appear in the reference. */
export interface SettingSubject {
  readonly title: string;
  readonly description: string;
  readonly settings: Readonly<Record<string, Setting<unknown>>>;
}

export const SETTING_SUBJECTS: readonly SettingSubject[] = [
  { title: 'Server', description: 'The HTTP server, its threads and its logs.', settings: serverSettings },
  {
    title: 'Lists and labels',
    description: 'Sanctions lists, their refresh, and your own links between entities and listed parties.',
    settings: listsSettings,
  },
  {
    title: 'Chains',
    description: 'Nodes and explorers of chains, and where their transfers are stored.',
    settings: chainsSettings,
  },
  {
    title: 'Prices and tokens',
    description: 'Prices, and the tokens with transfers that are evidence.',
    settings: pricesSettings,
  },
  { title: 'Accounts', description: 'People and emails.', settings: accountsSettings },
  {
    title: 'Billing',
    description: 'Payments by card, and receipts.',
    settings: billingSettings,
  },
  {
    title: 'Monitoring',
    description: 'Watched wallets and the receivers of alerts.',
    settings: monitoringSettings,
  },
  {
    title: 'Cases and saved screenings',
    description: 'Decisions on cases, and retention.',
    settings: casesSettings,
  },
  {
    title: 'Pay per call',
    description: 'Payments by a signed authorization (x402), and the account that pays their gas.',
    settings: x402Settings,
  },
  { title: 'Contracts', description: 'Contracts that hold the sanctions lists.', settings: oracleSettings },
  {
    title: 'Transparency log',
    description: 'The public log of receipts, where it is published, and its witnesses.',
    settings: logSettings,
  },
  {
    title: 'Receipts',
    description: 'Signed receipts of answers.',
    settings: receiptsSettings,
  },
  {
    title: 'Many nodes',
    description: 'Roles of a node and the Redis that nodes share.',
    settings: nodesSettings,
  },
  {
    title: 'Snapshot replication',
    description: 'Replication of labels, names and registers between nodes.',
    settings: replicationSettings,
  },
];

/** Every setting. */
export const SETTINGS = {
  ...serverSettings,
  ...listsSettings,
  ...chainsSettings,
  ...pricesSettings,
  ...accountsSettings,
  ...billingSettings,
  ...monitoringSettings,
  ...casesSettings,
  ...logSettings,
  ...oracleSettings,
  ...x402Settings,
  ...receiptsSettings,
  ...nodesSettings,
  ...replicationSettings,
} as const;
