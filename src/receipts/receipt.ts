/**
 * The receipt: the facts of one answer that a signature binds. It contains integers, strings, booleans and nulls only, so that its canonical
 * text (canonical.ts) does not depend on how a language writes floats.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { AssayError } from '../base/errors.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import { canonicalJson } from './canonical.ts';
import { RECEIPT_LIMITS } from './limits.ts';

/**
 * The operation of the answer. BULK: a job; its receipt binds all lines of its result by a Merkle root. BATCH: answers of the oracle of about
 * a second, bound in the same way.
 */
export const RECEIPT_KINDS = ['SCREENING', 'KYT', 'ORACLE', 'SANCTIONS', 'NAMES', 'BULK', 'BATCH'] as const;
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];

/** Form of a receipt in a response. */
export const RECEIPT_FORMS = ['none', 'jws', 'eip712'] as const;
/** Form of a receipt in a response of the oracle. batch: one signature a second for all answers; the proof is fetched later. */
export const ORACLE_RECEIPT_FORMS = [...RECEIPT_FORMS, 'batch'] as const;
export type ReceiptForm = (typeof ORACLE_RECEIPT_FORMS)[number];

/** Version of the format. A change of any field or of its meaning needs a new one. */
export const RECEIPT_VERSION = 1;

const text = () => Type.String({ maxLength: RECEIPT_LIMITS.textMax });
const nullableText = () => Type.Union([text(), Type.Null()]);
const sha256 = () => Type.String({ pattern: '^[0-9a-f]{64}$' });
const seconds = () => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const closed = { additionalProperties: false } as const;

const ListState = Type.Object(
  {
    list: text(),
    /** ISO date or time at which its publisher published it; null if the list was never loaded. */
    publishedAt: nullableText(),
    /** ISO date or time at which it was last known to be current; null if the list was never loaded. */
    checkedAt: nullableText(),
    /** Parties in force on the list; null if it was never loaded. */
    parties: Type.Union([seconds(), Type.Null()]),
  },
  closed,
);

const GraphState = Type.Object(
  {
    /** CAIP-2. */
    chain: text(),
    /** Last block of the stored transfers; null if they came from files. */
    height: Type.Union([seconds(), Type.Null()]),
    /** ISO time up to which transfers are stored; null if none are. */
    asOf: nullableText(),
  },
  closed,
);

