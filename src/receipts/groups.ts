/**
 * Many receipts in one stored record: what they have in common is written once, and hashes and signatures as bytes. A receipt takes some 300
 * bytes instead of 1,300, and a transaction writes one record instead of hundreds.
 *
 * Layout: the number of receipts (u16), a block of 208 bytes for each, and compressed JSON (`Shared`). The blocks of an erased receipt
 * have its own hash and its signature, and zeros.
 */
import { promisify } from 'node:util';
import { constants, deflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import { textOf } from './canonical.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import type { Receipt } from './receipt-schema.ts';
import type { ContentTexts, NewStoredReceipt, OwnFact, PartHashes, StoredReceipt } from './store.ts';

/** A small receipt as it is stored with others. */
export interface GroupItem {
  readonly id: string;
  /** JSON text of its record without what is in its block (`RowFacts`). */
  readonly row: string;
  /** Null if the content was erased. */
  readonly content: {
    /** JSON text of the facts that many receipts of a second have in common (`CommonFacts`). */
    readonly facts: string;
    readonly subject: Receipt['subject'];
    /** JSON text of the evidence without its labels. */
    readonly evidence: string;
    readonly labels: string | null;
  } | null;
  /** 208 bytes. */
  readonly block: Buffer;
}

/** A grouped receipt that was read again. */
export interface FoundItem {
  readonly stored: StoredReceipt;
  /** The receipt without `coverage`, and the evidence without `labels`; null if the content was erased. */
  readonly content: { readonly receipt: Omit<Receipt, 'coverage'>; readonly evidence: object } | null;
}

type RowFacts = Omit<NewStoredReceipt, 'id' | 'sha256'> & {
  readonly erasedAtMs?: number;
  readonly parts: PartHashes;
};
type CommonFacts = Omit<Receipt, OwnFact | 'coverage'>;

/** Number of a text in `texts`; null for what was erased or is not there. */
type Place = number | null;

/** The JSON of a record. Each text of rows, facts and evidence is there once. */
interface Shared {
  readonly rows: readonly string[];
  readonly facts: readonly string[];
  readonly evidence: readonly string[];
  readonly items: readonly (readonly [
    id: string,
    row: number,
    facts: Place,
    evidence: Place,
    subject: Receipt['subject'] | null,
    labels: string | null,
  ])[];
}

const deflateLater = promisify<string, object, Buffer>(deflateRaw);
const FAST = { level: constants.Z_BEST_SPEED } as const;

const COUNT_BYTES = 2;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
/** The parts of a block, in their order. */
const SHA256_AT = 0;
const SIGNATURE_AT = SHA256_AT + HASH_BYTES;
const REQUEST_AT = SIGNATURE_AT + 64;
const ANSWER_AT = REQUEST_AT + HASH_BYTES;
const EVIDENCE_AT = ANSWER_AT + HASH_BYTES;
const SALT_AT = EVIDENCE_AT + HASH_BYTES;
const BLOCK_BYTES = SALT_AT + SALT_BYTES;

/** The texts of a receipt that its record has: the evidence without its labels, unless no part has them. */
export type RecordTexts = Pick<ContentTexts, 'own' | 'facts' | 'evidence'>;

/**
 * Returns a receipt without its signature as an item of a group; null if it is too large, or has a hash that is not of the usual length.
 */
export function groupItem(
  row: NewStoredReceipt,
  { own, facts, evidence }: RecordTexts,
  parts: PartHashes,
): GroupItem | null {
  // Of the pool of buffers: all bytes are written below.
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  const isWhole =
    block.write(row.sha256, SHA256_AT, HASH_BYTES, 'hex') === HASH_BYTES &&
    block.write(own.requestSha256, REQUEST_AT, HASH_BYTES, 'hex') === HASH_BYTES &&
    block.write(own.answerSha256, ANSWER_AT, HASH_BYTES, 'hex') === HASH_BYTES &&
    block.write(own.evidenceSha256, EVIDENCE_AT, HASH_BYTES, 'hex') === HASH_BYTES &&
    block.write(own.salt, SALT_AT, SALT_BYTES, 'hex') === SALT_BYTES;
  if (!isWhole || own.id !== row.id) return null;
  const content = { facts, subject: own.subject, evidence, labels: parts.labels ?? null };
  const rowText = factsTextOfRow(row, parts);
  return bytesOf({ row: rowText, content }) > RECEIPT_LIMITS.groupedBytesMax
    ? null
    : { id: row.id, row: rowText, content, block };
}

/** Adds the signature, 64 bytes. */
export function signItem({ block }: GroupItem, signature: Uint8Array): void {
  block.set(signature, SIGNATURE_AT);
}

/**
 * Returns the JSON text of the facts that many receipts of a second have in common. It lists the members: an object that is made by leaving
 * some out takes ten times as long, and the type says if one is missing.
 */
export const commonFacts = (receipt: Receipt): string =>
  JSON.stringify({
    v: receipt.v,
    kind: receipt.kind,
    verdict: receipt.verdict,
    score: receipt.score,
    riskLevel: receipt.riskLevel,
    sanctioned: receipt.sanctioned,
    reasonCodes: receipt.reasonCodes,
    assessed: receipt.assessed,
    asOf: receipt.asOf,
    narrowed: receipt.narrowed,
    dataVersion: receipt.dataVersion,
    graph: receipt.graph,
    policySha256: receipt.policySha256,
    policyVersion: receipt.policyVersion,
    softwareVersion: receipt.softwareVersion,
    issuedAt: receipt.issuedAt,
    expiresAt: receipt.expiresAt,
    issuer: receipt.issuer,
    lines: receipt.lines,
  } satisfies CommonFacts);

/** The last row and its text: one client has the same facts in all receipts of a second. */
let lastRow: Omit<NewStoredReceipt, 'id' | 'sha256'> | null = null;
let lastRowText = '';
/** The parts of the last row, and their JSON text: nearly all rows of an hour have the same. */
let lastParts: PartHashes = {};
let lastPartsText = '{}';

/** Returns the JSON text of `RowFacts`, with the parts except the labels. It is written by hand: JSON.stringify takes three times as long. */
function factsTextOfRow(row: NewStoredReceipt, parts: PartHashes): string {
  const { coverage, policy } = parts;
  const hasLastParts = lastParts.coverage === coverage && lastParts.policy === policy;
  if (hasLastParts && lastRow !== null && isSameRow(row, lastRow)) return lastRowText;
  if (!hasLastParts) {
    lastPartsText = JSON.stringify({ coverage, policy });
    lastParts = parts;
  }
  const head = `{"accountId":${textOf(row.accountId)},"kind":"${row.kind}","issuedTo":${textOf(row.issuedTo)}`;
  const times = `"issuedAtMs":${row.issuedAtMs},"expiresAtMs":${row.expiresAtMs}`;
  lastRow = row;
  lastRowText = `${head},${times},"kid":${textOf(row.kid)},"parts":${lastPartsText}}`;
  return lastRowText;
}

const isSameRow = (row: NewStoredReceipt, other: NonNullable<typeof lastRow>): boolean =>
  row.accountId === other.accountId &&
  row.issuedTo === other.issuedTo &&
  row.issuedAtMs === other.issuedAtMs &&
  row.expiresAtMs === other.expiresAtMs &&
  row.kind === other.kind &&
  row.kid === other.kid;

const bytesOf = ({ row, content }: Pick<GroupItem, 'row' | 'content'>): number =>
  row.length + (content === null ? 0 : content.facts.length + content.evidence.length);

/** Divides items into groups with records that are small enough, in their order. All of a group are of the same millisecond. */
export function groupsOf<Item extends { readonly item: GroupItem; readonly issuedAtMs: number }>(
  items: readonly Item[],
): Item[][] {
  const groups: Item[][] = [];
  let bytes = 0;
  for (const one of items) {
    const last = groups.at(-1);
    bytes += bytesOf(one.item);
    if (
      last !== undefined &&
      last.length < RECEIPT_LIMITS.groupReceiptsMax &&
      last[0]?.issuedAtMs === one.issuedAtMs &&
      bytes <= RECEIPT_LIMITS.groupBytesMax
    )
      last.push(one);
    else {
      groups.push([one]);
      bytes = bytesOf(one.item);
    }
  }
  return groups;
}

/** Texts of which each is kept once. */
class Texts {
  readonly list: string[] = [];
  readonly #places = new Map<string, number>();
  #last = '';
  #lastPlace = -1;

  placeOf(text: string): number {
    // Most are equal to the one before, and comparing them is faster than hashing one.
    if (text !== this.#last || this.#lastPlace < 0) {
      this.#last = text;
      this.#lastPlace = this.#placeOf(text);
    }
    return this.#lastPlace;
  }

  #placeOf(text: string): number {
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    this.#places.set(text, this.list.length);
    return this.list.push(text) - 1;
  }
}

