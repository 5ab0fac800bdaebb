/** Parts of the operations of people. Every id is looked up together with the account of the session. */
import { ErrorBody } from '../../schemas/envelopes.ts';
import { idText } from '../../schemas/fields.ts';

/** Columns of the operations that manage the people of an account. */
export const PEOPLE = { tag: 'People', principal: 'session', role: 'owner', rateClass: 'keys' } as const;

/** Columns of the operations on one's own person: every role may call them. */
export const OWN = { tag: 'Account', principal: 'session', role: 'auditor', rateClass: 'keys' } as const;

export const personPath = { id: idText('Id of a person of the account, or of an invitation to it.') };

export const NO_PERSON = {
  404: { description: 'The account has no person or invitation of this id.', schema: ErrorBody },
} as const;
