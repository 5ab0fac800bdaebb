/** `GET /cases/{id}/files/{fileId}`. */
import { accountOf, operation, partsSource, principalOf } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';
import { attachmentLines, CASES, casePath } from './support/cases.ts';

export const caseFile = operation({
  ...CASES,
  id: 'caseFile',
  sdk: 'cases.file',
  method: 'GET',
  path: '/cases/{id}/files/{fileId}',
  pathParameters: { ...casePath, fileId: idText('Id of a file of the case.') },
  response: 'application/octet-stream',
  responseHeaders: ['Content-Disposition', 'Cache-Control', 'Content-Security-Policy'],
  statuses: {
    404: { description: 'The account has no such case, or the case no such file.', schema: ErrorBody },
  },
  summary: 'Content of a file of a case',
  description:
    'As a download, with the media type application/octet-stream: browsers neither show nor run it. The record of the file has its type.',
  async file({ services, call, path }) {
    const { file, bytes } = services.useCases
      .cases()
      .file(accountOf(principalOf(call)), path.id, path.fileId);
    call.lines += attachmentLines(file.name);
    return {
      status: 200,
      contentType: 'application/octet-stream',
      source: partsSource(bytes.length, [bytes]),
    };
  },
});
