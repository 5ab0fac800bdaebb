/**
 * Schemas shared by several endpoints. They validate requests and are the components of the OpenAPI document, under the same names.
 */
import {
  type TArray,
  type TBoolean,
  type TEnum,
  type TInteger,
  type TNull,
  type TNumber,
  type TSchema,
  type TSchemaOptions,
  type TString,
  type TUnion,
  Type,
} from 'typebox';
import { CLIENT_ERROR_CODES } from '../../base/errors.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { CHAINS } from '../../chains/registry.ts';
import { EVIDENCE_CLASSES } from '../../labels/evidence-class.ts';
import { CATEGORIES, THREAT_LEVELS } from '../../labels/taxonomy.ts';
import { ORACLE_RECEIPT_FORMS, RECEIPT_FORMS } from '../../receipts/kinds.ts';
import { REASON_CODES } from '../../screening/answers.ts';
import { LISTS } from '../../sources/lists.ts';

export const oneOf = <Values extends string[]>(
  values: readonly [...Values],
  description?: string,
  options: TSchemaOptions = {},
): TEnum<Values> => Type.Enum(values, description === undefined ? options : { description, ...options });

export const nullable = <Schema extends TSchema>(
  schema: Schema,
  description?: string,
): TUnion<[Schema, TNull]> =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

export const text = (description?: string): TString =>
  Type.String(description === undefined ? {} : { description });
/** An amount of an asset: decimal text in native units, with the decimals of the asset (docs/decisions/amounts.md). */
export const amountFields = {
  amount: Type.String({ description: 'Native units, decimal; the smallest unit if `decimals` is null.' }),
  decimals: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    description: 'Decimals of the asset; null if they are not known.',
  }),
};

/** A point in time, ISO 8601 in UTC. */
export const time = (description?: string): TString =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });
export const number = (description?: string): TNumber =>
  Type.Number(description === undefined ? {} : { description });
export const count = (description?: string): TInteger =>
  Type.Integer(description === undefined ? { minimum: 0 } : { minimum: 0, description });
export const flag = (description?: string): TBoolean =>
  Type.Boolean(description === undefined ? {} : { description });
export const listOf = <Item extends TSchema>(schema: Item, description?: string): TArray<Item> =>
  Type.Array(schema, description === undefined ? {} : { description });

export const ChainIdSchema = oneOf(
  CHAINS.map((chain) => chain.id),
  'Chain identifier, in upper case in every answer.',
  { title: 'ChainId' },
);

/** A chain as a client may write it. Not an enumeration, because any letter case is allowed. */
export const chainText = (
  description = 'Chain identifier, in any letter case.',
  options: TSchemaOptions = {},
): TString => Type.String({ minLength: 1, maxLength: 32, description, examples: ['ETH'], ...options });

export const ChainText = chainText();

export const addressText = (description = 'Address, in any form that is valid for the chain.'): TString =>
  Type.String({
    minLength: 1,
    maxLength: CHAIN_LIMITS.addressTextMax,
    description,
    examples: ['0x28c6c06298d514db089934071355e5743bf21d60'],
  });

export const AddressText = addressText();

/** Id of a record of the caller's account, in a path. */
export const idText = (description: string): TString =>
  Type.String({ minLength: 1, maxLength: 64, description });

/** Default number of rows of a page. */
export const PAGE_DEFAULT = 50;

/** Longest id of a row. */
const CURSOR_CHARS_MAX = 64;

/** The position of a row in its list. */
const Cursor = Type.String({
  title: 'Cursor',
  minLength: 1,
  maxLength: CURSOR_CHARS_MAX,
  description: 'Position in a list. Its form may change.',
});

/** A parameter with the cursor of a further page. */
export const cursorParameter = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: CURSOR_CHARS_MAX, description }));

/**
 * The parameters of every list.
 *
 * @param maximum - largest number of rows of a page
 * @param standard - default number of rows
 */
export const pageQuery = (maximum: number, standard = PAGE_DEFAULT) => ({
  limit: Type.Integer({
    minimum: 1,
    maximum,
    default: standard,
    description: `Rows of a page. Default ${standard}.`,
  }),
  cursor: cursorParameter('The `nextCursor` of the previous page.'),
});

/** The parameters of a list that can also be paged by `offset`. */
export const offsetQuery = (maximum: number, standard = PAGE_DEFAULT) => ({
  ...pageQuery(maximum, standard),
  offset: Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Rows that are skipped, if no cursor is given. Default 0.',
  }),
});

/** The end of a page, in the response of every list. */
export const pageFields = {
  limit: count('Rows of a page, as requested.'),
  hasMore: flag('Whether a next page exists. A page may be short although it does.'),
  nextCursor: nullable(Cursor, 'Pass it as `cursor` for the next page; null at the end.'),
};