/** Returns the record of a group, compressed here. */
export function encodeGroup(group: readonly GroupItem[]): Buffer {
  const [head, shared] = partsOf(group);
  return Buffer.concat([...head, deflateRawSync(shared, FAST)]);
}

/** Returns the record of a group, compressed on another thread: that takes as long as the rest. */
export async function encodeGroupLater(group: readonly GroupItem[]): Promise<Buffer> {
  const [head, shared] = partsOf(group);
  return Buffer.concat([...head, await deflateLater(shared, FAST)]);
}

/** Returns the first bytes of a record, and the text that follows them compressed. */
function partsOf(group: readonly GroupItem[]): readonly [head: readonly Buffer[], shared: string] {
  const [rows, facts, evidence] = [new Texts(), new Texts(), new Texts()];
  const shared: Shared = {
    rows: rows.list,
    facts: facts.list,
    evidence: evidence.list,
    items: group.map(({ id, row, content }) =>
      content === null
        ? [id, rows.placeOf(row), null, null, null, null]
        : [
            id,
            rows.placeOf(row),
            facts.placeOf(content.facts),
            evidence.placeOf(content.evidence),
            content.subject,
            content.labels,
          ],
    ),
  };
  const count = Buffer.alloc(COUNT_BYTES);
  count.writeUInt16BE(group.length);
  return [[count, ...group.map(({ block }) => block)], JSON.stringify(shared)];
}

