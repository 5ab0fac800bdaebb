/** `assay redis`: starts an installation in the Redis that nodes share, fills it from a standalone machine, or restores it. */
import type { Command } from 'commander';
import { answer, type Terminal, table } from './context.ts';
import type { FillReport, Parts, RestoreReport } from './parts.ts';
import { createProgress } from './progress.ts';

function linesOf({ resumed, stores, ledger }: FillReport): readonly string[] {
  const { accounts, entries, balance, events, quotas, quotaEvents, answers, answersLeft } = ledger;
  return [
    resumed
      ? 'The filling of Redis that was interrupted is at its end.'
      : 'Redis is filled, and nodes may start.',
    ...table(stores.map(({ name, records }) => [`  ${name}`, `${records} records`])),
    `Ledger: ${entries} entries of ${accounts} accounts, ${balance} credits in all; every balance is the sum of its entries, and that of the files.`,
    `Beside it: ${events} bookings and jobs known by name, quotas of ${quotas} accounts and ${quotaEvents} jobs, ${answers} kept answers.`,
    ...(answersLeft > 0
      ? [
          `${answersLeft} answers for an Idempotency-Key were kept by an older version that does not say whose they are: they stay behind.`,
        ]
      : []),
    'All but the kept answers and the units of jobs, which end by themselves, was read back and compared. The files stay as they are. Files of bulk jobs stay in ASSAY_JOBS_DIR, which all nodes have to see; copy installation.key to the others.',
  ];
}

function restoredLines({ installation, resumed, ended, stores }: RestoreReport): readonly string[] {
  const of = installation === null ? 'an installation without an id' : `the installation ${installation}`;
  return [
    ended === null
      ? `The replicas of ${of} can be put back${resumed ? '; that was begun before' : ''}. Take the node with the highest versions:`
      : `Redis holds ${of} again${resumed ? ', by a restoring that was interrupted' : ''}; what was written was read back and compared.`,
    ...table(stores.map(({ name, version }) => [`  ${name}`, `version ${version}`])),
    'Credits, quotas and answers kept for an Idempotency-Key are in no replica: grant credits again, or restore Redis from its backup instead.',
  ];
}

/** Adds `assay redis`. */
export function addRedisCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  const redis = program.command('redis').description('the Redis that nodes share');
  redis
    .command('fill')
    .description(
      'take keys, people, credits, wallets, alerts and jobs of this machine over into the empty Redis of ASSAY_REDIS_URL; its server must not run',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const progress = createProgress(terminal);
      try {
        const report = await parts().fillRedis({
          signal: terminal.signal,
          onProgress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
        });
        progress.end();
        answer(terminal, options.json ?? false, report, linesOf);
      } finally {
        progress.end();
      }
    });
  redis
    .command('found')
    .description(
      'begin an installation in the empty Redis of ASSAY_REDIS_URL; once, before its first node. An empty Redis may be a lost one: see restore',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly json?: boolean }) => {
      const installation = await parts().foundInstallation();
      answer(terminal, options.json ?? false, { installation }, (found) => [
        `Redis holds the new installation ${found.installation}, and nodes may start.`,
      ]);
    });
  redis
    .command('restore')
    .description(
      'put the replicas of this node back into the emptied Redis of ASSAY_REDIS_URL; the server of this folder must not run',
    )
    .requiredOption('--from-replica', 'from the replicas below ASSAY_DATA_DIR')
    .option('--check', 'only print the versions of the replicas, and whether Redis can take them')
    .option('--json', 'answer as JSON')
    .action(async (options: { readonly check?: boolean; readonly json?: boolean }) => {
      const progress = createProgress(terminal);
      try {
        const report = await parts().restoreRedis({
          isCheck: options.check ?? false,
          signal: terminal.signal,
          onProgress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
        });
        progress.end();
        answer(terminal, options.json ?? false, report, restoredLines);
      } finally {
        progress.end();
      }
    });
}