/** The end of a page of a list that can also be paged by `offset`. */
export const offsetFields = {
  total: count('Rows of all pages.'),
  ...pageFields,
  offset: count('Rows that were skipped, as requested.'),
};

export const CategorySchema = oneOf(CATEGORIES, 'Category of the entity.', { title: 'Category' });
export const ExposureCategorySchema = oneOf([...CATEGORIES, 'UNKNOWN'], undefined, {
  title: 'ExposureCategory',
});
export const ThreatLevelSchema = oneOf(THREAT_LEVELS, undefined, { title: 'ThreatLevel' });
export const SeveritySchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], undefined, { title: 'Severity' });
export const RiskLevelSchema = oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], undefined, {
  title: 'RiskLevel',
});
export const SanctionsListSchema = oneOf([...LISTS.ids, 'OTHER'], undefined, { title: 'SanctionsList' });
export const EvidenceClassSchema = oneOf(
  EVIDENCE_CLASSES,
  'Evidence of the label. list: an authority names the address. published: a named publisher attributes it. structural: reproducible from the chain. inferred: a model, or a source that names no evidence. Only list and published labels make a verdict CRITICAL.',
  { title: 'EvidenceClass' },
);
export const DataVersion = text('Version of the label snapshot of this response.');

export const DerivationSchema = Type.Object(
  {
    rule: text('Id of the rule.'),
    version: Type.Integer({ minimum: 1 }),
    precision: nullable(
      Type.Number({ minimum: 0, maximum: 1 }),
      'Part of the labels of the rule that are right; 1 minus this is its error rate. Null: not measured.',
    ),
    recall: nullable(
      Type.Number({ minimum: 0, maximum: 1 }),
      'Part of the addresses of this kind that the rule finds. Null: not measured.',
    ),
    measuredOn: nullable(Type.String(), 'The data on which the rates were measured.'),
    measuredAt: nullable(Type.String(), 'Date of the measurement.'),
    notMeasured: nullable(Type.String(), 'Why a rate is null; null if both were measured.'),
  },
  {
    title: 'Derivation',
    description:
      'The rule that made a structural or inferred label. `GET /address/{chain}/{address}/attribution` has the evidence: transactions and blocks.',
  },
);

export const Label = Type.Object(
  {
    name: text('Name of the entity.'),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
    source: text('Origin of the label.'),
    class: EvidenceClassSchema,
    tags: listOf(Type.String()),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    entityId: text(),
    jurisdiction: nullable(Type.String(), 'ISO 3166-1 alpha-2.'),
    url: nullable(Type.String()),
    sourceUrl: nullable(Type.String(), 'Page on which the label is published.'),
    firstSeen: nullable(Type.String()),
    lastSeen: nullable(Type.String()),
    verified: flag('False: ships with the product and was not checked against a publisher’s file.'),
    chain: oneOf(
      [...CHAINS.map((chain) => chain.id), 'EVM'],
      'Chain of the label; EVM for the whole family.',
    ),
    derivation: Type.Optional(DerivationSchema),
    synthetic: Type.Optional(
      Type.Literal(true, { description: 'Made for load tests; absent on real labels.' }),
    ),
  },
  { title: 'Label', description: 'A label of an address from one source.' },
);

export const CoverageEntry = Type.Object(
  {
    status: oneOf(['COMPLETE', 'PARTIAL', 'NONE']),
    asOf: nullable(Type.String()),
    unpricedAssets: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Of `graph` in screening and KYT: assets that are evidence and moved without a USD value; their shares are by amount.',
      }),
    ),
  },
  { title: 'CoverageEntry' },
);

export const Coverage = Type.Object(
  {
    labels: CoverageEntry,
    graph: CoverageEntry,
    balances: CoverageEntry,
    history: CoverageEntry,
    sanctions: CoverageEntry,
  },
  {
    title: 'Coverage',
    description: 'Completeness of the data behind the response. NONE: not read.',
  },
);

export const Reason = Type.Object(
  {
    code: oneOf(REASON_CODES),
    severity: SeveritySchema,
    category: ExposureCategorySchema,
    message: text(),
    source: nullable(Type.String()),
    verified: flag(),
  },
  { title: 'Reason', description: 'A reason of a verdict, or a qualification of a response.' },
);

