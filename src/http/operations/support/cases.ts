/** Parts of the operations of cases. Every id is looked up together with the account of the client. */
import { isPersonId } from '../../../accounts/people-records.ts';
import type { CaseClient } from '../../../cases/service.ts';
import type { Written } from '../../../cases/store.ts';
import { accountOf, type Call, principalOf, REPLAYED, type Services } from '../../operation.ts';
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText } from '../../schemas/fields.ts';
import { logOnce } from './repeats.ts';
import { kindsOf } from './saved-screenings.ts';

/** Columns of all operations of cases. */
export const CASES = {
  tag: 'Cases',
  permission: 'monitoring',
  principal: 'session or key',
  rateClass: 'monitoring',
} as const;

export const NO_CASE = {
  404: { description: 'The account has no case of this id.', schema: ErrorBody },
} as const;

export const casePath = { id: idText('Id of a case of the account.') };

/**
 * Returns the client of a request. Keys that a person with a session created are that person, and keys that a key created are the same
 * person as that key: otherwise one person could approve an own decision with a second key.
 *
 * The first person of an account has its id (people-store.ts), also as the creator of keys.
 */
export function clientOf({ access }: Services, call: Call): CaseClient {
  const principal = principalOf(call);
  const accountId = accountOf(principal);
  const { who } = principal.actor;
  const savedKinds = kindsOf(call);
  let origin = principal.key;
  for (let creator = origin; creator !== null; creator = access.keys.get(creator.createdBy ?? ''))
    origin = creator;
  if (origin === null) return { accountId, savedKinds, who, identity: `account ${who}` };
  const { id, createdBy } = origin;
  if (createdBy === 'session') return { accountId, savedKinds, who, identity: `account ${accountId}` };
  const identity = isPersonId(createdBy) ? `account ${createdBy}` : `key ${id}`;
  return { accountId, savedKinds, who, identity };
}

/**
 * Logs a durable change in the audit log, and returns its response. If the log could not be written after the first of two equal
 * requests, the second one writes it.
 */
export async function loggedAnswer(
  { access }: Services,
  call: Call,
  action: 'case.create' | 'case.change' | 'case.event' | 'case.file',
  written: Written,
): Promise<Uint8Array> {
  const principal = principalOf(call);
  const { caseId: subject, detail, isRepeated } = written;
  if (detail !== null)
    await logOnce(
      access.audit(),
      { ...principal.actor, action, accountId: accountOf(principal), subject, detail },
      isRepeated,
    );
  if (isRepeated) call.lines += REPLAYED;
  return Buffer.from(written.answer);
}

/**
 * Returns the header lines of a download, beside `nosniff` of all responses: nothing in it is shown or run, and no cache stores it.
 *
 * @param name - name of the file, without control characters
 */
export function attachmentLines(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9._ -]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `\r\nContent-Disposition: attachment; filename="${plain}"; filename*=UTF-8''${encoded}\r\nContent-Security-Policy: default-src 'none'; sandbox\r\nCache-Control: private, no-store, no-transform`;
}
