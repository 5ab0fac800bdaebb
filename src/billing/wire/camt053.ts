/**
 * Reads bank statements of ISO 20022 camt.053, versions 2 to 13: the booked entries, one for each payment of a batch. It checks what a booking
 * depends on and passes on the rest as text. https://www.iso20022.org/catalogue-messages (Bank-to-Customer Cash Management)
 */
import { AssayError } from '../../base/errors.ts';
import { readXml, type XmlElement } from '../../sources/xml.ts';

const NAMESPACE = /^urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.(\d{2})$/;
const VERSION_MIN = 2;
const VERSION_MAX = 13;

/** One payment on a statement. */
export interface StatementEntry {
  /** Account of the statement: an IBAN without spaces, or another number. */
  readonly account: string;
  /** Reference of the bank; null if it gives none. */
  readonly bankReference: string | null;
  /** Position in a batch, from 1; null if the entry is one payment. */
  readonly part: number | null;
  readonly direction: 'CREDIT' | 'DEBIT';
  /** The bank undoes an earlier entry of the other direction. */
  readonly isReversal: boolean;
  /** BOOK: final. Others are announcements. */
  readonly status: string;
  /** Decimal text; null for a part of a batch without an amount of its own. */
  readonly amount: string | null;
  readonly currency: string;
  /** Start of the day of the booking, or its time; null if the bank gives none. */
  readonly bookedAtMs: number | null;
  readonly endToEndId: string | null;
  /** Structured references of the creditor. */
  readonly references: readonly string[];
  /** Free texts. */
  readonly texts: readonly string[];
  readonly debtor: string | null;
  /** Line in the file. */
  readonly line: number;
}

export interface Statement {
  /** Version of the message. */
  readonly version: number;
  /** Accounts, in the order of their statements. */
  readonly accounts: readonly string[];
  readonly entries: readonly StatementEntry[];
}

const childrenOf = (element: XmlElement | undefined, name: string): readonly XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? [];

function at(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  return path.reduce<XmlElement | undefined>((found, name) => childrenOf(found, name)[0], element);
}

function textAt(element: XmlElement | undefined, ...path: readonly string[]): string | null {
  const text = at(element, ...path)?.text.trim() ?? '';
  return text === '' ? null : text;
}

/** References that banks give if they have none. */
const NO_REFERENCE = /^(NOTPROVIDED|NONREF|NOREF)$/i;

const referenceAt = (element: XmlElement | undefined, ...path: readonly string[]): string | null => {
  const text = textAt(element, ...path);
  return text === null || NO_REFERENCE.test(text) ? null : text;
};

const fail = (file: string, line: number, what: string): AssayError =>
  new AssayError('INVALID_FILE', `${file}, line ${line}: ${what}`, { field: 'file' });

function accountOf(acct: XmlElement, file: string): string {
  const id = textAt(acct, 'Id', 'IBAN') ?? textAt(acct, 'Id', 'Othr', 'Id');
  if (id === null) throw fail(file, acct.line, 'the account has neither Id/IBAN nor Id/Othr/Id.');
  return id.replaceAll(' ', '').toUpperCase();
}

/** Returns an amount and its currency. */
function amountOf(amount: XmlElement | undefined, file: string, line: number) {
  const text = amount?.text.trim() ?? '';
  const currency = amount?.attributes.Ccy ?? '';
  if (!/^\d{1,13}(\.\d{1,5})?$/.test(text) || !/^[A-Z]{3}$/.test(currency))
    throw fail(
      file,
      amount?.line ?? line,
      `Amt: must be a decimal number with the attribute Ccy (got '${text.slice(0, 32)}' '${currency.slice(0, 8)}').`,
    );
  return { amount: text, currency };
}

/** Returns the time of an element with `Dt` or `DtTm`. */
function timeAt(element: XmlElement | undefined, file: string): number | null {
  const text = textAt(element, 'DtTm') ?? textAt(element, 'Dt');
  if (element === undefined || text === null) return null;
  // A time without an offset is taken as UTC: the day is what matters.
  const ms = Date.parse(/T/.test(text) && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text);
  if (Number.isNaN(ms)) throw fail(file, element.line, `'${text.slice(0, 40)}' is not a date.`);
  return ms;
}

function directionOf(entry: XmlElement, file: string): StatementEntry['direction'] {
  const indicator = textAt(entry, 'CdtDbtInd');
  if (indicator === 'CRDT') return 'CREDIT';
  if (indicator === 'DBIT') return 'DEBIT';
  throw fail(file, entry.line, `CdtDbtInd: must be CRDT or DBIT (got '${(indicator ?? '').slice(0, 16)}').`);
}

