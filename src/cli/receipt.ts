/** `assay receipt`: verifies, shows, replays and erases signed receipts, and manages the keys that sign them. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { repeatedName } from '../base/json-names.ts';
import { canonicalObject, canonicalSha256, textSha256 } from '../receipts/canonical.ts';
import { parseJwks, type ReceiptJwks } from '../receipts/jws.ts';
import { jwksOf, type SigningKey } from '../receipts/keys.ts';
import { RECEIPT_LIMITS } from '../receipts/limits.ts';
import { parseVkey } from '../receipts/log/note.ts';
import { parseProof, verifyProof } from '../receipts/log/proof.ts';
import { answerOf, receiptHash } from '../receipts/receipt.ts';
import type { Receipt } from '../receipts/receipt-schema.ts';
import { type ReplayReport, replay } from '../receipts/replay.ts';
import type { ReceiptContent } from '../receipts/store.ts';
import type { VerifiedReceipt } from '../receipts/verify-jws.ts';
import { answer, type Terminal, table } from './context.ts';
import { answerLine, isBound, isLine, isResultOf } from './receipt-lines.ts';
import type { Services } from './services.ts';

type Values = Readonly<Record<string, unknown>>;

const SHOWN_NAME_MAX = 64;

/** Reads a file as text. A larger file than a receipt can have is refused before it is read. */
function readText(path: string): string {
  const file = openSync(path, 'r');
  try {
    if (fstatSync(file).isDirectory()) throw new AssayError('INVALID_FILE', `${path}: is a folder.`);
    const bytes = Buffer.alloc(RECEIPT_LIMITS.receiptFileBytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    if (length > RECEIPT_LIMITS.receiptFileBytesMax)
      throw new AssayError(
        'INVALID_FILE',
        `${path}: is larger than ${RECEIPT_LIMITS.receiptFileBytesMax} bytes.`,
      );
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(file);
  }
}

function parsed(path: string, text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `${path}: is not JSON: ${messageOf(cause)}.`, { cause });
  }
  const twice = repeatedName(text);
  if (twice === null) return value;
  throw new AssayError(
    'INVALID_FILE',
    `${path}: has the member ${JSON.stringify(twice.slice(0, SHOWN_NAME_MAX))} twice; another reader may take the other one.`,
  );
}

const objectOf = (value: unknown): Values =>
  typeof value === 'object' && value !== null ? (value as Values) : {};

/** Returns a response without its envelope. */
function dataOf(value: unknown): Values {
  const whole = objectOf(value);
  return 'data' in whole ? objectOf(whole.data) : whole;
}

/** What a file holds: a JWS, or a response with one, in its envelope or without it. */
interface ReceiptFile {
  readonly jws: string;
  /** The response, without its envelope; null if the file holds the JWS alone. */
  readonly data: Values | null;
}

function readReceipt(path: string): ReceiptFile {
  const text = readText(path).trim();
  if (!text.startsWith('{')) return { jws: text, data: null };
  const data = dataOf(parsed(path, text));
  // That of an answer first: a record of a receipt beside an answer must not hide that another answer was signed.
  const jws = objectOf(data.receipt).jws ?? data.jws;
  if (typeof jws === 'string') return { jws, data };
  throw new AssayError('INVALID_FILE', `${path}: has no receipt: neither \`receipt.jws\` nor \`jws\`.`);
}

/** Members of a record of a receipt, which has no answer: those of `GET /receipts/{id}` and of `assay receipt show`. */
const RECORD_MEMBERS: ReadonlySet<string> = new Set([
  ...['id', 'kind', 'issuedAt', 'expiresAt', 'issuedTo', 'sha256', 'erasedAt', 'jws', 'evidence', 'policy'],
  ...['accountId', 'issuedAtMs', 'expiresAtMs', 'kid', 'erasedAtMs'],
]);

const isRecord = (data: Values): boolean => Object.keys(data).every((name) => RECORD_MEMBERS.has(name));

