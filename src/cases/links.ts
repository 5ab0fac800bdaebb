/** Links of cases: validates what a client sends, and reads the records of the service that are linked. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { parseChainId } from '../chains/registry.ts';
import { CASE_LIMITS } from './limits.ts';
import type { CaseLink, LinkedAnswer, LinkType, SavedAnswerKind } from './records.ts';
import type { CaseClient, LinkDraft } from './service.ts';
import { refuse, requireLine } from './texts.ts';
import { traceView } from './trace-view.ts';

/** A record of the service, with the address that it is about. */
export interface LinkedRecord {
  /** JSON text. */
  readonly answer: string;
  /** Version of the data of the answer; null if it has none. */
  readonly dataVersion: string | null;
  readonly address: string;
  readonly chain: string;
}

/** Reads records of an account. Null for an id that the account does not have. */
export interface LinkedRecords {
  alert(accountId: string, id: string): LinkedRecord | null;
  wallet(accountId: string, id: string): LinkedRecord | null;
  /** A saved screening or KYT answer of one of the `kinds`. */
  screening(accountId: string, id: string, kinds: readonly SavedAnswerKind[]): LinkedRecord | null;
}

/** A validated link, before its event has a number. */
export interface PreparedLink {
  readonly link: Omit<CaseLink, 'event'>;
  /** JSON text of the answer that is stored; null if missing. */
  readonly answer: string | null;
}

/** Types of records that the service reads by id. SCREENING may have an answer instead. */
const READERS = { ALERT: 'alert', WALLET: 'wallet', SCREENING: 'screening' } as const;

/** Field that each type requires. SCREENING without an id requires an answer. */
const REQUIRED: Readonly<Record<LinkType, 'id' | 'address' | 'name' | 'answer'>> = {
  ADDRESS: 'address',
  TRANSACTION: 'id',
  WALLET: 'id',
  ALERT: 'id',
  SCREENING: 'answer',
  TRACE: 'address',
  NAME: 'name',
  RECEIPT: 'id',
};

function linkedAnswer(
  text: string,
  { origin, dataVersion }: Pick<LinkedAnswer, 'origin' | 'dataVersion'>,
  field: string,
) {
  const bytes = Buffer.byteLength(text);
  if (bytes > CASE_LIMITS.linkedAnswerBytesMax)
    throw refuse(
      `${field}.answer`,
      `has ${bytes} bytes; the maximum is ${CASE_LIMITS.linkedAnswerBytesMax}.`,
    );
  const sha256 = createHash('sha256').update(text).digest('hex');
  const stored: LinkedAnswer = { origin, sha256, bytes, crc32: crc32(text), dataVersion };
  return { text, stored };
}

/** Returns the answer that a client sent. */
function clientAnswer(answer: NonNullable<LinkDraft['answer']>, field: string) {
  const { dataVersion: version } = answer;
  const isVersion = typeof version === 'string' && version.length <= CASE_LIMITS.dataVersionCharsMax;
  const dataVersion = isVersion ? version : null;
  return linkedAnswer(JSON.stringify(answer), { origin: 'CLIENT', dataVersion }, field);
}

/** The client that adds a link. */
type Linker = Pick<CaseClient, 'accountId' | 'savedKinds'>;

/**
 * Returns the linked record that the service has. A link copies a saved answer into the case, so it needs the permission to read the answer.
 *
 * @throws NOT_FOUND if the client can read no such record; FORBIDDEN if it can read no saved answers
 */
