/** `assay keys create|list|revoke`: API keys, with or without a running server. */
import type { Command } from 'commander';
import {
  KEY_RECEIPTS,
  type KeyReceipts,
  type KeyRecord,
  PERMISSIONS,
  type Permission,
} from '../accounts/keys.ts';
import { PLAN_NAMES, type PlanName } from '../accounts/plans.ts';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal, table } from './context.ts';
import type { Services } from './services.ts';

function permissionsFrom(text: string): readonly Permission[] {
  return text.split(',').map((word) => {
    const permission = PERMISSIONS.find((known) => known === word.trim());
    if (permission) return permission;
    throw new AssayError(
      'INVALID_REQUEST',
      `--permissions: must be some of ${PERMISSIONS.join(', ')} (got '${word}').`,
    );
  });
}

function planFrom(text: string): PlanName {
  const plan = PLAN_NAMES.find((known) => known === text.toUpperCase());
  if (plan) return plan;
  throw new AssayError('INVALID_REQUEST', `--plan: must be one of ${PLAN_NAMES.join(', ')} (got '${text}').`);
}

function receiptsFrom(text: string): KeyReceipts {
  const receipts = KEY_RECEIPTS.find((known) => known === text);
  if (receipts) return receipts;
  throw new AssayError(
    'INVALID_REQUEST',
    `--receipts: must be one of ${KEY_RECEIPTS.join(', ')} (got '${text}').`,
  );
}

const row = (key: KeyRecord): readonly string[] => [
  key.id,
  key.status,
  `${key.prefix}…${key.last4}`,
  key.plan,
  key.createdAt,
  key.createdBy ?? '',
  key.permissions.join(','),
  key.name,
];

const HEAD = ['ID', 'STATUS', 'KEY', 'PLAN', 'CREATED', 'CREATED BY', 'PERMISSIONS', 'NAME'];

/** Adds `assay keys`. */
export function addKeysCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const keys = program.command('keys').description('create, list and revoke API keys');

  keys
    .command('create')
    .description('create a key and print it once')
    .requiredOption('--name <name>', 'purpose of the key')
    .option('--permissions <list>', `some of ${PERMISSIONS.join(',')} (default: all)`)
    .option('--account <id>', "account that the key belongs to (default: the installation's own)")
    .option(
      '--plan <plan>',
      `plan of a new account: ${PLAN_NAMES.join(', ')} (default: FREE; of the installation's own: SELF_HOSTED)`,
    )
    .option('--receipts <form>', `receipts of its responses: ${KEY_RECEIPTS.join(' or ')} (default: none)`)
    .option('--json', 'answer as JSON')
    .action(
      async (options: {
        name: string;
        receipts?: string;
        permissions?: string;
        account?: string;
        plan?: string;
        json?: boolean;
      }) => {
        const created = await services()
          .keys()
          .create({
            name: options.name,
            ...(options.permissions === undefined
              ? {}
              : { permissions: permissionsFrom(options.permissions) }),
            ...(options.account === undefined ? {} : { accountId: options.account }),
            ...(options.plan === undefined ? {} : { plan: planFrom(options.plan) }),
            ...(options.receipts === undefined ? {} : { receipts: receiptsFrom(options.receipts) }),
          });
        const data = { ...created.record, apiKey: created.apiKey };
        answer(terminal, options.json ?? false, data, () => [
          created.apiKey,
          'This is the only time the key is shown.',
        ]);
      },
    );

  keys
    .command('list')
    .description('list all keys, oldest first')
    .option('--account <id>', 'keys of one account')
    .option('--json', 'answer as JSON')
    .action((options: { account?: string; json?: boolean }) => {
      const records = services().keys().list(options.account);
      answer(terminal, options.json ?? false, records, () => table([HEAD, ...records.map(row)]));
    });

  keys
    .command('revoke')
    .description('revoke a key permanently; a running server rejects it from its next request on')
    .argument('<id>', 'id of the key (see `keys list`)')
    .option('--descendants', 'also revoke the keys that it created, and those that they created')
    .option('--json', 'answer as JSON')
    .action(async (id: string, options: { descendants?: boolean; json?: boolean }) => {
      const store = services().keys();
      const revoked = options.descendants ? await store.revokeWithDescendants(id) : [await store.revoke(id)];
      const [key] = revoked as readonly [KeyRecord, ...KeyRecord[]];
      const left = store.descendants(id).filter(({ status }) => status === 'ACTIVE');
      const report = { ...key, revokedDescendants: revoked.slice(1), activeDescendants: left };
      answer(terminal, options.json ?? false, report, () => [
        ...revoked.map((one) => `${one.id} (${one.name}) is revoked.`),
        ...left.map(
          (one) => `${one.id} (${one.name}) was created with it and is active. Revoke it: --descendants`,
        ),
      ]);
    });
}
