/**
 * Reads the three layouts of the Forta list of Ethereum scams,
 * phishing and exploits; the CSV header identifies the layout.
 */
import { AssayError } from '../../base/errors.ts';
import { type CsvRow, readCsv, rejectRow } from '../csv.ts';
import { partName } from '../open.ts';
import type { AttributedAddress, SourceReader } from '../records.ts';

const PAGE = 'https://github.com/forta-network/labelled-datasets';

/** The facts of a layout about one address. */
type Statement = Pick<AttributedAddress, 'address' | 'actorName' | 'concepts' | 'tags' | 'isContract'>;

type Cells = ReadonlyMap<string, string>;

interface Layout {
  readonly id: string;
  /** Columns that identify the layout; others may follow. */
  readonly columns: readonly string[];
  readonly read: (cells: Cells) => readonly Statement[];
}

const cell = (cells: Cells, column: string): string => cells.get(column) ?? '';
const present = (...texts: readonly string[]): string[] => [...new Set(texts.filter((text) => text !== ''))];
const words = (text: string): string[] => present(...text.split(/[;,|]/).map((word) => word.trim()));

/** Parses Python's boolean words; returns null for anything else. */
function truth(text: string): boolean | null {
  const word = text.toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : null;
}

const LAYOUTS: readonly Layout[] = [
  {
    id: 'PHISHING_SCAMS',
    columns: ['address', 'etherscan_tag', 'etherscan_labels', 'is_contract'],
    read: (cells) => {
      const concepts = words(cell(cells, 'etherscan_labels'));
      return [
        {
          address: cell(cells, 'address'),
          actorName: cell(cells, 'etherscan_tag') || concepts.join(', '),
          concepts,
          tags: [],
          isContract: truth(cell(cells, 'is_contract')),
        },
      ];
    },
  },
  {
    id: 'MALICIOUS_SMART_CONTRACTS',
    columns: ['contract_address', 'contract_tag', 'contract_creator', 'contract_creator_etherscan_label'],
    read: (cells) => {
      const concepts = present(cell(cells, 'contract_creator_etherscan_label'), 'malicious_smart_contract');
      const contractTag = cell(cells, 'contract_tag');
      const creatorTag = cell(cells, 'contract_creator_tag');
      const notes = cell(cells, 'notes');
      const statement = (
        address: string,
        names: string[],
        role: string,
        isContract: boolean | null,
      ): Statement => ({
        address,
        actorName: names[0] ?? (concepts[0] as string),
        concepts,
        tags: present(role, notes),
        isContract,
      });
      const contract = cell(cells, 'contract_address');
      const creator = cell(cells, 'contract_creator');
      return [
        statement(contract, present(contractTag, creatorTag, notes), 'malicious contract', true),
        // A creator is usually an account, sometimes a factory: the file does not state which.
        ...(creator === ''
          ? []
          : [
              statement(
                creator,
                present(creatorTag, contractTag, notes),
                'creator of a malicious contract',
                null,
              ),
            ]),
      ];
    },
  },
  {
    id: 'ETHERSCAN_MALICIOUS_LABELS',
    columns: ['banned_address', 'wallet_tag', 'data_source'],
    read: (cells) => {
      const list = cell(cells, 'data_source');
      const concept = /^etherscan-(.+)-list$/.exec(list)?.[1] ?? list;
      return [
        {
          address: cell(cells, 'banned_address'),
          actorName: cell(cells, 'wallet_tag') || concept,
          concepts: present(concept),
          tags: [],
          isContract: null,
        },
      ];
    },
  },
];

/** Yields the addresses, then the header. Throws INVALID_FILE for a file of another layout. */
export const scamsReader: SourceReader = async function* (files) {
  const seen = new Set<string>();
  for (const path of files) {
    const file = partName(path);
    let layout: Layout | null = null;
    let columns: readonly string[] = [];
    for await (const row of readCsv(path)) {
      if (row.type === 'fault') {
        yield rejectRow(file, row, row.reason);
      } else if (layout === null) {
        columns = row.cells.map((name) => name.trim().toLowerCase());
        layout = layoutOf(file, row, columns);
        seen.add(layout.id);
      } else if (row.cells.length !== columns.length) {
        yield rejectRow(file, row, `The row has ${row.cells.length} cells; expected ${columns.length}.`);
      } else {
        const cells = new Map(columns.map((column, at) => [column, (row.cells[at] as string).trim()]));
        for (const statement of layout.read(cells)) {
          if (statement.address === '') yield rejectRow(file, row, `${columns[0]}: is empty.`);
          else if (statement.actorName === '')
            yield rejectRow(file, row, 'The row has no label for the address.');
          else yield { ...SHARED, ...statement, provenance: { file, line: row.line } };
        }
      }
    }
    if (layout === null)
      throw new AssayError('INVALID_FILE', `${file}: the file has no header.`, { field: 'file' });
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: [...seen].sort().join('+') };
};

const SHARED = {
  type: 'address',
  currency: 'ETH',
  actorId: null,
  confidence: null,
  jurisdiction: null,
  url: null,
  firstSeen: null,
  lastSeen: null,
  verified: true,
  sourceUrl: PAGE,
} as const;

function layoutOf(file: string, header: CsvRow, columns: readonly string[]): Layout {
  const layout = LAYOUTS.find((one) => one.columns.every((column) => columns.includes(column)));
  if (layout) return layout;
  throw new AssayError(
    'INVALID_FILE',
    `${file}: line ${header.line} must be one of these headers: ${LAYOUTS.map((one) => `'${one.columns.join()}'`).join('; ')}.`,
    { field: 'file' },
  );
}