function sharedOf(record: Buffer, count: number): Shared {
  const text = inflateRawSync(record.subarray(COUNT_BYTES + count * BLOCK_BYTES), {
    maxOutputLength: RECEIPT_LIMITS.evidenceBytesMax,
  }).toString('utf8');
  return JSON.parse(text) as Shared;
}

/** Returns the items of a record. Throws if it is damaged. */
export function decodeGroup(record: Buffer): GroupItem[] {
  const count = record.readUInt16BE(0);
  const { rows, facts, evidence, items } = sharedOf(record, count);
  const text = (texts: readonly string[], place: number): string => {
    const found = texts[place];
    if (found === undefined) throw new Error('a text is missing');
    return found;
  };
  return items.map(([id, row, ofFacts, ofEvidence, subject, labels], at) => {
    const from = COUNT_BYTES + at * BLOCK_BYTES;
    return {
      id,
      row: text(rows, row),
      content:
        ofFacts === null || ofEvidence === null || subject === null
          ? null
          : { facts: text(facts, ofFacts), evidence: text(evidence, ofEvidence), subject, labels },
      block: Buffer.from(record.subarray(from, from + BLOCK_BYTES)),
    };
  });
}

const hexAt = (block: Buffer, at: number, bytes: number): string => block.toString('hex', at, at + bytes);

/**
 * Returns a receipt of a group as it is stored alone.
 *
 * @param storedBytes - its share of the record
 */
export function foundItem({ id, row, content, block }: GroupItem, storedBytes: number): FoundItem {
  const { parts, erasedAtMs = null, ...facts } = JSON.parse(row) as RowFacts;
  const stored: StoredReceipt = {
    id,
    ...facts,
    sha256: hexAt(block, SHA256_AT, HASH_BYTES),
    signature: block.toString('base64url', SIGNATURE_AT, REQUEST_AT),
    erasedAtMs,
    storedBytes: content === null ? 0 : storedBytes,
    parts: content?.labels == null ? parts : { ...parts, labels: content.labels },
  };
  if (content === null) return { stored, content: null };
  const receipt = {
    ...(JSON.parse(content.facts) as CommonFacts),
    id,
    subject: content.subject,
    requestSha256: hexAt(block, REQUEST_AT, HASH_BYTES),
    answerSha256: hexAt(block, ANSWER_AT, HASH_BYTES),
    evidenceSha256: hexAt(block, EVIDENCE_AT, HASH_BYTES),
    salt: hexAt(block, SALT_AT, SALT_BYTES),
  };
  return { stored, content: { receipt, evidence: JSON.parse(content.evidence) as object } };
}

/** Returns an item without its content: its hash and its signature stay, and neither says what was asked. */
export function erasedItem({ id, row, block }: GroupItem, erasedAtMs: number): GroupItem {
  const facts = JSON.parse(row) as RowFacts;
  const kept = Buffer.alloc(BLOCK_BYTES);
  block.copy(kept, 0, 0, REQUEST_AT);
  return { id, row: JSON.stringify({ ...facts, erasedAtMs, parts: {} }), content: null, block: kept };
}
