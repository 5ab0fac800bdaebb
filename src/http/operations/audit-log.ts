/** `GET /audit`. */
import { sequenceOfCursor } from '../../base/paging.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { pageQuery } from '../schemas/fields.ts';
import { AuditPage } from '../schemas/people.ts';
import { pageEnd } from './support/paging.ts';
import { PEOPLE } from './support/people.ts';

export const auditLog = operation({
  ...PEOPLE,
  role: 'auditor',
  id: 'auditLog',
  sdk: 'people.audit',
  method: 'GET',
  path: '/audit',
  query: pageQuery(HTTP_LIMITS.auditPageMax),
  response: AuditPage,
  summary: 'Audit log of the account',
  description:
    'Who changed what, when and from where, newest first. The `id` of an entry is its number in the account.',
  async run({ services: { access }, call, query: { limit, cursor } }) {
    const before = cursor === undefined ? null : sequenceOfCursor(cursor);
    const page = access.audit().page(accountOf(principalOf(call)), limit, before);
    return {
      entries: page.entries.map(({ number, at, who, from, action, subject, detail }) => ({
        ...{ id: String(number), at, who, from, action, subject, detail },
      })),
      ...pageEnd({ limit }, { nextCursor: page.next === null ? null : String(page.next) }),
    };
  },
});
