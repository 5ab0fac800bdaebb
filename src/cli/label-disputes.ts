/** `assay labels dispute|undispute|disputes|report|reports|decide`: what operators and accounts say is wrong with labels. */
import { type Command, Option } from 'commander';
import { OPERATOR } from '../accounts/audit.ts';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import type { Dispute } from '../attribution/disputes.ts';
import { ATTRIBUTION_LIMITS } from '../attribution/limits.ts';
import { checkedReason } from '../attribution/reason.ts';
import { type LabelReport, REPORT_STATES, type ReportState, reportedLabels } from '../attribution/reports.ts';
import { AssayError } from '../base/errors.ts';
import { isCategory } from '../labels/categories.ts';
import type { Category } from '../labels/taxonomy.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import { buildIndex } from './index-command.ts';
import type { Services } from './services.ts';

/** @throws INVALID_REQUEST */
function categoriesIn(text: string | undefined): readonly Category[] {
  return (text ?? '').split(',').flatMap((part) => {
    const name = part.trim().toUpperCase();
    if (name === '') return [];
    if (isCategory(name)) return [name];
    throw new AssayError('INVALID_REQUEST', `--corrects: '${part.trim()}' is not a category.`);
  });
}

const PUBLISH = 'Run `assay index build` to publish the change.';

const disputeTable = (disputes: readonly Dispute[]): readonly string[] =>
  disputes.length === 0
    ? ['No label is disputed.']
    : table([
        ['CHAIN', 'ADDRESS', 'SINCE', 'NOW', 'REASON'],
        ...disputes.map((one) => [
          one.chain,
          one.address,
          one.disputedAt,
          `${one.name} (${one.category})`,
          one.reason,
        ]),
      ]);

const reportTable = (reports: readonly LabelReport[]): readonly string[] =>
  reports.length === 0
    ? ['No report.']
    : table([
        ['ID', 'STATE', 'FILED', 'ACCOUNT', 'CHAIN', 'ADDRESS', 'SOURCE', 'REASON', 'NOTE'],
        ...reports.map((one) => [
          ...[one.id, one.state, one.filedAt, one.accountId, one.chain, one.address, one.source ?? 'all'],
          ...[one.reason, one.note ?? '-'],
        ]),
      ]);

interface DisputeFlags {
  readonly reason: string;
  readonly entity?: string;
  readonly name?: string;
  readonly category?: string;
  readonly corrects?: string;
  readonly report?: string;
  readonly json?: boolean;
}

/** Decides a report and writes the decision into the audit log of its account. */
async function decide(
  opened: Services,
  id: string,
  state: Exclude<ReportState, 'OPEN'>,
  note: string | null,
): Promise<LabelReport> {
  const report = await opened.attribution.reports().decide(id, state, note);
  await opened.audit().write({
    ...OPERATOR,
    action: 'label.decide',
    accountId: report.accountId,
    subject: report.id,
    detail: `${state}${note === null ? '' : `: ${note}`}`,
  });
  return report;
}

function addDispute(labels: Command, terminal: Terminal, services: () => Services): void {
  labels
    .command('dispute')
    .description(
      'replace the labels of an address by an own label with a reason; rules give the address none (then run: index build)',
    )
    .argument('<chain>', 'chain of the address')
    .argument('<address>', 'the address')
    .requiredOption('--reason <text>', 'why the labels are wrong; shown in responses and in the audit log')
    .option('--entity <id>', 'stable id of the party behind the address, if it is known')
    .option('--name <name>', 'name of that party')
    .option('--category <category>', 'category of the address (default: OTHER)')
    .option('--corrects <categories>', 'clear the address of published labels of these categories: A,B')
    .option('--report <id>', 'accept this report')
    .option('--json', 'answer as JSON')
    .action(async (chain: string, address: string, options: DisputeFlags) => {
      const { entity = null, name = null, category = null } = options;
      const reason = checkedReason('--reason', options.reason);
      const corrects = categoriesIn(options.corrects);
      const opened = services();
      const dispute = await opened.attribution.dispute(
        { chain, address, reason, entityId: entity, name, category, corrects },
        terminal.signal,
      );
      await opened.audit().write({
        ...OPERATOR,
        action: 'label.dispute',
        accountId: OPERATOR.who,
        subject: `${dispute.chain} ${dispute.address}`,
        detail: `${dispute.category}: ${reason}`,
      });
      if (options.report !== undefined) await decide(opened, options.report, 'ACCEPTED', reason);
      answer(terminal, options.json ?? false, dispute, () => [
        `${dispute.address} on ${dispute.chain} is now ${dispute.name} (${dispute.category}). ${PUBLISH}`,
      ]);
    });

  labels
    .command('undispute')
    .description('withdraw a dispute; the labels come back (then run: index build)')
    .argument('<chain>', 'chain of the address')
    .argument('<address>', 'the address')
    .requiredOption('--reason <text>', 'why; shown in the audit log')
    .option('--json', 'answer as JSON')
    .action(async (chain: string, address: string, options: { reason: string; json?: boolean }) => {
      const reason = checkedReason('--reason', options.reason);
      const opened = services();
      const dispute = await opened.attribution.undispute(chain, address, terminal.signal);
      await opened.audit().write({
        ...OPERATOR,
        action: 'label.undispute',
        accountId: OPERATOR.who,
        subject: `${dispute.chain} ${dispute.address}`,
        detail: reason,
      });
      answer(terminal, options.json ?? false, dispute, () => [`The dispute was withdrawn. ${PUBLISH}`]);
    });

  labels
    .command('disputes')
    .description('list the disputes')
    .option('--publish', 'first publish them: a server does it by itself after a decision')
    .option('--json', 'answer as JSON')
    .action(async (options: { publish?: boolean; json?: boolean }) => {
      const opened = services();
      if (options.publish === true) {
        await opened.attribution.applyDisputes(terminal.signal);
        await buildIndex(opened, terminal);
      }
      answer(terminal, options.json ?? false, opened.attribution.disputes(), disputeTable);
    });
}

