/** `assay names screen NAME`, `assay names lists`: screens names against the loaded lists. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import type { NameListRow } from '../names/lists.ts';
import type { NameQuery } from '../names/name.ts';
import { type NamesAnswer, requireName, type TopMatch } from '../names/screen-names.ts';
import { readCountryCode } from '../sources/countries.ts';
import { type IdentifiersByKind, identifierRule, normaliseIdentifiers } from '../sources/identifiers.ts';
import { answer, type Terminal, table } from './context.ts';
import type { Services } from './services.ts';

interface ScreenOptions extends IdentifiersByKind {
  readonly birthDate?: string;
  readonly country?: readonly string[];
  readonly schema?: string;
  readonly json?: boolean;
}

const SCHEMATA = ['Person', 'Organization', 'Vessel'] as const;

/** Option of each kind of identifier, such as `--tail-number`. */
const optionOf = (kind: string): string =>
  `--${kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function identifiersFrom(options: ScreenOptions): Pick<NameQuery, 'identifiers'> {
  const identifiers = normaliseIdentifiers(
    options,
    (kind) => new AssayError('INVALID_REQUEST', `${optionOf(kind)}: must be ${identifierRule(kind)}.`),
  );
  return Object.keys(identifiers).length === 0 ? {} : { identifiers };
}

function queryFrom(name: string, options: ScreenOptions): NameQuery {
  requireName(name, 'name');
  const { birthDate, country, schema } = options;
  if (birthDate !== undefined && !/^\d{4}(-\d{2}(-\d{2})?)?$/.test(birthDate)) {
    throw new AssayError(
      'INVALID_REQUEST',
      `--birth-date: '${birthDate}' is not a date like 1972-05-09 or 1972.`,
    );
  }
  const wrong = country?.find((code) => readCountryCode(code) === null);
  if (wrong !== undefined) {
    throw new AssayError(
      'INVALID_REQUEST',
      `--country: '${wrong}' is not a country code of ISO 3166-1 alpha-2, such as CH.`,
    );
  }
  const known = SCHEMATA.find((one) => one.toLowerCase() === schema?.toLowerCase());
  if (schema !== undefined && known === undefined) {
    throw new AssayError(
      'INVALID_REQUEST',
      `--schema: must be one of ${SCHEMATA.join(', ')} (got '${schema}').`,
    );
  }
  return {
    name,
    ...(birthDate === undefined ? {} : { birthDate }),
    ...(country === undefined ? {} : { countries: country.map((code) => readCountryCode(code) ?? code) }),
    ...(known === undefined ? {} : { schema: known }),
    ...identifiersFrom(options),
  };
}

const matchLines = (match: TopMatch): readonly string[] => [
  `${match.confidence.toFixed(3)}  ${match.name}  (${match.listType}, ${match.source} ${match.entityId})`,
  `       as '${match.matchedName}'${match.weakAlias ? ', a weak alias' : ''}` +
    `${match.birthDates.length > 0 ? `; born ${match.birthDates.join(', ')}` : ''}` +
    `${match.countries.length > 0 ? `; ${match.countries.join(', ')}` : ''}` +
    `${match.programs.length > 0 ? `; ${match.programs.join(', ')}` : ''}` +
    `${match.verified ? '' : '; not verified'}`,
  ...match.explanation.map((reason) => `       - ${reason.message}`),
];

function answerLines({ results, reasons, dataVersion }: NamesAnswer): readonly string[] {
  return [
    ...results.flatMap(({ name, topMatches, totalMatches }) => [
      totalMatches === 0
        ? `${name}: no match at 0.7 or above`
        : `${name}: ${totalMatches} ${totalMatches === 1 ? 'match' : 'matches'}`,
      ...topMatches.flatMap(matchLines),
    ]),
    ...reasons.map((reason) => `${reason.severity} ${reason.code}: ${reason.message}`),
    `data version ${dataVersion}`,
  ];
}

const listLines = (rows: readonly NameListRow[]): readonly string[] =>
  rows.length === 0
    ? ['no lists']
    : table([
        ['LIST', 'TYPE', 'PARTIES', 'DELISTED', 'REJECTED', 'PUBLISHED', 'CHECKED'],
        ...rows.map((row) => [
          row.list,
          row.listType,
          String(row.parties),
          String(row.delisted),
          String(row.rejected),
          row.publishedAt,
          row.checkedAt,
        ]),
      ]);

const collect = (value: string, all: readonly string[] = []): readonly string[] => [...all, value];

/** Adds `assay names`. */
export function addNamesCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const names = program.command('names').description('screen names of people, organisations and vessels');

  names
    .command('screen')
    .description('find listed parties that a name may match, with the reasons')
    .argument('<name>', 'the name, in any script')
    .option('--birth-date <date>', 'ISO date or a part of one; it raises or lowers scores')
    .option('--country <code>', 'ISO 3166-1 alpha-2; can be repeated', collect)
    .option('--schema <schema>', SCHEMATA.join(', '))
    .option('--imo <number>', 'IMO number of a vessel; a listed party with the same number is a match')
    .option('--tail-number <number>', 'registration of an aircraft')
    .option('--lei <code>', 'Legal Entity Identifier of a company')
    .option('--registration-number <number>', 'number of a company in a register')
    .option('--passport <number>', 'passport number of a person')
    .option('--national-id <number>', 'national identification number of a person')
    .option('--json', 'answer as JSON')
    .action((name: string, options: ScreenOptions) => {
      const result = services().screenNames()([queryFrom(name, options)]);
      answer(terminal, options.json ?? false, result, answerLines);
    });

  names
    .command('lists')
    .description('show the loaded lists with their dates')
    .option('--json', 'answer as JSON')
    .action((options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, services().nameStore.rows(), listLines);
    });
}
