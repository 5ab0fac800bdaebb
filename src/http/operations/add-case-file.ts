/** `POST /cases/{id}/files`. */
import { Type } from 'typebox';
import { FILE_TYPES } from '../../cases/file-types.ts';
import { CASE_LIMITS } from '../../cases/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { OneCaseFile } from '../schemas/cases.ts';
import { CASES, casePath, clientOf, loggedAnswer, NO_CASE } from './support/cases.ts';
import { repeatHeader, repeatKeyOf } from './support/repeats.ts';

export const addCaseFile = operation({
  ...CASES,
  id: 'addCaseFile',
  sdk: 'cases.addFile',
  method: 'POST',
  path: '/cases/{id}/files',
  pathParameters: casePath,
  query: {
    name: Type.String({
      minLength: 1,
      maxLength: CASE_LIMITS.fileNameCharsMax,
      description: 'Name of the file, without a path. Its ending, if it has one, must be that of its type.',
      examples: ['addresses.csv'],
    }),
  },
  header: repeatHeader,
  response: OneCaseFile,
  responseHeaders: ['Idempotency-Replayed'],
  statuses: NO_CASE,
  summary: 'Add a file to a case',
  description: `The body is the file, at most ${CASE_LIMITS.fileBytesMax} bytes; its content must be of the type that Content-Type declares. A case has at most ${CASE_LIMITS.filesMax} files, an account at most ${CASE_LIMITS.accountFileBytesMax} bytes of files. Files are stored as they are: archives are not unpacked, and nothing is rendered.`,
  upload: {
    types: FILE_TYPES,
    bytesMax: CASE_LIMITS.fileBytesMax,
    async open({ services, call, path, query, header }) {
      const contentType = call.exchange.header('content-type');
      const { name } = query;
      const file = { name, contentType };
      const upload = services.useCases.cases().receiveFile(clientOf(services, call), path.id, file);
      return {
        write: (bytes) => upload.write(bytes),
        end: async () =>
          loggedAnswer(
            services,
            call,
            'case.file',
            await upload.end((sha256) =>
              repeatKeyOf(call, accountOf(principalOf(call)), header['Idempotency-Key'], {
                name,
                contentType,
                sha256,
              }),
            ),
          ),
        abort: async () => upload.abort(),
      };
    },
  },
});
