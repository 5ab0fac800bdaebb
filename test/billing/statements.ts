/** Bank statements of camt.053 for tests, in the form of the real files. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TestEntry {
  readonly amount: string;
  readonly currency?: string;
  readonly direction?: 'CRDT' | 'DBIT';
  readonly reversal?: boolean;
  readonly status?: string;
  readonly bankReference?: string;
  readonly structured?: string;
  readonly text?: string;
  readonly date?: string;
  /** Parts of a batch. */
  readonly parts?: readonly {
    readonly amount: string;
    readonly structured: string;
    readonly direction?: 'CRDT' | 'DBIT';
  }[];
}

const details = (
  amount: string | null,
  currency: string,
  structured: string | undefined,
  text: string | undefined,
  direction?: string,
) =>
  `<TxDtls>${amount === null ? '' : `<Amt Ccy="${currency}">${amount}</Amt>`}${direction === undefined ? '' : `<CdtDbtInd>${direction}</CdtDbtInd>`}<RltdPties><Dbtr><Nm>Customer</Nm></Dbtr></RltdPties><RmtInf>${
    text === undefined ? '' : `<Ustrd>${text}</Ustrd>`
  }${structured === undefined ? '' : `<Strd><CdtrRefInf><Tp><CdOrPrtry><Cd>SCOR</Cd></CdOrPrtry></Tp><Ref>${structured}</Ref></CdtrRefInf></Strd>`}</RmtInf></TxDtls>`;

function entryXml(entry: TestEntry): string {
  const { amount, currency = 'USD', direction = 'CRDT', reversal = false, status = 'BOOK' } = entry;
  const { bankReference, structured, text, date = '2026-11-25', parts } = entry;
  const inner =
    parts === undefined
      ? details(null, currency, structured, text)
      : parts
          .map((part) => details(part.amount, currency, part.structured, undefined, part.direction))
          .join('');
  return `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd><RvslInd>${reversal}</RvslInd><Sts><Cd>${status}</Cd></Sts><BookgDt><Dt>${date}</Dt></BookgDt>${
    bankReference === undefined ? '' : `<AcctSvcrRef>${bankReference}</AcctSvcrRef>`
  }<NtryDtls>${inner}</NtryDtls></Ntry>`;
}

/** Returns a statement of one account. */
export const camt053 = (account: string, entries: readonly TestEntry[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt><Id>S1</Id><Acct><Id><IBAN>${account}</IBAN></Id></Acct>${entries.map(entryXml).join('')}</Stmt></BkToCstmrStmt></Document>`;

/** Writes a statement to a file and returns its path. */
export function statementFile(folder: string, account: string, entries: readonly TestEntry[]): string {
  const path = join(folder, `statement-${entries.length}-${entries[0]?.bankReference ?? 'none'}.xml`);
  writeFileSync(path, camt053(account, entries));
  return path;
}
