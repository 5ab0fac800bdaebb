/** `assay attribute <chain>` and `assay attribute explain <chain> <address>`: labels derived from the chain, and their evidence. */
import type { Command } from 'commander';
import type { AttributionAnswer, EvidenceTransaction } from '../attribution/explain.ts';
import type { AttributeReport } from '../attribution/run.ts';
import { parseChainId } from '../chains/registry.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import { ruleText } from './lookup.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

function depositLines({ deposits, chain }: AttributeReport): readonly string[] {
  if (deposits === null) return [`No transfer of ${chain} is stored: deposit addresses were not searched.`];
  const { wallets, entities, swept, followed, accounts, labels } = deposits;
  return [
    `${wallets} collecting wallets of ${entities} entities. ` +
      (swept === null
        ? `${followed?.transfers ?? 0} new transfers were read.`
        : `The whole log was read (${swept}).`),
    `${accounts} accounts forward to them: ${labels.labels} labels, ${labels.waiting} with too little evidence, ` +
      `${labels.labelledOtherwise} labelled by other sources.`,
    ...(wallets > 0
      ? []
      : ['Without labels of exchanges there are no deposit addresses: import or sync labels first.']),
  ];
}

const logLine = ({ contract, logs, facts, reverted, ignored }: AttributeReport['logs'][number]): string =>
  `${contract}: ${logs} logs, ${facts} new facts` +
  `${reverted === 0 ? '' : `, ${reverted} reverted`}${ignored === 0 ? '' : `, ${ignored} ignored`}.`;

const reportLines = (report: AttributeReport): readonly string[] => [
  ...depositLines(report),
  ...report.logs.map(logLine),
  ...report.facts.map(({ source, labels }) => `${labels} labels of the source ${source}.`),
  report.changed
    ? 'Run `assay index build` to publish the labels.'
    : 'The store already had all of these labels.',
];

const evidenceRow = (row: EvidenceTransaction): string[] => [
  row.role,
  row.timestamp ?? '-',
  String(row.blockNumber),
  row.txHash,
  row.amount === null ? '-' : `${row.amount} ${row.asset ?? ''}`.trim(),
];

function explainLines({ address, chain, labels, findings, judgedAt }: AttributionAnswer): readonly string[] {
  return [
    `${address} on ${chain}: ${labels.length} derived labels in the index`,
    ...labels.map(
      (label) =>
        `  ${label.name} (${label.category}) by ${label.source}, confidence ${label.confidence}` +
        `${label.derivation ? `; ${ruleText(label.derivation)}` : ''}`,
    ),
    ...(findings.length === 0 ? ['No rule found anything about the address.'] : []),
    ...findings.flatMap((finding) => [
      `${finding.status} ${ruleText(finding)}: ${finding.entityName ?? 'no entity'}` +
        `${finding.confidence === null ? '' : `, confidence ${finding.confidence}`}`,
      `  ${finding.summary}`,
      ...(finding.evidence.length === 0
        ? []
        : table([
            ['  ROLE', 'TIME', 'BLOCK', 'TRANSACTION', 'AMOUNT'],
            ...finding.evidence.map(evidenceRow),
          ])),
    ]),
    judgedAt === null ? `Run \`assay attribute ${chain}\` to apply the rules.` : `judged at ${judgedAt}`,
  ];
}

/** Adds `assay attribute`. */
export function addAttributeCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const attribute = program
    .command('attribute')
    .description(
      'derive labels from the stored transfers and logs of a chain; reads what is new, and resumes after a stop',
    );

  attribute
    .command('run', { isDefault: true })
    .description('apply the rules to a chain')
    .argument('<chain>', 'an EVM chain or TRON')
    .option('--no-logs', 'do not read logs of factories and issuers from a node')
    .option('--from-block <n>', 'first block of the logs of a contract that was never read', '0')
    .option('--json', 'answer as JSON')
    .action(async (name: string, options: { logs: boolean; fromBlock: string; json?: boolean }) => {
      const chain = parseChainId(name, 'chain');
      const fromBlock = wholeNumber('--from-block', options.fromBlock, 0, Number.MAX_SAFE_INTEGER);
      const progress = createProgress(terminal);
      try {
        const report = await services().attribution.run(chain, {
          signal: terminal.signal,
          readLogs: options.logs,
          fromBlock,
          onProgress: (step, done, total, unit) => progress.update(`${chain} ${step}`, done, total, unit),
        });
        progress.end();
        answer(terminal, options.json ?? false, report, () => reportLines(report));
      } finally {
        progress.end();
      }
    });

  attribute
    .command('explain')
    .description('show what the rules found about an address, with transactions and blocks')
    .argument('<chain>', 'chain of the address')
    .argument('<address>', 'the address')
    .option('--json', 'answer as JSON')
    .action((name: string, address: string, options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, services().attribution.explain(name, address), explainLines);
    });
}