export const SanctionsEntry = Type.Object(
  {
    list: SanctionsListSchema,
    authority: text(),
    program: nullable(Type.String()),
    entityName: text(),
    entityId: text(),
    listedAt: nullable(Type.String()),
    listedAtBasis: oneOf(
      ['PARTY', 'WALLET'],
      'Meaning of `listedAt`. PARTY: when the list designated the party. WALLET: when the wallet first appeared in the files that were imported.',
    ),
    delistedAt: nullable(Type.String(), 'If set, the entry is no longer in force.'),
    sourceUrl: text(),
    matchType: oneOf(['DIRECT', 'OWNER', 'CLUSTER']),
    attribution: Type.Optional(
      Type.Object(
        {
          source: text('Source of the label.'),
          confidence: Type.Number({ minimum: 0, maximum: 1, description: 'Confidence of this one label.' }),
          date: nullable(Type.String(), 'Date of the label, else of its dataset.'),
        },
        {
          description:
            'Of OWNER entries: the label that attributes the address to the designated party. Below a confidence of 0.8 the entry does not make the address sanctioned.',
        },
      ),
    ),
  },
  { title: 'SanctionsEntry' },
);

const sanctionsDetailFields = {
  isSanctioned: flag(
    'A DIRECT entry, or an OWNER entry whose attribution has a confidence of at least 0.8, is in force.',
  ),
  lists: listOf(SanctionsEntry),
  agreementCount: count('Jurisdictions of the entries in force that make the address sanctioned.'),
  dataAsOf: nullable(Type.String(), 'Oldest last check of the lists that are loaded.'),
};

export const SanctionsDetail = Type.Object(sanctionsDetailFields, { title: 'SanctionsDetail' });

/** Fields of one address, also in responses about several addresses. */
export const labelSetFields = {
  address: text(),
  chain: ChainIdSchema,
  labels: listOf(Label, 'The primary entity first.'),
  sanctioned: flag(),
  sanctionsDetail: nullable(SanctionsDetail, 'Null when not sanctioned.'),
  assessed: flag('False if nothing is known about the address.'),
};

/** Fields that state the basis of a response about labels. */
export const labelSetBasis = {
  coverage: Coverage,
  reasons: listOf(Reason),
  dataVersion: DataVersion,
};

export const EntityLabelSet = Type.Object(
  { ...labelSetFields, ...labelSetBasis },
  { title: 'EntityLabelSet', description: 'All labels of one address.' },
);

/** A CAIP-10 id of an EVM contract has at most 65 characters. */
const VERIFIER_CHARS_MAX = 80;

const receiptForm = () =>
  oneOf(
    RECEIPT_FORMS,
    'Form of the signed receipt in the response; eip712 adds the verdict for a contract to the JWS. Default: that of the API key, or else `none`.',
  );

/** The field or query parameter of operations with responses that may have a receipt. */
export const receiptField = {
  receipt: Type.Optional(receiptForm()),
  verifier: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: VERIFIER_CHARS_MAX,
      description:
        'With `receipt` eip712: CAIP-10 id of the contract that verifies the verdict, eip155:<chain id>:0x<40 digits>. The signature is valid for it alone.',
      examples: ['eip155:1:0x28c6c06298d514db089934071355e5743bf21d60'],
    }),
  ),
};

/** The same for the oracle, which also has batches. */
export const oracleReceiptField = {
  ...receiptField,
  receipt: Type.Optional(
    oneOf(
      ORACLE_RECEIPT_FORMS,
      'Form of the signed receipt in the response. eip712 adds the verdict for a contract to the JWS. batch: one signature for all answers of about a second, at a small part of the cost; the proof is fetched later. Default: that of the API key, or else `none`.',
    ),
  ),
};

const SignedVerdict = Type.Object(
  {
    domain: Type.Object({
      name: oneOf(['Assay']),
      version: oneOf(['1']),
      chainId: Type.Integer(),
      verifyingContract: text(),
    }),
    types: Type.Object({
      Verdict: listOf(Type.Object({ name: text(), type: text() })),
    }),
    message: Type.Object({
      receipt: text('SHA-256 of the receipt, 0x and hexadecimal.'),
      chain: text('keccak-256 of the CAIP-2 id of the screened chain.'),
      subject: text('The address.'),
      verdict: Type.Integer({
        description: '0 unrated (a check of sanctions alone), 1 safe, 2 warning, 3 danger.',
      }),
      score: Type.Integer({ description: '0 to 100.' }),
      sanctioned: flag(),
      issuedAt: Type.Integer({ description: 'Seconds since 1970.' }),
      expiresAt: Type.Integer({ description: 'Seconds since 1970; at most 900 after issuedAt.' }),
      snapshot: text('SHA-256 of the data version.'),
      policy: text('SHA-256 of the scoring policy.'),
    }),
    signature: text('65 bytes as 0x and hexadecimal: r, s, v.'),
    signer: text('Address of the key that has signed it.'),
  },
  {
    title: 'SignedVerdict',
    description: 'The verdict for a contract, as EIP-712 typed data. Only with `receipt` eip712.',
  },
);

