/** The shape of a receipt, and its check. Few commands read receipts, so that the library of schemas is loaded with this module only. */
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { AssayError } from '../base/errors.ts';
import { RECEIPT_KINDS, RECEIPT_VERSION } from './kinds.ts';
import { RECEIPT_LIMITS } from './limits.ts';

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