/** Whether the parts of a record that a receipt binds are those of the receipt. */
function isRecordOf({ id, kind, sha256, evidence, policy }: Values, receipt: Receipt): boolean {
  const facts: Values = { id: receipt.id, kind: receipt.kind, sha256: receiptHash(receipt).toString('hex') };
  const shown: Values = { id, kind, sha256 };
  const isHashOf = (part: unknown, hash: string): boolean =>
    (part ?? null) === null || canonicalSha256(part) === hash;
  return (
    Object.keys(facts).every((name) => shown[name] === undefined || shown[name] === facts[name]) &&
    isHashOf(evidence, receipt.evidenceSha256) &&
    isHashOf(policy, receipt.policySha256)
  );
}

const jwksFile = (path: string): ReceiptJwks => parseJwks(parsed(path, readText(path)));

interface VerifyReport {
  readonly id: string;
  readonly kind: string;
  readonly subject: readonly string[];
  readonly verdict: string | null;
  readonly score: number | null;
  readonly sanctioned: boolean | null;
  /** ISO date; null for now. */
  readonly asOf: string | null;
  readonly narrowed: readonly string[];
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly isExpired: boolean;
  readonly issuer: string;
  readonly kid: string;
  readonly sha256: string;
  /** Null if the file holds no answer. */
  readonly isAnswerEqual: boolean | null;
  /** Whether the receipt is of the request in the file of `--request`; null without it. */
  readonly isRequestEqual: boolean | null;
  /** Whether the evidence and the policy in the file are those of the receipt; null if the file is not a record of a receipt. */
  readonly isRecordEqual: boolean | null;
  /** Whether the receipt binds the line in the file; null if the file is not a line with its proof. */
  readonly isLineBound: boolean | null;
  /** Whether the receipt binds the whole result; null without `--lines`. */
  readonly isResultEqual: boolean | null;
  /** The place of the receipt in the transparency log; null without `--proof`. */
  readonly logged: { readonly origin: string; readonly index: number; readonly size: number } | null;
}

/** What `assay receipt verify` checks beside the signature. */
type LineChecks = Pick<VerifyReport, 'isRequestEqual' | 'isLineBound' | 'isResultEqual' | 'logged'>;

const secondsTime = (seconds: number): string => isoTime(seconds * 1000);

function reportOf(
  { receipt, kid }: VerifiedReceipt,
  data: Values | null,
  { nowMs, checks }: { readonly nowMs: number; readonly checks: LineChecks },
): VerifyReport {
  const record = data !== null && isRecord(data) ? data : null;
  // Beside the receipt of lines is a line, and never an answer.
  const isAnswer = data !== null && !isLine(data) && Object.keys(data).some((name) => name !== 'receipt');
  const answered = record === null && isAnswer ? data : null;
  return {
    id: receipt.id,
    kind: receipt.kind,
    subject: receipt.subject,
    verdict: receipt.verdict,
    score: receipt.score,
    sanctioned: receipt.sanctioned,
    asOf: receipt.asOf,
    narrowed: receipt.narrowed,
    issuedAt: secondsTime(receipt.issuedAt),
    expiresAt: secondsTime(receipt.expiresAt),
    isExpired: receipt.expiresAt * 1000 <= nowMs,
    issuer: receipt.issuer,
    kid,
    sha256: receiptHash(receipt).toString('hex'),
    isAnswerEqual: answered === null ? null : canonicalSha256(answerOf(answered)) === receipt.answerSha256,
    isRecordEqual: record === null ? null : isRecordOf(record, receipt),
    ...checks,
  };
}

