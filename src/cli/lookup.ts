/** `assay lookup` and `assay screen`: the labels of one address, or its whole screening. */
import type { Command } from 'commander';
import type { Derivation } from '../labels/derivation.ts';
import type { EntityLabelSet, Reason, ScreeningAnswer, TaintShares } from '../screening/answers.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { LookupServices, Services } from './services.ts';
import { staleAdviceLines } from './stale-advice.ts';

const reasonLine = (reason: Reason): string => `  ${reason.severity} ${reason.code}: ${reason.message}`;

const percent = (rate: number): string => `${Math.round(rate * 1000) / 10} %`;

/** A rule with its error rate, as in `exchange-deposit 1, 99.2 % right`. */
export const ruleText = ({ rule, version, precision }: Derivation): string =>
  `${rule} ${version}, ${precision === null ? 'error rate not measured' : `${percent(precision)} right`}`;

/** The measured rates of a rule, with the data and the date, or why there are none. */
export function ratesText({ precision, recall, measuredOn, measuredAt, notMeasured }: Derivation): string {
  const rates = [
    ...(precision === null ? [] : [`${percent(precision)} of its labels are right`]),
    ...(recall === null ? [] : [`it finds ${percent(recall)}`]),
  ];
  const measured = rates.length === 0 ? [] : [`${rates.join(', ')} (${measuredOn}, ${measuredAt}).`];
  return [...measured, ...(notMeasured === null ? [] : [`Not measured: ${notMeasured}`])].join(' ');
}

function labelLines(set: EntityLabelSet, advice: readonly string[]): readonly string[] {
  const rows = set.labels.map((label) => [
    label.name,
    label.category,
    label.threatLevel,
    label.source,
    label.derivation ? `${label.class}: ${ruleText(label.derivation)}` : label.class,
    String(label.confidence),
    label.sourceUrl ?? '-',
  ]);
  return [
    `${set.address} on ${set.chain}: ${set.sanctioned ? 'SANCTIONED' : 'no sanction in force is known'}`,
    ...(rows.length === 0
      ? ['no labels']
      : table([['NAME', 'CATEGORY', 'THREAT', 'SOURCE', 'CLASS', 'CONFIDENCE', 'URL'], ...rows])),
    ...set.reasons.map(reasonLine),
    ...advice,
    `data version ${set.dataVersion}`,
  ];
}

const shares = (exposure: ScreeningAnswer['exposureSending']): string =>
  Object.entries(exposure)
    .map(([category, percentage]) => `${category} ${percentage} %`)
    .join(', ') || 'nothing known';

const taintLine = ({ method, received, isTruncated }: TaintShares): string =>
  `  ${method.padEnd(7)}  ${shares(received)}${isTruncated ? ' (not all of it was read)' : ''}`;

interface ScreenOptions {
  readonly jurisdiction: string;
  readonly asOf?: string;
  readonly taint?: string;
  readonly maxHops: string;
  readonly json?: boolean;
}

/** The text output shows the taint beside the exposure only if it was requested. */
function screeningLines(
  screening: ScreeningAnswer,
  { taint }: Pick<ScreenOptions, 'taint'>,
  advice: readonly string[],
): readonly string[] {
  const told = taint === undefined ? [] : screening.taint.methods;
  return [
    `${screening.address} on ${screening.chain}: ${screening.riskLevel}, score ${screening.riskScore} of 100`,
    ...(screening.asOf === null ? [] : [`as of ${screening.asOf}: later facts are hidden`]),
    `entity: ${screening.entity ? `${screening.entity.name} (${screening.entity.category})` : 'not known'}`,
    ...screening.labelConflicts.map(({ message }) => `  labels disagree: ${message}`),
    `sanctioned: ${screening.sanctioned ? 'yes' : 'no sanction in force is known'}`,
    ...screening.sanctionsCheck.lists.map(
      (entry) =>
        `  ${entry.list} ${entry.entityName} (${entry.program ?? '-'}), listed ${entry.listedAt ?? '-'}` +
        `${entry.delistedAt === null ? '' : `, delisted ${entry.delistedAt}`}` +
        `${entry.attribution ? ` (${entry.matchType} by ${entry.attribution.source}, confidence ${entry.attribution.confidence})` : ''}`,
    ),
    ...(screening.scoreBreakdown.length === 0 ? [] : ['score:']),
    ...screening.scoreBreakdown.map(
      (factor) => `  ${String(factor.points).padStart(4)}  ${factor.factor} ${factor.category}`,
    ),
    `received from: ${shares(screening.exposureReceiving)}`,
    `sent to: ${shares(screening.exposureSending)}`,
    ...(told.length === 0 ? [] : ['taint of what was received:']),
    ...told.map(taintLine),
    ...screening.reasons.map(reasonLine),
    ...advice,
    `data version ${screening.dataVersion}, policy ${screening.policyVersion}`,
  ];
}

/** Adds `assay lookup`. */
export function addLookupCommand(program: Command, terminal: Terminal, services: () => LookupServices): void {
  program
    .command('lookup')
    .description('print all labels of an address')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'address in any valid form of the chain')
    .option('--json', 'answer as JSON')
    .action((chain: string, address: string, options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, services().labelSet()(chain, address), (set) =>
        labelLines(set, staleAdviceLines(set.reasons, services)),
      );
    });
}

/** Adds `assay screen`. */
export function addScreenCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('screen')
    .description('screen an address: labels, sanctions, counterparties, score')
    .argument('<chain>', 'chain id, such as ETH')
    .argument('<address>', 'address in any valid form of the chain')
    .option(
      '--jurisdiction <code>',
      'country whose legal requirements are applied (ISO 3166-1 alpha-2)',
      'CH',
    )
    .option('--as-of <date>', 'labels, lists and transfers as known on that day (YYYY-MM-DD)')
    .option(
      '--taint <rule>',
      'poison, haircut, fifo, lifo, tiho or all; chains of accounts: haircut, poison or all',
    )
    .option('--max-hops <n>', 'hops through addresses without a label, 1 to 5', '3')
    .option('--json', 'answer as JSON')
    .action(async (chain: string, address: string, options: ScreenOptions) => {
      const request = {
        chain,
        address,
        jurisdiction: options.jurisdiction,
        maxHops: wholeNumber('--max-hops', options.maxHops, 1, 5),
        ...(options.asOf === undefined ? {} : { asOf: options.asOf }),
        ...(options.taint === undefined ? {} : { taint: options.taint }),
      };
      const screening = services().screening()(request, await services().readLive(request));
      answer(terminal, options.json ?? false, screening, (data) =>
        screeningLines(data, options, staleAdviceLines(data.reasons, services)),
      );
    });
}
