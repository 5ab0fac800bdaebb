/** `assay attribute <chain>` and `assay attribute explain <chain> <address>`: labels derived from the chain, and their evidence. */
import { type Command, Option } from 'commander';
import { hasAccounts } from '../attribution/chains.ts';
import type { ReadCoinbasesReport } from '../attribution/coinbase/read.ts';
import type { AnsweredDispute, AttributionAnswer, EvidenceTransaction } from '../attribution/explain.ts';
import type { AttributeReport } from '../attribution/run.ts';
import { parseChainId } from '../chains/registry.ts';
import { type BuildIndexReport, buildLabelIndex } from '../labels/build-index.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import { ratesText, ruleText } from './lookup.ts';
import { createProgress, type Progress } from './progress.ts';
import type { Services } from './services.ts';

function depositLines({ deposits, chain }: AttributeReport): readonly string[] {
  if (!hasAccounts(chain)) return [];
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
      : [
          'No labelled wallet of an exchange collects payments in the stored transfers, so there are no deposit addresses. ' +
            'It takes labels of exchanges, and transfers from ten addresses to such a wallet and from it to ten others.',
        ]),
  ];
}

const logLine = ({ contract, logs, facts, reverted, ignored }: AttributeReport['logs'][number]): string =>
  `${contract}: ${logs} logs, ${facts} new facts` +
  `${reverted === 0 ? '' : `, ${reverted} reverted`}${ignored === 0 ? '' : `, ${ignored} ignored`}.`;

const coinbaseLine = ({ blocks, facts, reverted, unread }: ReadCoinbasesReport): string =>
  `${blocks} blocks: ${facts} with a known tag pay one address` +
  `${reverted === 0 ? '' : `, ${reverted} reverted`}${unread === 0 ? '' : `, ${unread} without a script`}.`;

function creationLine(read: AttributeReport['creations']): string[] {
  if (read === null) return [];
  if ('refused' in read) return [`Creations of contracts were not read: ${read.refused}`];
  const { blocks, created, proxies, reverted, ignored } = read;
  return [
    `${blocks} blocks: ${created} contracts created, ${proxies} of them proxies` +
      `${reverted === 0 ? '' : `, ${reverted} reverted`}${ignored === 0 ? '' : `, ${ignored} ignored`}.`,
  ];
}

function proxyLine(read: AttributeReport['proxies']): string[] {
  if (read === null) return [];
  if ('refused' in read) return [`Proxies were not read: ${read.refused}`];
  const { logs, facts, reverted, ignored } = read;
  return [
    `proxies: ${logs} logs, ${facts} new facts` +
      `${reverted === 0 ? '' : `, ${reverted} reverted`}${ignored === 0 ? '' : `, ${ignored} contracts ignored`}.`,
  ];
}

const reportLines = (report: AttributeReport, isPublished: boolean): readonly string[] => [
  ...depositLines(report),
  ...report.logs.map(logLine),
  ...creationLine(report.creations),
  ...proxyLine(report.proxies),
  ...(report.coinbases === null ? [] : [coinbaseLine(report.coinbases)]),
  ...report.facts.map(({ source, labels }) => `${labels} labels of the source ${source}.`),
  isPublished
    ? 'The labels are in force.'
    : report.changed
      ? 'Run `assay index build` to publish the labels.'
      : 'The store already had all of these labels.',
];

interface RunFlags {
  readonly logs: 'all' | 'known' | false;
  readonly fromBlock?: string;
  readonly publish?: boolean;
  readonly json?: boolean;
}

/** Builds the index, as `assay index build` does. A snapshot that has all labels stays in force. */
async function publish(
  opened: Services,
  isChanged: boolean,
  terminal: Terminal,
  progress: Progress,
): Promise<true> {
  const build = (): Promise<BuildIndexReport> =>
    buildLabelIndex(
      {
        snapshotsFolder: opened.snapshotsFolder,
        signal: terminal.signal,
        onProgress: ({ phase, done, total }) => progress.update(phase, done, total, 'labels'),
      },
      opened,
    );
  // A server publishes regularly: builds without a change would push the others out of the log of runs.
  if (isChanged)
    await opened.runs.record('BUILD', build, ({ meta }) => ({
      sources: [],
      dataVersion: meta?.dataVersion ?? null,
      error: null,
    }));
  else await build();
  return true;
}

const evidenceRow = (row: EvidenceTransaction): string[] => [
  row.role,
  row.timestamp ?? '-',
  String(row.blockNumber),
  row.txHash,
  row.amount === null ? '-' : `${row.amount} ${row.asset ?? ''}`.trim(),
];

const disputeLine = ({ reason, disputedAt, name, category }: AnsweredDispute): string =>
  `DISPUTED at ${disputedAt}, now ${name} (${category}): ${reason}`;

function explainLines(explained: AttributionAnswer): readonly string[] {
  const { address, chain, labels, findings, dispute, judgedAt } = explained;
  return [
    `${address} on ${chain}: ${labels.length} derived labels in the index`,
    ...labels.map(
      (label) =>
        `  ${label.name} (${label.category}) by ${label.source}, confidence ${label.confidence}` +
        `${label.derivation ? `; ${ruleText(label.derivation)}` : ''}`,
    ),
    ...(dispute === null ? [] : [disputeLine(dispute)]),
    ...(findings.length === 0 ? ['No rule found anything about the address.'] : []),
    ...findings.flatMap((finding) => [
      `${finding.status} ${ruleText(finding)}: ${finding.entityName ?? 'no entity'}` +
        `${finding.confidence === null ? '' : `, confidence ${finding.confidence}`}`,
      `  ${finding.summary}`,
      `  ${ratesText(finding)}`,
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
    .argument('<chain>', 'an EVM chain, TRON or BTC')
    .addOption(
      new Option(
        '--logs <which>',
        'what is read from a node: logs of factories and issuers, created contracts, proxies; known: only what was read before',
      )
        .choices(['all', 'known'])
        .default('all'),
    )
    .option('--no-logs', 'read nothing from a node')
    .option(
      '--from-block <n>',
      'first block that was never read: of the logs of a contract (default: 0), of coinbases (a month ago), created contracts (7,200 blocks ago) and proxies (50,400 blocks ago)',
    )
    .option('--publish', 'build the index afterwards, so that the labels come into force')
    .option('--json', 'answer as JSON')
    .action(async (name: string, options: RunFlags) => {
      const chain = parseChainId(name, 'chain');
      const fromBlock =
        options.fromBlock === undefined
          ? undefined
          : wholeNumber('--from-block', options.fromBlock, 0, Number.MAX_SAFE_INTEGER);
      const progress = createProgress(terminal);
      try {
        const opened = services();
        const report = await opened.attribution.run(chain, {
          signal: terminal.signal,
          logs: options.logs === false ? 'none' : options.logs,
          ...(fromBlock === undefined ? {} : { fromBlock }),
          onProgress: (step, done, total, unit) => progress.update(`${chain} ${step}`, done, total, unit),
        });
        const isPublished =
          options.publish === true && (await publish(opened, report.changed, terminal, progress));
        progress.end();
        answer(terminal, options.json ?? false, report, () => reportLines(report, isPublished));
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