/** Facts of the payment in `TxDtls`, which older banks leave out. */
function paymentFacts(details: XmlElement | undefined, entry: XmlElement) {
  const remittance = at(details, 'RmtInf');
  const debtor = at(details, 'RltdPties', 'Dbtr') ?? at(details, 'RltdPties', 'UltmtDbtr');
  const extra = [textAt(details, 'AddtlTxInf'), textAt(entry, 'AddtlNtryInf')];
  return {
    endToEndId: referenceAt(details, 'Refs', 'EndToEndId'),
    references: childrenOf(remittance, 'Strd').flatMap(
      (structured) => textAt(structured, 'CdtrRefInf', 'Ref') ?? [],
    ),
    texts: [
      ...childrenOf(remittance, 'Ustrd').map(({ text }) => text.trim()),
      ...extra.filter((text) => text !== null),
    ].filter((text) => text !== ''),
    debtor: textAt(debtor, 'Nm') ?? textAt(debtor, 'Pty', 'Nm'),
  };
}

/** Returns the payments of an entry. */
function paymentsOf(entry: XmlElement, account: string, file: string): readonly StatementEntry[] {
  const { line } = entry;
  const whole = amountOf(at(entry, 'Amt'), file, line);
  const status = textAt(entry, 'Sts', 'Cd') ?? textAt(entry, 'Sts') ?? '';
  const details = childrenOf(entry, 'NtryDtls').flatMap((group) => childrenOf(group, 'TxDtls'));
  const common = {
    ...{ account, status, line },
    direction: directionOf(entry, file),
    isReversal: textAt(entry, 'RvslInd') === 'true' || textAt(entry, 'RvslInd') === '1',
    bookedAtMs: timeAt(at(entry, 'BookgDt'), file) ?? timeAt(at(entry, 'ValDt'), file),
  };
  const ownReference = referenceAt(entry, 'AcctSvcrRef');
  if (details.length <= 1) {
    const [only] = details;
    const bankReference = ownReference ?? referenceAt(only, 'Refs', 'AcctSvcrRef');
    // The amount that the account got: that of the details may be that of the order, in another currency.
    return [{ ...common, ...whole, ...paymentFacts(only, entry), bankReference, part: null }];
  }
  return details.map((one, index) => {
    const amount = at(one, 'Amt') ?? at(one, 'AmtDtls', 'TxAmt', 'Amt');
    const part =
      amount === undefined ? { amount: null, currency: whole.currency } : amountOf(amount, file, one.line);
    const bankReference = referenceAt(one, 'Refs', 'AcctSvcrRef') ?? ownReference;
    // A batch may contain a payment of the other direction. Of a reversal, some banks give the direction of the original payment.
    const isOwn = !common.isReversal && at(one, 'CdtDbtInd') !== undefined;
    const direction = isOwn ? directionOf(one, file) : common.direction;
    return { ...common, ...part, ...paymentFacts(one, entry), direction, bankReference, part: index + 1 };
  });
}

/**
 * Reads a statement.
 *
 * @param file - path of the file
 * @throws INVALID_FILE with the file, the line and the reason, if it is not a complete statement. Nothing of it may be booked then.
 */
export async function readCamt053(file: string): Promise<Statement> {
  const accounts: string[] = [];
  const entries: StatementEntry[] = [];
  let version = 0;
  const wanted = { roots: ['Document'], elements: new Set(['GrpHdr', 'Acct', 'Ntry']) };
  for await (const element of readXml(file, wanted)) {
    if (element.name === 'Document') {
      const namespaces = Object.entries(element.attributes).flatMap(([name, value]) =>
        /^xmlns(:|$)/.test(name) ? (NAMESPACE.exec(value)?.[1] ?? []) : [],
      );
      version = Number(namespaces[0] ?? 0);
      if (version < VERSION_MIN || version > VERSION_MAX)
        throw fail(
          file,
          element.line,
          `not camt.053.001.02 to .${VERSION_MAX}: no namespace of the document names it.`,
        );
    } else if (element.name === 'Acct') accounts.push(accountOf(element, file));
    else if (element.name === 'Ntry') {
      const account = accounts.at(-1);
      if (account === undefined)
        throw fail(file, element.line, 'an entry before the account of its statement.');
      entries.push(...paymentsOf(element, account, file));
    }
  }
  if (accounts.length === 0)
    throw fail(file, 1, 'the message contains no statement (BkToCstmrStmt/Stmt with Acct).');
  return { version, accounts, entries };
}