function verifyLines(report: VerifyReport): readonly string[] {
  const { id, kind, subject, verdict, score, sanctioned, asOf, narrowed, isExpired } = report;
  const { isAnswerEqual, isRecordEqual } = report;
  const facts = [
    verdict,
    score === null ? null : `score ${score}`,
    sanctioned === null ? null : sanctioned ? 'sanctioned' : 'not sanctioned',
  ].filter((fact) => fact !== null);
  return [
    `The signature is valid: ${kind} receipt ${id} of ${report.issuer}, key ${report.kid}.`,
    ...(subject.length === 0 ? [] : [`Subject: ${subject.join(' → ')}`]),
    ...(facts.length === 0 ? [] : [`Result${asOf === null ? '' : ` as of ${asOf}`}: ${facts.join(', ')}`]),
    ...(narrowed.length === 0 ? [] : [`The request read less than by default: ${narrowed.join(', ')}.`]),
    `Issued ${report.issuedAt}; ${isExpired ? 'its verdict expired' : 'its verdict is valid until'} ${report.expiresAt}.`,
    ...(isAnswerEqual === null
      ? []
      : [
          isAnswerEqual
            ? 'The answer in the file is the one that was signed.'
            : 'The answer in the file is NOT the one that was signed.',
        ]),
    ...(isRecordEqual === null
      ? []
      : [
          isRecordEqual
            ? 'The evidence and the policy in the file are those of the receipt.'
            : 'The evidence or the policy in the file is NOT that of the receipt.',
        ]),
    ...proofLines(report),
  ];
}

/** Checks that may fail, and what is then said. */
const FAILURES = {
  isAnswerEqual: 'the answer is not the one that was signed',
  isRecordEqual: 'the evidence or the policy is not that of the receipt',
  isRequestEqual: 'the receipt is of another request',
  isLineBound: 'the line is not one that the receipt binds',
  isResultEqual: 'the result is not the one that the receipt binds',
} as const;

/** Lines about the proofs in the files of the command. */
function proofLines({ isRequestEqual, isLineBound, isResultEqual, logged }: VerifyReport): readonly string[] {
  const said = (is: boolean | null, yes: string, no: string): readonly string[] =>
    is === null ? [] : [is ? yes : no];
  return [
    ...said(
      isRequestEqual,
      'The receipt is of the request in its file.',
      'The receipt is NOT of the request in its file.',
    ),
    ...said(
      isLineBound,
      'The receipt binds the line in the file.',
      'The receipt does NOT bind the line in the file.',
    ),
    ...said(
      isResultEqual,
      'The receipt binds the whole result.',
      'The result is NOT the one that the receipt binds.',
    ),
    ...(logged === null
      ? []
      : [`The receipt is entry ${logged.index} of ${logged.size} in the log ${logged.origin}.`]),
  ];
}

interface VerifyOptions extends JwksOption {
  readonly request?: string;
  readonly lines?: string;
  readonly answer?: string;
  readonly proof?: string;
  readonly logKey?: string;
}

/** Verifies the proofs that the options and the file name. */
async function lineChecks(
  file: string,
  { receipt }: VerifiedReceipt,
  data: Values | null,
  { request, lines, answer: answerFile, proof, logKey }: VerifyOptions,
): Promise<LineChecks> {
  if ((proof === undefined) !== (logKey === undefined))
    throw new AssayError('INVALID_REQUEST', '--proof and --log-key: must be given together.');
  const added =
    answerFile === undefined ? {} : answerLine(dataOf(parsed(answerFile, readText(answerFile))), answerFile);
  const hasLine = data !== null && isLine(data);
  if (answerFile !== undefined && !hasLine)
    throw new AssayError(
      'INVALID_FILE',
      `${file}: must be a response of GET /receipts/{id}/lines/{line} for --answer.`,
    );
  return {
    isRequestEqual: request === undefined ? null : isOfRequest(receipt, parsed(request, readText(request))),
    isLineBound: hasLine ? isBound(receipt, data, added, file) : null,
    isResultEqual:
      lines === undefined
        ? null
        : await isResultOf(receipt, objectOf(data?.evidence), { result: lines, record: file }),
    logged: proof === undefined || logKey === undefined ? null : loggedOf(receipt, proof, logKey),
  };
}

