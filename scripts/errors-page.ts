/** Writes docs/reference/errors.md from the table of error codes: `npm run readme`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ERRORS, type ErrorKind } from '../src/base/errors.ts';
import { projectRoot } from '../src/base/paths.ts';

/** Path of the generated page, relative to the project. */
export const ERRORS_PAGE = 'docs/reference/errors.md';

const CODES: readonly (readonly [string, ErrorKind])[] = Object.entries(ERRORS);

function table(scope: ErrorKind['scope']): string {
  const isApi = scope === 'api';
  const rows = CODES.filter(([, kind]) => kind.scope === scope).map(
    ([code, { status, isRetryable, meaning, action }]) => {
      const cells = [
        `\`${code}\``,
        ...(isApi ? [String(status)] : []),
        isRetryable ? 'yes' : 'no',
        meaning,
        action,
      ];
      return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
    },
  );
  const columns = ['Code', ...(isApi ? ['Status'] : []), 'Retry', 'Meaning', 'What to do'];
  return [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`, ...rows].join('\n');
}

/** Returns the text of the page. */
export const errorsPage = (): string => `# Errors

<!-- Generated from src/base/errors.ts by \`npm run readme\`. -->

An error response has a JSON body and names its code in the header \`X-Error-Code\`:

\`\`\`http
HTTP/1.1 400 Bad Request
X-Request-Id: 5f1c0e2ab7d94c33-1k
X-Error-Code: INVALID_REQUEST

{"error":"limit: must be a whole number from 1 to 200."}
\`\`\`

A client that sends \`Accept: application/problem+json\` receives problem details (RFC 9457) with the members \`code\`,
\`detail\`, \`instance\` and, if one field caused the error, \`field\`. Codes are stable; messages may change.

An error is never charged, and the quota that the request took is returned. Requests marked with "yes" under *Retry* may
succeed later without a change; if the response has a \`Retry-After\` header, wait for that many seconds.

## Codes in responses

${table('api')}

## Codes in logs and on the command line

These codes concern the operator. If a fault of the server occurs while a request is answered, the client receives
\`INTERNAL\` with status 500, and the log contains the code, the details and the request id.

${table('server')}
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(projectRoot, ERRORS_PAGE), errorsPage());
}