function serviceRecord(
  { accountId, savedKinds }: Linker,
  { type, id = '', answer }: LinkDraft & { readonly type: keyof typeof READERS },
  field: string,
  records: LinkedRecords,
) {
  if (answer !== undefined)
    throw refuse(
      `${field}.answer`,
      `must not be given for ${type}${type === 'SCREENING' ? ' with an id' : ''}: the service stores the record itself.`,
    );
  if (type === 'SCREENING' && savedKinds.length === 0)
    throw new AssayError(
      'FORBIDDEN',
      `${field}.id: a link to a saved screening needs the permission 'screening' or 'kyt'.`,
      { field: `${field}.id` },
    );
  const record = records[READERS[type]](accountId, id, savedKinds);
  if (record === null)
    throw new AssayError(
      'NOT_FOUND',
      `${field}.id: there is no ${type === 'SCREENING' ? 'saved screening' : type.toLowerCase()} '${id.slice(0, 64)}'.`,
      { field: `${field}.id` },
    );
  const { dataVersion } = record;
  const { text, stored } = linkedAnswer(record.answer, { origin: 'SERVICE', dataVersion }, field);
  const chain = parseChainId(record.chain);
  const { canonical } = parseAddress(chain, record.address);
  return { link: { address: canonical, chain, answer: stored }, answer: text };
}

const isRead = (draft: LinkDraft): draft is LinkDraft & { readonly type: keyof typeof READERS } =>
  draft.type === 'ALERT' || draft.type === 'WALLET' || (draft.type === 'SCREENING' && draft.id !== undefined);

/** Returns the address and chain that a link is about: those that are given, else those of the answer of a screening. */
function subjectOf({ type, address, chain, answer }: LinkDraft): { address?: unknown; chain?: unknown } {
  if (address !== undefined || type !== 'SCREENING') return { address, chain };
  return { address: answer?.address, chain: answer?.chain };
}

/**
 * Validates a link and reads the linked record.
 *
 * @param field - place of the link in the request, such as `links[0]`
 * @throws INVALID_REQUEST, UNKNOWN_CHAIN, INVALID_ADDRESS; NOT_FOUND if the client can read no such alert, wallet or saved screening;
 * FORBIDDEN if it can read no saved screenings
 */
export function prepareLink(
  client: Linker,
  draft: LinkDraft,
  field: string,
  records: LinkedRecords,
): PreparedLink {
  const { type, id = null, name = null, label = null } = draft;
  const required = REQUIRED[type];
  if (draft[required] === undefined && !(type === 'SCREENING' && id !== null))
    throw refuse(
      `${field}.${required}`,
      type === 'SCREENING'
        ? 'is required for SCREENING without the `id` of a saved screening.'
        : `is required for ${type}.`,
    );
  for (const [key, text] of Object.entries({ id, name, label }))
    if (text !== null) requireLine(`${field}.${key}`, text);
  if (draft.trace !== undefined && type !== 'TRACE')
    throw refuse(`${field}.trace`, `must not be given for ${type}.`);
  const base = { type, id, name, label, trace: null };
  if (isRead(draft)) {
    const { link, answer } = serviceRecord(client, draft, field, records);
    return { link: { ...base, ...link }, answer };
  }
  const { address, chain } = subjectOf(draft);
  const chainId = typeof chain === 'string' ? parseChainId(chain, `${field}.chain`) : null;
  if (type === 'TRANSACTION' && chainId === null)
    throw refuse(`${field}.chain`, 'is required for TRANSACTION.');
  if (typeof address === 'string' && chainId === null)
    throw refuse(`${field}.chain`, 'is required with an address.');
  const canonical =
    typeof address === 'string' && chainId !== null
      ? parseAddress(chainId, address, `${field}.address`).canonical
      : null;
  const answer = draft.answer === undefined ? null : clientAnswer(draft.answer, field);
  if (type === 'SCREENING' && answer?.stored.dataVersion === null)
    throw refuse(`${field}.answer.dataVersion`, 'is required: `data` of a screening or KYT response has it.');
  const trace =
    draft.trace === undefined || chainId === null ? null : traceView(draft.trace, chainId, `${field}.trace`);
  return {
    link: { ...base, address: canonical, chain: chainId, trace, answer: answer?.stored ?? null },
    answer: answer?.text ?? null,
  };
}