/** Fields of a request that are not part of its hash: they do not change the answer. */
const NOT_HASHED: ReadonlySet<string> = new Set(['receipt', 'verifier', 'save']);

function isOfRequest({ requestSha256 }: Receipt, request: unknown): boolean {
  return textSha256(canonicalObject(objectOf(request), NOT_HASHED)) === requestSha256;
}

function loggedOf(receipt: Receipt, path: string, logKey: string): LineChecks['logged'] {
  const text = readText(path);
  const { origin, size } = verifyProof(text, receiptHash(receipt), parseVkey(logKey, '--log-key', 'log'));
  return { origin, size, index: parseProof(text).index };
}

/** Loaded when it is called: most commands read no receipt, and its schema takes a third of the start of a command. */
const verifyJws = async (...of: [jws: string, jwks: ReceiptJwks]): Promise<VerifiedReceipt> =>
  (await import('../receipts/verify-jws.ts')).verifyJws(...of);

/** The content that `assay receipt replay` scores: of a file, or of the store. */
async function contentOf(
  target: string,
  jwks: () => Promise<ReceiptJwks>,
  services: () => Services,
): Promise<ReceiptContent> {
  if (existsSync(target)) {
    const { jws, data } = readReceipt(target);
    const { evidence, policy } = data ?? {};
    if (typeof evidence !== 'object' || evidence === null || typeof policy !== 'object' || policy === null)
      throw new AssayError(
        'INVALID_FILE',
        `${target}: must have \`jws\`, \`evidence\` and \`policy\`, as \`GET /receipts/{id}\` and \`assay receipt show\` return them.`,
      );
    return { receipt: (await verifyJws(jws, await jwks())).receipt, evidence: objectOf(evidence), policy };
  }
  await services().ready('accounts');
  const { content } = services().receipts().one(target);
  if (content !== null) return content;
  throw new AssayError('NOT_FOUND', `id: the content of the receipt '${target}' was erased.`);
}

function replayLines({ id, isEqual, isScored, differences, otherVersion }: ReplayReport): readonly string[] {
  const scored = isScored
    ? 'The evidence gives the result of the receipt'
    : 'The evidence is that of the receipt; names and lines are not scored again';
  return [
    isEqual ? `${id}: equal. ${scored}.` : `${id}: DIFFERENT.`,
    ...differences.map(({ field, receipt, replay: now }) => `  ${field}: signed ${receipt}, replayed ${now}`),
    ...(otherVersion === null
      ? []
      : [`The receipt was issued by version ${otherVersion}; its rules may differ from those of this one.`]),
  ];
}

const keyRow = ({ kid, status, createdAtMs, endsAtMs }: SigningKey): readonly string[] => [
  kid,
  status,
  isoTime(createdAtMs),
  endsAtMs === null ? '' : isoTime(endsAtMs),
];

interface JsonOption {
  readonly json?: boolean;
}

interface JwksOption extends JsonOption {
  readonly jwks?: string;
}