interface ReportsFlags {
  readonly state?: ReportState;
  readonly limit: string;
  readonly cursor?: string;
  readonly json?: boolean;
}

function addReports(labels: Command, terminal: Terminal, services: () => Services): void {
  labels
    .command('report')
    .description('file a report on the labels of an address, as clients do')
    .argument('<chain>', 'chain of the address')
    .argument('<address>', 'the address')
    .requiredOption('--reason <text>', 'what is wrong with the labels')
    .option('--source <id>', 'only labels of this source')
    .option('--json', 'answer as JSON')
    .action(
      async (
        chain: string,
        address: string,
        options: { reason: string; source?: string; json?: boolean },
      ) => {
        const reason = checkedReason('--reason', options.reason);
        const opened = services();
        const { report, isNew } = await opened.attribution.report({
          ...{ accountId: LOCAL_ACCOUNT, chain, address, source: options.source ?? null, reason },
        });
        if (isNew)
          await opened.audit().write({
            ...OPERATOR,
            action: 'label.report',
            accountId: LOCAL_ACCOUNT,
            subject: report.id,
            detail: reportedLabels(report),
          });
        answer(terminal, options.json ?? false, { report, isNew }, () => [
          isNew ? `Filed as ${report.id}.` : `${report.id} is open on the same labels.`,
        ]);
      },
    );

  labels
    .command('reports')
    .description('list the reports of all accounts on labels, newest first')
    .addOption(new Option('--state <state>', 'only reports in this state').choices(REPORT_STATES))
    .option('--limit <n>', 'reports of a page', '50')
    .option('--cursor <id>', 'continue after this report')
    .option('--json', 'answer as JSON')
    .action((options: ReportsFlags) => {
      const { state, cursor } = options;
      const limit = wholeNumber('--limit', options.limit, 1, ATTRIBUTION_LIMITS.reportsPageMax);
      const page = services()
        .attribution.reports()
        .list(null, {
          limit,
          ...(state === undefined ? {} : { state }),
          ...(cursor === undefined ? {} : { cursor }),
        });
      answer(terminal, options.json ?? false, page, ({ reports, nextCursor }) => [
        ...reportTable(reports),
        ...(nextCursor === null ? [] : [`More: --cursor ${nextCursor}`]),
      ]);
    });

  labels
    .command('decide')
    .description('decide a report; `labels dispute` corrects the labels')
    .argument('<id>', 'id of the report')
    .addOption(
      new Option('--state <state>', 'the decision').choices(['ACCEPTED', 'REJECTED']).makeOptionMandatory(),
    )
    .option('--note <text>', 'words for the account that filed it')
    .option('--json', 'answer as JSON')
    .action(
      async (id: string, options: { state: Exclude<ReportState, 'OPEN'>; note?: string; json?: boolean }) => {
        const note = options.note === undefined ? null : checkedReason('--note', options.note);
        const report = await decide(services(), id, options.state, note);
        answer(terminal, options.json ?? false, report, () => [`${report.id} is ${report.state}.`]);
      },
    );
}

/** Adds the commands to `assay labels`. */
export function addDisputeCommands(labels: Command, terminal: Terminal, services: () => Services): void {
  addDispute(labels, terminal, services);
  addReports(labels, terminal, services);
}
