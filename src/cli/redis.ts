/** `assay redis`: manages the Redis that nodes share, fills it from a standalone machine, or restores it. */
import type { Command } from 'commander';
import { answer, type Terminal, table } from './context.ts';
import { withProgress } from './progress.ts';
import type { FillReport, NewerReport, RestoreReport, Services } from './services.ts';

function linesOf({ resumed, stores, ledger }: FillReport): readonly string[] {
  const { accounts, entries, balance, events, quotas, quotaEvents, answers, answersLeft } = ledger;
  return [
    resumed ? 'The interrupted fill of Redis is complete.' : 'Redis is filled. Nodes can start.',
    ...table(stores.map(({ name, records }) => [`  ${name}`, `${records} records`])),
    `Ledger: ${entries} entries of ${accounts} accounts, ${balance} credits in total. Every balance equals the sum of its entries and the balance in the files.`,
    `In addition: ${events} bookings and jobs with an id, quotas of ${quotas} accounts and ${quotaEvents} jobs, ${answers} stored responses.`,
    ...(answersLeft > 0
      ? [
          `${answersLeft} responses for an Idempotency-Key were stored by an older version without their account. They were not copied.`,
        ]
      : []),
    'Everything was read back and compared, except stored responses and units of jobs, which expire. The files are unchanged. Files of bulk jobs stay in ASSAY_JOBS_DIR, which all nodes must be able to read. Copy installation.key to the other nodes.',
  ];
}

function restoredLines({ installation, resumed, ended, stores }: RestoreReport): readonly string[] {
  const of = installation === null ? 'an installation without an id' : `the installation ${installation}`;
  return [
    ended === null
      ? `The replicas of ${of} can be restored${resumed ? '; an earlier restore has begun' : ''}. Use the node with the highest versions:`
      : `Redis contains ${of} again${resumed ? ', by a restore that was interrupted' : ''}. Everything that was written was read back and compared.`,
    ...table(stores.map(({ name, version }) => [`  ${name}`, `version ${version}`])),
    'Replicas contain no credits, quotas or responses stored for an Idempotency-Key. Grant credits again, or restore Redis from its backup instead.',
  ];
}

function newerLines({ restored, states }: NewerReport): readonly string[] {
  return [
    ...restored.map(({ store, path }) => `The store ${store} in Redis has the state of ${path} again.`),
    ...(restored.length > 0
      ? [
          'All records were read back and compared. Credits and quotas are unchanged. Nodes go on by themselves.',
        ]
      : []),
    states.length === 0
      ? 'This node has kept no state that Redis has lost.'
      : 'States that Redis has lost and this node has kept, with the version that Redis has now:',
    ...table(
      states.map(({ store, version, keptAt, path, redisVersion }) => [
        ...[`  ${store}`, `version ${version}`, `kept ${keptAt}`, `in Redis: ${redisVersion}`],
        path,
      ]),
    ),
    ...(states.length === 0 ? [] : ['Delete the files that you no longer need.']),
  ];
}

/** Adds `assay redis`. */
export function addRedisCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const redis = program.command('redis').description('manage the Redis that nodes share');
  redis
    .command('fill')
    .description(
      'copy keys, people, credits, wallets, alerts and jobs of this machine into the empty Redis of ASSAY_REDIS_URL; the server of this machine must be stopped',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const report = await withProgress(terminal, (progress) =>
        services().fillRedis({
          signal: terminal.signal,
          onProgress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
        }),
      );
      answer(terminal, options.json ?? false, report, linesOf);
    });
  redis
    .command('found')
    .description(
      'create an installation in the empty Redis of ASSAY_REDIS_URL: once, before its first node starts. If the Redis was emptied by a fault, see restore',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const installation = await services().foundInstallation();
      answer(terminal, options.json ?? false, { installation }, (found) => [
        `Redis contains the new installation ${found.installation}. Nodes can start.`,
      ]);
    });
  redis
    .command('restore')
    .description(
      'restore the emptied Redis of ASSAY_REDIS_URL from the replicas of this node; the server of this folder must be stopped',
    )
    .requiredOption('--from-replica', 'restore from the replicas in ASSAY_DATA_DIR')
    .option('--check', 'only print the versions of the replicas, and whether Redis accepts them')
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly check?: boolean; readonly json?: boolean }) => {
      const report = await withProgress(terminal, (progress) =>
        services().restoreRedis({
          isCheck: options.check ?? false,
          signal: terminal.signal,
          onProgress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
        }),
      );
      answer(terminal, options.json ?? false, report, restoredLines);
    });
  redis
    .command('newer')
    .description(
      'list the states of stores that Redis has lost and this node has kept, because Redis went back to an earlier state; restore them',
    )
    .option(
      '--restore <stores...>',
      'replace these stores in Redis by their newest kept state: changes since Redis went back are discarded. Servers may run',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly restore?: readonly string[]; readonly json?: boolean }) => {
      const report = await withProgress(terminal, (progress) =>
        services().newerStates({
          restore: options.restore ?? [],
          signal: terminal.signal,
          onProgress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
        }),
      );
      answer(terminal, options.json ?? false, report, newerLines);
    });
}
