/** `assay lists`: the state of each sanctions list, and attested checks for installations without a network. */
import { type Command, Option } from 'commander';
import { OPERATOR } from '../accounts/audit.ts';
import { AssayError } from '../base/errors.ts';
import { type Attestation, attestLists, parseList } from '../labels/attest.ts';
import {
  freshnessOf,
  type ListCheckMethod,
  oldPublicationAdvice,
  oldPublications,
  readListChecks,
  staleListAdvice,
} from '../labels/freshness.ts';
import { LISTS } from '../sources/lists.ts';
import { answer, type Terminal, table } from './context.ts';
import type { Services } from './services.ts';

interface ListState {
  readonly list: string;
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
  readonly checkedBy: ListCheckMethod | null;
  readonly records: number;
  readonly stale: boolean;
}

interface ListsReport {
  readonly maxAgeDays: number;
  readonly lists: readonly ListState[];
  /** One sentence for each list that is missing, too old, or of an unusually old publication, with what helps. */
  readonly advice: readonly string[];
}

const METHODS: Readonly<Record<ListCheckMethod, string>> = {
  DOWNLOAD: 'download',
  IMPORT: 'publication',
  ATTESTATION: 'attestation',
};

/** Reads the current state of the lists. */
function listsReport(services: Services): ListsReport {
  const maxAgeDays = services.bulkDeps.listMaxAgeDays;
  const checks = readListChecks(services.store.folder);
  const now = services.clock.now();
  const { staleLists } = freshnessOf(checks, now, maxAgeDays);
  const lists = LISTS.ids.map((list): ListState => {
    const check = checks[list];
    return {
      list,
      publishedAt: check?.publishedAt ?? null,
      checkedAt: check?.checkedAt ?? null,
      checkedBy: check?.checkedBy ?? null,
      records: check?.records ?? 0,
      stale: staleLists.some((one) => one.list === list),
    };
  });
  return {
    maxAgeDays,
    lists,
    advice: [...staleListAdvice(staleLists), ...oldPublicationAdvice(oldPublications(checks, now))],
  };
}

const stateOf = ({ checkedAt, stale }: ListState): string => {
  if (checkedAt === null) return 'never loaded';
  return stale ? 'too old' : 'fresh';
};

const reportLines = ({ maxAgeDays, lists, advice }: ListsReport): readonly string[] => [
  ...table([
    ['LIST', 'STATE', 'PUBLISHED', 'CHECKED', 'CHECKED BY', 'PARTIES'],
    ...lists.map((list) => [
      list.list,
      stateOf(list),
      list.publishedAt ?? '-',
      list.checkedAt ?? '-',
      list.checkedBy === null ? '-' : METHODS[list.checkedBy],
      String(list.records),
    ]),
  ]),
  `A list is fresh for ${maxAgeDays} days after its last check.`,
  ...advice,
];

/** Name of a person. The audit log is read on terminals, so control characters are not allowed. */
const PERSON = /^[^\p{C}]{1,80}$/u;

/**
 * Returns the function that writes attestations into the audit log.
 *
 * @param by - name of the person who checked
 * @throws INVALID_REQUEST if the name is too long or contains control characters
 */
export function auditAttestation(
  services: Services,
  by: string | undefined,
): (attestation: Attestation) => Promise<void> {
  if (by !== undefined && !PERSON.test(by))
    throw new AssayError('INVALID_REQUEST', '--by: must have 1 to 80 characters and no control characters.');
  return async ({ list, checkedAt }) => {
    const detail = `checked ${checkedAt}${by === undefined ? '' : ` by ${by}`}`;
    await services
      .audit()
      .write({ ...OPERATOR, action: 'lists.attest', accountId: OPERATOR.who, subject: list, detail });
  };
}

/** Adds `assay lists`. */
export function addListsCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const show = (options: { json?: boolean }): void => {
    answer(terminal, options.json ?? false, listsReport(services()), reportLines);
  };
  const lists = program
    .command('lists')
    .description('show the state of the sanctions lists: published, checked, by download or attestation')
    .option('--json', 'answer as JSON')
    .action(show);

  lists
    .command('attest')
    .description('attest that a publisher had nothing newer on a date (needs no network)')
    .argument('<list...>', LISTS.ids.join(', '))
    .addOption(
      new Option('--checked <date>', 'date or time (UTC) of the check (YYYY-MM-DD)').makeOptionMandatory(),
    )
    .option('--by <name>', 'person who checked; recorded in the audit log')
    .option('--json', 'answer as JSON')
    .action(async (names: string[], options: { checked: string; by?: string; json?: boolean }) => {
      const opened = services();
      opened.requireBuilder();
      const wanted = names.map((name) => parseList(name));
      await attestLists(wanted, options.checked, {
        store: opened.store,
        clock: opened.clock,
        audit: auditAttestation(opened, options.by),
        confirmNames: (list, checkedAt) => opened.nameStore.confirm(list, checkedAt),
      });
      // The parent command parses `--json` of its own position; either position requests JSON.
      show({ json: options.json ?? lists.opts<{ json?: boolean }>().json ?? false });
    });
}