/** Adds `assay receipt`. */
export function addReceiptCommand(
  program: Command,
  terminal: Terminal,
  services: () => Services,
  version: string,
): void {
  const receipt = program.command('receipt').description('verify, show, replay and erase signed receipts');
  const keysOf = async ({ jwks }: JwksOption): Promise<ReceiptJwks> => {
    if (jwks !== undefined) return jwksFile(jwks);
    await services().ready('accounts');
    return jwksOf(services().receipts().keys.list());
  };

  receipt
    .command('verify')
    .description(
      'verify the signature of a receipt, and that an answer, a line or a result is one that it binds',
    )
    .argument('<file>', 'a JWS, or a response with a receipt or a proof')
    .option('--jwks <file>', 'keys of the issuer (default: those of this installation)')
    .option(
      '--request <file>',
      'the request as JSON: verify that the receipt is of it, and not of another one',
    )
    .option(
      '--lines <file>',
      'result of a bulk job; the file must be the record of its receipt (GET /receipts/{id})',
    )
    .option(
      '--answer <file>',
      'answer of the oracle with receipt=batch; the file must be the proof of its line',
    )
    .option('--proof <file>', '.tlog-proof of the receipt: verify that it is in the transparency log')
    .option('--log-key <key>', 'key of the log, NAME+ID+KEY, for --proof')
    .option('--json', 'answer as JSON')
    .action(async (file: string, options: VerifyOptions) => {
      const { jws, data } = readReceipt(file);
      const verified = await verifyJws(jws, await keysOf(options));
      const checks = await lineChecks(file, verified, data, options);
      const report = reportOf(verified, data, { nowMs: terminal.clock.now(), checks });
      answer(terminal, options.json ?? false, report, verifyLines);
      for (const [check, failure] of Object.entries(FAILURES))
        if (report[check as keyof typeof FAILURES] === false)
          throw new AssayError('INVALID_FILE', `${file}: ${failure}.`);
    });

  receipt
    .command('replay')
    .description('score the evidence of a receipt again with its policy, and compare the result')
    .argument('<file|id>', 'a file of `receipt show`, or the id of a receipt of this installation')
    .option('--jwks <file>', 'keys of the issuer of a file (default: those of this installation)')
    .option('--json', 'answer as JSON')
    .action(async (target: string, options: JwksOption) => {
      const content = await contentOf(target, () => keysOf(options), services);
      const report = replay(content, version);
      answer(terminal, options.json ?? false, report, replayLines);
      if (!report.isEqual)
        throw new AssayError(
          'INVALID_FILE',
          `${report.id}: the replay differs in ${report.differences.map(({ field }) => field).join(', ')}.`,
        );
    });

  receipt
    .command('show')
    .description('print a receipt with its evidence and its policy, as JSON')
    .argument('<id>', 'id of a receipt')
    .action((id: string) => {
      const { stored, jws, content } = services().receipts().one(id);
      const { parts: _, signature: __, storedBytes: ___, ...facts } = stored;
      const { evidence = null, policy = null } = content ?? {};
      answer(terminal, true, { ...facts, jws, evidence, policy }, () => []);
    });

  receipt
    .command('erase')
    .description('erase the content of a receipt; its hash stays, so that a log of receipts stays valid')
    .argument('<id>', 'id of a receipt')
    .option('--json', 'answer as JSON')
    .action(async (id: string, options: JsonOption) => {
      const { sha256, accountId } = await services().receipts().erase(id);
      answer(terminal, options.json ?? false, { id, accountId, sha256 }, () => [
        `${id} is erased. Its SHA-256 stays: ${sha256}`,
      ]);
    });

  addKeys(receipt, terminal, services);
}

function addKeys(receipt: Command, terminal: Terminal, services: () => Services): void {
  const keys = receipt.command('keys').description('list and rotate the keys that sign receipts');
  const HEAD = ['KID', 'STATUS', 'CREATED', 'ENDS'];

  keys
    .command('list')
    .description('list all keys, oldest first; retired keys are kept')
    .option('--jwks', 'answer as JWKS, for `receipt verify --jwks`')
    .option('--json', 'answer as JSON')
    .action((options: { readonly jwks?: boolean; readonly json?: boolean }) => {
      const list = services().receipts().keys.list();
      if (options.jwks) answer(terminal, true, jwksOf(list), () => []);
      else answer(terminal, options.json ?? false, list, () => table([HEAD, ...list.map(keyRow)]));
    });

  keys
    .command('rotate')
    .description('create a key that signs from now on, and retire the one before it')
    .option('--json', 'answer as JSON')
    .action(async (options: JsonOption) => {
      const key = await services().receipts().keys.rotate();
      answer(terminal, options.json ?? false, key, () => [`${key.kid} signs receipts from now on.`]);
    });
}
