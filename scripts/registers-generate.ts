/**
 * Generates data/register-rows.json, the rows of registers that ship, from files of the registers and copies of them.
 *
 * Only facts are taken: names, numbers, dates, statuses, services and addresses of web sites. Comments of those who made a copy are not.
 * A row is `verified` if a file of the register itself lists the firm with the same status.
 *
 * Run: npm run build && node dist/scripts/registers-generate.js FOLDER, where FOLDER has the folders `esma` (files of ESMA) and
 * `registers` (copies, in the layout of docs/registers-csv.md).
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { projectRoot } from '../src/base/paths.ts';
import { type FirmRow, rowsByFirm } from '../src/registers/history.ts';
import { foldWithoutForm } from '../src/registers/name-index.ts';
import { esmaReader } from '../src/sources/esma/read.ts';
import { registersReader } from '../src/sources/registers/read.ts';
import {
  dateInName,
  type RegisterReader,
  type Registration,
  readHosts,
  registrationOf,
  splitNames,
} from '../src/sources/registers/registration.ts';

/** Copies that contain the whole of their register. */
const WHOLE: ReadonlySet<string> = new Set([
  'esma-casp-2026-08-22.csv',
  'kr-fiu-2026-08-31.csv',
  'gb-fca-2026-07-16.csv',
]);
const NCASP_COPY = 'esma-ncasp-2026-07-16.other-layout.csv';

interface Row extends FirmRow {
  readonly asOf: string;
  readonly verified: boolean;
}

interface Register {
  asOf: string;
  whole: boolean;
  readonly rows: Map<string, Row>;
}

async function registrationsOf(reader: RegisterReader, path: string): Promise<Registration[]> {
  const rows: Registration[] = [];
  for await (const record of reader(path)) if (record.type === 'registration') rows.push(record);
  return rows;
}

/** Reads the copy of the register of non-compliant entities, which has a layout of its own. */
function ncaspCopy(path: string): Registration[] {
  const rows = parse(readFileSync(path), { columns: true, bom: true }) as Record<string, string>[];
  return rows.map((row, index) =>
    registrationOf(
      {
        register: 'esma-ncasp',
        jurisdiction: row.home_country_code ?? '',
        authority: row.regulator ?? '',
        registeredAs: 'Non-compliant entity providing crypto-asset services (MiCA)',
        sourceUrl: 'https://www.esma.europa.eu/sites/default/files/2024-12/NCASP.csv',
      },
      {
        legalName: row.legal_name ?? '',
        status: 'WARNING',
        tradeNames: splitNames(row.commercial_name ?? '', row.legal_name ?? ''),
        domains: readHosts(row.website ?? ''),
        registeredAt: row.registration_date || null,
      },
      { file: NCASP_COPY, line: index + 2 },
    ),
  );
}

const registers = new Map<string, Register>();

/** The id of the MAS is only in the address of the entry. */
function numbered(row: Registration): Registration {
  if (row.register !== 'sg-mas' || row.registrationId !== null) return row;
  return { ...row, registrationId: /\/detail\/(\d+)-/.exec(row.sourceUrl ?? '')?.[1] ?? null };
}

/** The same firm in two files: the same LEI or number, or else the same name. */
function find(rows: ReadonlyMap<string, Row>, id: string, { details }: FirmRow): string | undefined {
  if (rows.has(id)) return id;
  const name = foldWithoutForm(details.legalName);
  for (const [known, row] of rows)
    if (
      row.details.jurisdiction === details.jurisdiction &&
      foldWithoutForm(row.details.legalName) === name &&
      (row.details.registrationId === null || details.registrationId === null || row.details.lei !== null)
    )
      return known;
  return undefined;
}

