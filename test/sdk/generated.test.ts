import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  documentPath,
  documentText,
  retriesPath,
  retriesText,
  typesFile,
  typesPath,
} from '../../scripts/sdk-types.ts';

describe('the files of the clients that are generated from the operations', () => {
  const remedy = 'run `npm run sdk:types`';

  it('has the document that this server answers', () => {
    expect(readFileSync(documentPath, 'utf8') === documentText(), remedy).toBe(true);
  });

  it('has types that were generated from that document and were not edited', () => {
    const text = readFileSync(typesPath, 'utf8');
    const types = text.split('\n').slice(3).join('\n');
    expect(text === typesFile(documentText(), types), remedy).toBe(true);
  });

  it('has the retries that the operations declare', () => {
    expect(readFileSync(retriesPath, 'utf8'), remedy).toBe(retriesText());
  });
});
