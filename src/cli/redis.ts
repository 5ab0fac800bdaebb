/** `assay redis fill`: takes the accounts of a machine that was alone over into the Redis that nodes will share. */
import type { Command } from 'commander';
import { answer, type Terminal, table } from './context.ts';
import type { FillReport, Parts } from './parts.ts';
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
}
