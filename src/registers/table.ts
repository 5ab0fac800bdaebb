/** The table of registers in docs/reference/sources.md, generated from data/registers.json, the shipped rows and the sources. */
import { REGISTER_SOURCES } from '../sources/index.ts';
import { loadRegisterFacts, type RegisterFacts } from './catalogue.ts';
import { loadShippedRegisters, type ShippedRegister } from './shipped.ts';

const HEAD = [
  'Register',
  'Authority',
  'Jurisdiction',
  'Firms',
  'Number',
  'Shipped rows',
  'As of',
  'Rows are',
  'Command',
  'How it is published',
];

/** Returns how the rows of a register are obtained. */
function commandOf({ importer }: RegisterFacts): string {
  if (importer === 'registers') return '`assay import registers`';
  const source = REGISTER_SOURCES.find(({ id }) => id === importer);
  return (source?.files.length ?? 0) > 0 ? `\`assay sync ${importer}\`` : `\`assay import ${importer}\``;
}

const rowOf = (facts: RegisterFacts, shipped: ShippedRegister | undefined): readonly string[] => [
  `[\`${facts.id}\`](${facts.url})`,
  facts.authority,
  facts.jurisdiction,
  facts.registers,
  facts.idName ?? '',
  shipped === undefined ? '' : String(shipped.rows.length),
  shipped?.asOf ?? '',
  shipped === undefined ? 'none' : shipped.whole ? 'whole' : 'a part',
  commandOf(facts),
  facts.access,
];

/**
 * Returns the table of all registers.
 *
 * @returns Markdown.
 */
export function registersMarkdown(): string {
  const registers = loadRegisterFacts();
  const shipped = new Map(loadShippedRegisters(registers).map((register) => [register.id, register]));
  return [HEAD, HEAD.map(() => '---'), ...registers.map((facts) => rowOf(facts, shipped.get(facts.id)))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
