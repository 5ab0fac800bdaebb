/** Links of cases: validates what a client sends, and reads the records of the service that are linked. */
import { createHash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { parseChainId } from '../chains/registry.ts';
import { CASE_LIMITS } from './limits.ts';
import type { CaseLink, LinkedAnswer, LinkType } from './records.ts';
import type { LinkDraft } from './service.ts';
import { refuse, requireLine } from './texts.ts';

/** A record of the service, with the address that it is about. */
export interface LinkedRecord {
  readonly answer: object;
  readonly address: string;
  readonly chain: string;
}

/** Reads records of an account. Null for an id that the account does not have. */
export interface LinkedRecords {
  alert(accountId: string, id: string): LinkedRecord | null;
  wallet(accountId: string, id: string): LinkedRecord | null;
}

/** A validated link, before its event has a number. */
export interface PreparedLink {
  readonly link: Omit<CaseLink, 'event'>;
  /** JSON text of the answer that is stored; null if there is none. */
  readonly answer: string | null;
}

/** Field that each type requires. */
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

const DATA_VERSION_CHARS_MAX = 200;

function linkedAnswer(answer: object, origin: LinkedAnswer['origin'], field: string) {
  const text = JSON.stringify(answer);
  const bytes = Buffer.byteLength(text);
  if (bytes > CASE_LIMITS.linkedAnswerBytesMax)
    throw refuse(
      `${field}.answer`,
      `has ${bytes} bytes; the maximum is ${CASE_LIMITS.linkedAnswerBytesMax}.`,
    );
  const { dataVersion } = answer as { readonly dataVersion?: unknown };
  const isVersion = typeof dataVersion === 'string' && dataVersion.length <= DATA_VERSION_CHARS_MAX;
  const stored: LinkedAnswer = {
    origin,
    sha256: createHash('sha256').update(text).digest('hex'),
    bytes,
    dataVersion: isVersion ? dataVersion : null,
  };
  return { text, stored };
}

/** Returns the address and chain that a link is about: those that are given, else those of the answer of a screening. */
function subjectOf({ type, address, chain, answer }: LinkDraft): { address?: unknown; chain?: unknown } {
  if (address !== undefined || type !== 'SCREENING') return { address, chain };
  return { address: answer?.address, chain: answer?.chain };
}

/**
 * Validates a link and reads the linked record.
 *
 * @param field - place of the link in the request, such as `links[0]`
 * @throws INVALID_REQUEST, UNKNOWN_CHAIN, INVALID_ADDRESS; NOT_FOUND if the account has no such alert or wallet
 */
export function prepareLink(
  accountId: string,
  draft: LinkDraft,
  field: string,
  records: LinkedRecords,
): PreparedLink {
  const { type, id = null, name = null, label = null } = draft;
  const required = REQUIRED[type];
  if (draft[required] === undefined) throw refuse(`${field}.${required}`, `is required for ${type}.`);
  for (const [key, text] of Object.entries({ id, name, label }))
    if (text !== null) requireLine(`${field}.${key}`, text);
  const base = { type, id, name, label };
  if (type === 'ALERT' || type === 'WALLET') {
    if (draft.answer !== undefined)
      throw refuse(`${field}.answer`, `must not be given for ${type}: the service stores the record itself.`);
    const known = (type === 'ALERT' ? records.alert : records.wallet)(accountId, id ?? '');
    if (known === null)
      throw new AssayError(
        'NOT_FOUND',
        `${field}.id: there is no ${type.toLowerCase()} '${(id ?? '').slice(0, 64)}'.`,
        { field: `${field}.id` },
      );
    const chain = parseChainId(known.chain);
    const { canonical } = parseAddress(chain, known.address);
    const { text, stored } = linkedAnswer(known.answer, 'SERVICE', field);
    return { link: { ...base, address: canonical, chain, answer: stored }, answer: text };
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
  const answer = draft.answer === undefined ? null : linkedAnswer(draft.answer, 'CLIENT', field);
  if (type === 'SCREENING' && answer?.stored.dataVersion === null)
    throw refuse(`${field}.answer.dataVersion`, 'is required: `data` of a screening or KYT response has it.');
  return {
    link: { ...base, address: canonical, chain: chainId, answer: answer?.stored ?? null },
    answer: answer?.text ?? null,
  };
}