/** Schema of a receipt. Unknown members are refused: a signature over something that no verifier reads would mislead. */
export const ReceiptSchema = Type.Object(
  {
    v: Type.Literal(RECEIPT_VERSION),
    /** ULID. */
    id: Type.String({ pattern: '^[0-9a-hjkmnp-tv-z]{26}$' }),
    kind: Type.Enum([...RECEIPT_KINDS]),
    /** CAIP-10 of the address; of KYT with two parties, the sender, then the receiver. Empty for NAMES, BULK and BATCH. */
    subject: Type.Array(text(), { maxItems: RECEIPT_LIMITS.subjectsMax }),
    /** SHA-256 of the canonical JSON of the request without `receipt` and `save`. */
    requestSha256: sha256(),
    /** SHA-256 of the canonical JSON of the answer (`answerOf`). */
    answerSha256: sha256(),
    /** SHA-256 of the canonical JSON of the evidence that is stored with the receipt. */
    evidenceSha256: sha256(),
    /** Of ORACLE: safe, warning or danger; of KYT: ALLOW, REVIEW or BLOCK; null for the others. */
    verdict: nullableText(),
    /** Whole points from 0 to 100, not scaled; null for SANCTIONS, NAMES, BULK and BATCH. */
    score: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()]),
    riskLevel: nullableText(),
    /** Null for NAMES, BULK and BATCH. */
    sanctioned: Type.Union([Type.Boolean(), Type.Null()]),
    /** Codes of the reasons, then of the flags, in the order of the answer, each once. */
    reasonCodes: Type.Array(text(), { maxItems: RECEIPT_LIMITS.reasonCodesMax }),
    /** Whether anything is known about the subject; null for NAMES, BULK and BATCH. */
    assessed: Type.Union([Type.Boolean(), Type.Null()]),
    /** ISO date of a request about an earlier day; null for now. */
    asOf: Type.Union([Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), Type.Null()]),
    /** Fields of the request that made it read less than by default, such as `maxHops=1`. */
    narrowed: Type.Array(text(), { maxItems: RECEIPT_LIMITS.narrowedMax }),
    /** All sanctions lists that the installation knows, also those that were never loaded. */
    coverage: Type.Array(ListState, { maxItems: RECEIPT_LIMITS.listsMax }),
    dataVersion: text(),
    /** The chain of the subject; empty if the answer reads no transfers. */
    graph: Type.Array(GraphState, { maxItems: RECEIPT_LIMITS.graphsMax }),
    /** SHA-256 of the canonical JSON of the scoring policy. */
    policySha256: sha256(),
    policyVersion: text(),
    softwareVersion: text(),
    /** Seconds since 1970. */
    issuedAt: seconds(),
    /**
     * Seconds since 1970. The verdict must not be acted on from this time on; the record stays valid. Equal to `issuedAt` if `asOf` or
     * `narrowed` says that the verdict is not that of now, read as deep as by default.
     */
    expiresAt: seconds(),
    /** URL of the installation, or its id. */
    issuer: text(),
    /** 16 random bytes, hexadecimal: without them, the hash of a receipt would reveal a guessed subject. */
    salt: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    /** Of BULK and BATCH: the lines, and the root of their Merkle tree (RFC 6962), hexadecimal; null for the others. */
    lines: Type.Union([Type.Object({ count: seconds(), root: sha256() }, closed), Type.Null()]),
  },
  { ...closed, title: 'Receipt' },
);
export type Receipt = Static<typeof ReceiptSchema>;
export type ReceiptListState = Static<typeof ListState>;
export type ReceiptGraphState = Static<typeof GraphState>;

let compiled: ReturnType<typeof Compile<typeof ReceiptSchema>> | null = null;

/** Compiled at its first use, which most starts do not need. */
function shapeOfReceipt(): ReturnType<typeof Compile<typeof ReceiptSchema>> {
  compiled ??= Compile(ReceiptSchema);
  return compiled;
}

/**
 * Returns a value as a receipt.
 *
 * @throws INVALID_FILE naming the field
 */
export function parseReceipt(value: unknown): Receipt {
  const shape = shapeOfReceipt();
  if (shape.Check(value)) return value;
  const [first] = shape.Errors(value);
  const field = first === undefined ? '' : first.instancePath.slice(1).replaceAll('/', '.');
  throw new AssayError(
    'INVALID_FILE',
    `receipt: ${field === '' ? '' : `${field}: `}${first?.message ?? 'is not a receipt'}.`,
  );
}

/** Returns the canonical bytes of a receipt: the payload of its signature, and the input of its hash. */
export const receiptBytes = (receipt: Receipt): Buffer => Buffer.from(canonicalJson(receipt), 'utf8');

/** Returns the SHA-256 of a receipt: its leaf in a transparency log, and `receipt` of its EIP-712 form. It is salted. */
export const receiptHash = (receipt: Receipt): Buffer =>
  createHash('sha256').update(receiptBytes(receipt)).digest();

/** Characters of an account address by CAIP-10; others are percent-encoded. */
const NOT_CAIP10 = /[^-.a-zA-Z0-9]/g;

/**
 * Returns the CAIP-10 account id of an address.
 *
 * @param address - canonical
 */
export const accountIdOf = (chain: ChainId, address: string): string =>
  `${chainOf(chain).caip2}:${address.replace(NOT_CAIP10, (char) => encodeURIComponent(char))}`;

/** Members of an answer that are added after it was hashed. */
export const ADDED_LATER: ReadonlySet<string> = new Set(['receipt', 'screeningId', 'ignored']);

/**
 * Returns the part of an answer that `answerSha256` binds: `data` of the response (of `POST /namescreen/bulk`, the whole response), without
 * the members `receipt`, `screeningId` and `ignored`.
 */
export const answerOf = (data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !ADDED_LATER.has(name)));