export const IssuedReceipt = Type.Object(
  {
    id: text('GET /receipts/{id} returns the receipt with its evidence.'),
    jws: text('The receipt as JWS in compact form, signed with Ed25519. /.well-known/jwks.json has the key.'),
    expiresAt: time('Do not act on the verdict from this time on. The receipt stays valid as a record.'),
    eip712: Type.Optional(SignedVerdict),
  },
  { title: 'IssuedReceipt', description: 'Only if a receipt was requested.' },
);

/** The member of an answer of a batch. */
const BatchedReceipt = Type.Object(
  {
    id: text('GET /receipts/{id}/lines/{line} returns the proof, from about a second later on.'),
    line: Type.Integer({ description: 'Number of the answer in its batch, from 0.' }),
    salt: text('16 bytes, hexadecimal. Keep it with the answer: the proof needs both.'),
  },
  { title: 'BatchedReceipt', description: 'Only with `receipt` batch.' },
);

/** The fields of the responses of the oracle. */
const oracleIssuedField = { receipt: Type.Optional(IssuedReceipt), batch: Type.Optional(BatchedReceipt) };

/** The field of their responses. */
export const issuedReceiptField = { receipt: Type.Optional(IssuedReceipt) };

export const SanctionsCheck = Type.Object(
  {
    address: text(),
    chain: ChainIdSchema,
    sanctioned: flag('True for direct matches only.'),
    lists: sanctionsDetailFields.lists,
    agreementCount: sanctionsDetailFields.agreementCount,
    dataAsOf: sanctionsDetailFields.dataAsOf,
    freshness: Type.Record(
      Type.String(),
      Type.Object({ publishedAt: nullable(Type.String()), checkedAt: nullable(Type.String()) }),
      { description: 'Publication and last successful check of each list.' },
    ),
    coverage: Coverage,
    assessed: flag(),
    reasons: listOf(Reason),
    dataVersion: DataVersion,
    ...issuedReceiptField,
  },
  { title: 'SanctionsCheck' },
);

export const EntitySummary = Type.Object(
  {
    name: text(),
    category: CategorySchema,
    threatLevel: ThreatLevelSchema,
  },
  { title: 'EntitySummary' },
);

export const Quota = Type.Object(
  {
    limit: nullable(Type.Integer(), 'Calls a month; null is unlimited.'),
    remaining: nullable(Type.Integer()),
    resetAt: text('First instant of the next month, UTC.'),
  },
  { title: 'QuotaState' },
);

export const OracleVerdict = Type.Object(
  {
    address: text(),
    chain: ChainIdSchema,
    verdict: oneOf(['safe', 'warning', 'danger']),
    score: Type.Integer({ minimum: 0, maximum: 100 }),
    riskLevel: RiskLevelSchema,
    sanctioned: flag(),
    reasons: listOf(Reason),
    entity: nullable(EntitySummary, 'The owner of the address; null if no label names one.'),
    coverage: Coverage,
    assessed: flag(),
    exposureAsOf: nullable(
      text(),
      'Time at which the exposure of this response was last up to date; null if the chain has no stored transfers, or no index of them. An entry that waits for its next computation keeps its last verdict.',
    ),
    dataVersion: DataVersion,
    policyVersion: text(),
    evaluatedAt: text(),
    ttlSeconds: count('How long the verdict may be relied on.'),
    quota: Quota,
    ...oracleIssuedField,
  },
  { title: 'OracleVerdict' },
);

export const ErrorBody = Type.Object(
  { error: text('A sentence with the field, the problem and the allowed values.') },
  {
    title: 'ErrorBody',
    description: 'An error. With `Accept: application/problem+json`, errors are RFC 9457 problem details.',
  },
);

export const Problem = Type.Object(
  {
    type: text('Ends with the code: `urn:assay:error:INVALID_REQUEST`.'),
    title: text(),
    status: Type.Integer(),
    detail: text('The same sentence as `error`.'),
    instance: text(),
    code: oneOf(CLIENT_ERROR_CODES, 'Also in the header X-Error-Code.'),
    field: Type.Optional(Type.String()),
  },
  { title: 'Problem', description: 'Problem details (RFC 9457).' },
);

export const Ignored = Type.Array(Type.String(), {
  examples: [[]],
  description:
    'Unknown fields of the body and unknown query parameters, so that a misspelt option is noticed.',
});

/** Returns the envelope of a successful response. */
export const envelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Type.Optional(Ignored) });

/** Returns the envelope of an operation with a body. */
export const bodyEnvelope = (data: TSchema): TSchema =>
  Type.Object({ success: Type.Literal(true), data, ignored: Ignored });

/** Returns the envelope of an operation that costs credits. */
export const chargedEnvelope = (data: TSchema): TSchema =>
  Type.Object({
    success: Type.Literal(true),
    data,
    credits: Type.Object({ remaining: Type.Integer({ description: 'Credits after the call.' }) }),
    ignored: Ignored,
  });