function add(rows: readonly Registration[], asOf: string, whole: boolean, official: boolean): void {
  for (const id of new Set(rows.map((row) => row.register))) {
    const register = registers.get(id) ?? { asOf, whole: false, rows: new Map<string, Row>() };
    registers.set(id, register);
    if (whole) {
      register.asOf = asOf;
      register.whole = true;
    }
    const own = rows.filter((one) => one.register === id).map(numbered);
    for (const [key, row] of rowsByFirm(own, asOf)) {
      const decision = row.state.status === 'WARNING';
      const known = decision ? (register.rows.has(key) ? key : undefined) : find(register.rows, key, row);
      const before = known === undefined ? undefined : register.rows.get(known);
      if (known !== undefined) register.rows.delete(known);
      const confirmed = before?.verified === true && before.state.status === row.state.status;
      register.rows.set(before?.details.registrationId ? (known as string) : key, {
        details: {
          ...row.details,
          registrationId: row.details.registrationId ?? before?.details.registrationId ?? null,
          tradeNames: [...new Set([...row.details.tradeNames, ...(before?.details.tradeNames ?? [])])],
          domains: row.details.domains.length > 0 ? row.details.domains : (before?.details.domains ?? []),
        },
        state: { ...row.state, registeredAt: row.state.registeredAt ?? before?.state.registeredAt ?? null },
        asOf,
        verified: official || confirmed,
      });
    }
  }
}

async function readAll(folder: string): Promise<void> {
  for (const name of ['CASP', 'NCASP', 'EMT', 'OTHER'].map((kind) => `${kind}20260130.csv`))
    add(await registrationsOf(esmaReader, join(folder, 'esma', name)), '2026-01-30', true, true);
  // The register of asset-referenced tokens had no issuer.
  registers.set('esma-art', { asOf: '2026-01-30', whole: true, rows: new Map() });
  const copies = readdirSync(join(folder, 'registers')).filter((name) => /-\d{4}-\d\d-\d\d\.csv$/.test(name));
  // The older of two copies of one register first.
  for (const name of copies.sort()) {
    const asOf = dateInName(name);
    if (asOf === null) throw new Error(`${name} has no date.`);
    add(
      await registrationsOf(registersReader(), join(folder, 'registers', name)),
      asOf,
      WHOLE.has(name),
      false,
    );
  }
  add(ncaspCopy(join(folder, 'registers', NCASP_COPY)), '2026-07-16', true, false);
}

/** Returns a row without empty fields. */
function compact(register: Register, { details, state, asOf, verified }: Row): Record<string, unknown> {
  const fields = {
    jurisdiction: details.jurisdiction,
    authority: details.authority,
    legalName: details.legalName,
    tradeNames: details.tradeNames,
    lei: details.lei,
    domains: details.domains,
    registrationId: details.registrationId,
    registeredAs: state.registeredAs,
    status: state.status,
    registeredAt: state.registeredAt,
    endedAt: state.endedAt,
    services: state.services,
    passportedTo: state.passportedTo,
    sourceUrl: details.sourceUrl,
    asOf: asOf === register.asOf ? null : asOf,
    verified,
  };
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
    ),
  );
}

const ABOUT =
  'Rows of regulatory registers that ship, made by scripts/registers-generate.ts. asOf: day of the register; of a row, if it differs. whole: the rows are all firms of the register on that day. verified: a file of the register itself lists the firm with the same status; false: read in a copy of the register. sourceUrl: where the authority publishes the row. An import of a newer file of the whole register replaces its rows.';

async function main(): Promise<void> {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('Usage: registers-generate FOLDER');
  await readAll(folder);
  const parts = [...registers].sort().map(([id, register]) => {
    const rows = [...register.rows.values()]
      .sort((a, b) => (a.details.legalName < b.details.legalName ? -1 : 1))
      .map((row) => `      ${JSON.stringify(compact(register, row))}`);
    const head = JSON.stringify({ id, asOf: register.asOf, whole: register.whole }).slice(0, -1);
    return `    ${head},"rows":[\n${rows.join(',\n')}\n    ]}`;
  });
  const text = `{\n  "version": 1,\n  "about": ${JSON.stringify(ABOUT)},\n  "registers": [\n${parts.join(',\n')}\n  ]\n}\n`;
  JSON.parse(text);
  writeFileSync(join(projectRoot, 'data', 'register-rows.json'), text);
  for (const [id, { rows, asOf, whole }] of registers)
    console.log(
      id,
      asOf,
      whole ? 'whole' : 'part',
      rows.size,
      [...rows.values()].filter((row) => row.verified).length,
    );
}

await main();
