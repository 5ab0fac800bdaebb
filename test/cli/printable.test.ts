import { openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorLine, printable } from '../../src/cli/context.ts';

describe('text for a terminal', () => {
  it('has no control characters from a file', () => {
    expect(printable('row\u001b[31m red\u0007\u009b2J \u202etxt.exe')).toBe(
      'row\\u001b[31m red\\u0007\\u009b2J \\u202etxt.exe',
    );
  });

  it('keeps line breaks, tabs and letters of every script', () => {
    expect(printable('a\n\tb Müller بشار 👍')).toBe('a\n\tb Müller بشار 👍');
  });

  it('is safe in errors that quote input', () => {
    expect(errorLine(new Error('Unexpected token \u001b[2J'))).not.toContain('\u001b');
  });
  it('names the file that the system refused, and why', () => {
    let error: unknown;
    try {
      openSync('/no\u001b/such, file', 'r');
    } catch (cause) {
      error = cause;
    }
    expect(errorLine(error)).toBe('assay: /no\\u001b/such, file: no such file or directory (ENOENT).\n');
  });
});
