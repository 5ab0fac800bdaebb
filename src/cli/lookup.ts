/** `assay lookup` and `assay screen`: one address, all its labels, or the whole screening. */
import type { Command } from 'commander';
import type { EntityLabelSet, Reason, ScreeningAnswer } from '../screening/answers.ts';
import { answer, type Terminal, table } from './context.ts';
import type { Parts } from './parts.ts';

const reasonLine = (reason: Reason): string => `  ${reason.severity} ${reason.code}: ${reason.message}`;

function labelLines(set: EntityLabelSet): readonly string[] {
  const rows = set.labels.map((label) => [
    label.name,
    label.category,
    label.threatLevel,
    label.source,
    String(label.confidence),
    label.sourceUrl ?? '-',
  ]);
  return [
    `${set.address} on ${set.chain}: ${set.sanctioned ? 'SANCTIONED' : 'no sanction in force is known'}`,
    ...(rows.length === 0
      ? ['no labels']
      : table([['NAME', 'CATEGORY', 'THREAT', 'SOURCE', 'CONFIDENCE', 'URL'], ...rows])),
    ...set.reasons.map(reasonLine),
    `data version ${set.dataVersion}`,
  ];
}

const shares = (exposure: ScreeningAnswer['exposureSending']): string =>
  Object.entries(exposure)
    .map(([category, percentage]) => `${category} ${percentage} %`)
    .join(', ') || 'nothing known';

function screeningLines(screening: ScreeningAnswer): readonly string[] {
  return [
    `${screening.address} on ${screening.chain}: ${screening.riskLevel}, score ${screening.riskScore} of 100`,
    `entity: ${screening.entity ? `${screening.entity.name} (${screening.entity.category})` : 'not known'}`,
    `sanctioned: ${screening.sanctioned ? 'yes' : 'no sanction in force is known'}`,
    ...screening.sanctionsCheck.lists.map(
      (entry) =>
        `  ${entry.list} ${entry.entityName} (${entry.program ?? '-'}), listed ${entry.listedAt ?? '-'}` +
        `${entry.delistedAt === null ? '' : `, delisted ${entry.delistedAt}`}`,
    ),
    'score:',
    ...screening.scoreBreakdown.map(
      (factor) => `  ${String(factor.points).padStart(4)}  ${factor.factor} ${factor.category}`,
    ),
    `received from: ${shares(screening.exposureReceiving)}`,
    `sent to: ${shares(screening.exposureSending)}`,
    ...screening.reasons.map(reasonLine),
    `data version ${screening.dataVersion}, policy ${screening.policyVersion}`,
  ];
}

export function addLookupCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('lookup')
    .description('print all labels of an address')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'address in any form valid for the chain')
    .option('--json', 'answer as JSON')
    .action((chain: string, address: string, options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, parts().labelSet()(chain, address), labelLines);
    });
}

export function addScreenCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('screen')
    .description('screen an address: labels, sanctions, counterparties, score')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'address in any form valid for the chain')
    .option('--jurisdiction <code>', 'country whose law is interpreted (ISO 3166-1 alpha-2)', 'CH')
    .option('--as-of <date>', 'lists as in force on that day (YYYY-MM-DD)')
    .option('--json', 'answer as JSON')
    .action(
      async (
        chain: string,
        address: string,
        options: { jurisdiction: string; asOf?: string; json?: boolean },
      ) => {
        const request = await parts().readLive({
          chain,
          address,
          jurisdiction: options.jurisdiction,
          ...(options.asOf === undefined ? {} : { asOf: options.asOf }),
        });
        const screening = parts().screening()(request);
        answer(terminal, options.json ?? false, screening, screeningLines);
      },
    );
}
