/** `GET /cases/{id}/export`. */
import { accountOf, operation, partsSource, principalOf } from '../operation.ts';
import { attachmentLines, CASES, casePath, NO_CASE } from './support/cases.ts';

const ZIP_TYPE = 'application/zip';

export const exportCase = operation({
  ...CASES,
  id: 'exportCase',
  sdk: 'cases.export',
  method: 'GET',
  path: '/cases/{id}/export',
  pathParameters: casePath,
  response: ZIP_TYPE,
  responseHeaders: ['Content-Disposition', 'Cache-Control', 'Content-Security-Policy'],
  statuses: NO_CASE,
  summary: 'Export a case',
  description:
    'A ZIP archive with the case, its events and links as JSON and CSV, a printable page, the stored answers, the files, and a manifest with the SHA-256 of each. The same version of a case gives the same bytes.',
  async file({ services, call, path }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    const { name, archive } = services.useCases.cases().export(accountId, path.id);
    await services.access
      .audit()
      .write({ ...principal.actor, action: 'case.export', accountId, subject: path.id, detail: name });
    call.lines += attachmentLines(name);
    return { status: 200, contentType: ZIP_TYPE, source: partsSource(archive.bytes, archive.parts()) };
  },
});
