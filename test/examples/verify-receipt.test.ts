/** The Python script of examples/verify-receipt over genuine and forged receipts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { canonicalSha256 } from '../../src/receipts/canonical.ts';
import { receiptBytes } from '../../src/receipts/receipt.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { type ProvedReceipt, provedReceipt } from '../receipts/proved.ts';
import { findPython } from '../setup/python.ts';
import { spawnSync } from '../support/child-process.ts';

const python = findPython();
const hasEd25519 =
  python !== null &&
  spawnSync(python.path, ['-c', 'import cryptography'], { env: { ...process.env, ...python.env } }).status ===
    0;

describe.skipIf(!hasEd25519)('examples/verify-receipt', () => {
  let proved: ProvedReceipt;
  let folder: TempFolder;

  beforeAll(async () => {
    proved = await provedReceipt();
    folder = tempFolder();
    return () => folder.remove();
  });

  function verify(files: {
    /** Text of the file with the receipt. */
    readonly response?: string;
    readonly jws?: string;
    readonly jwks?: unknown;
    readonly proof?: string;
    readonly logKey?: string;
  }) {
    const { jws, jwks, proof, logKey } = { ...proved, ...files };
    const { response = JSON.stringify({ success: true, data: { receipt: { jws } } }) } = files;
    const file = (name: string, text: string): string => {
      const path = join(folder.path, name);
      writeFileSync(path, text);
      return path;
    };
    const args = [
      join(projectRoot, 'examples', 'verify-receipt', 'verify.py'),
      file('response.json', response),
      file('jwks.json', JSON.stringify(jwks)),
      ...(proof === '' ? [] : [file('receipt.tlog-proof', proof), logKey]),
    ];
    const { status, stdout, stderr } = spawnSync(python?.path ?? '', args, {
      encoding: 'utf8',
      env: { ...process.env, ...python?.env },
    });
    return { status, text: stdout + stderr };
  }

  it('accepts a genuine receipt and its proof', () => {
    const { status, text } = verify({});
    expect([status, text]).toEqual([
      0,
      expect.stringContaining('entry 300 of 700 in log.example/assay\nvalid'),
    ]);
    expect(text).toContain('subject: ["eip155:1:0x098B716B8Aaf21512996dC57EB0615e2383E2f96"]');
    expect(verify({ proof: '' })).toEqual({ status: 0, text: expect.stringMatching(/\nvalid\n$/) });
  });

  it.each([
    ['an empty file', ''],
    ['an error of the API', '{"error":"The API key is invalid or was revoked."}'],
    ['a list', '[]'],
    ['a JWS of two parts', '{"jws":"a.b"}'],
  ])('says in one sentence that %s is not valid', (_, response) => {
    const { status, text } = verify({ response });
    expect([status, text]).toEqual([1, expect.stringMatching(/^NOT valid: [^\n]+\n$/)]);
  });

  it('has at most 60 lines', () => {
    const text = readFileSync(join(projectRoot, 'examples', 'verify-receipt', 'verify.py'), 'utf8');
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(60);
  });

  it('compares the answer in the file with the one that was signed', async () => {
    const answer = {
      verdict: 'danger',
      numbers: [
        0, -0, 1, 100, -7.5, 1e-6, 1e-7, 1.5e-7, 1e20, 1e21, 1.25e22, 402393681778563700, 5e-324, 0.1,
      ],
      names: { '\ufb33': 1, '😀': 'é\u2028\u000f"\\', '\r': [true, false, null] },
    };
    const { sign, receipt } = proved;
    const jws = await sign({ ...receipt, answerSha256: canonicalSha256(answer) });
    const response = (of: object): string =>
      JSON.stringify({ success: true, data: { ...of, screeningId: 'x', receipt: { jws } } });
    expect(verify({ response: response(answer), proof: '' })).toEqual({
      status: 0,
      text: expect.stringContaining('the answer in the file is the one that was signed'),
    });
    for (const [text, problem] of [
      [response({ ...answer, verdict: 'safe' }), 'is not the one that was signed'],
      // As if it were a line with its proof, or a record of a receipt.
      [response({ ...answer, verdict: 'safe', line: 0, path: [] }), 'is not the one that was signed'],
      [
        response({ ...answer, verdict: 'safe', evidence: {}, issuedTo: 'x' }),
        'is not the one that was signed',
      ],
      [response(answer).replace('"verdict"', '"verdict":"safe","verdict"'), 'given twice'],
      [response(answer).replace('[0,', '[NaN,'), 'NaN is no number'],
    ] as const)
      expect([text, verify({ response: text, proof: '' })]).toEqual([
        text,
        { status: 1, text: expect.stringContaining(problem) },
      ]);
  });

  it('refuses what is forged', async () => {
    const [head, , tail] = proved.jws.split('.');
    const cleared = receiptBytes({ ...proved.receipt, score: 0, sanctioned: false }).toString('base64url');
    const other = await proved.sign({ ...proved.receipt, salt: '11'.repeat(16) });
    const stranger = await provedReceipt();
    const [key] = proved.jwks.keys;
    const { issuedAt } = proved.receipt;
    for (const [name, files, problem] of [
      ['changed', { jws: `${head}.${cleared}.${tail}` }, 'the signature'],
      ['another issuer', { jwks: stranger.jwks }, 'no key of the JWKS'],
      ['a retired key', { jwks: { keys: [{ ...key, exp: issuedAt - 1 }] } }, 'not in use'],
      ['a later key', { jwks: { keys: [{ ...key, iat: issuedAt + 1 }] } }, 'not in use'],
      ['not in the log', { jws: other }, 'not in the log'],
      ['another log', { logKey: stranger.logKey }, 'not signed by the log'],
      ['another position', { proof: proved.proof.replace('index 300', 'index 301') }, 'not in the log'],
      ['a larger log', { proof: proved.proof.replace('\n700\n', '\n701\n') }, 'not signed by the log'],
      ['a short proof', { proof: proved.proof.replace(/\n[^\n]+\n\n/, '\n\n') }, 'does not fit'],
      ['a long proof', { proof: proved.proof.replace(/(\n[^\n]+)\n\n/, '$1$1\n\n') }, 'does not fit'],
      ['no position', { proof: proved.proof.replace('index 300', 'index -1') }, 'does not fit'],
    ] as const)
      expect([name, verify(files)]).toEqual([name, { status: 1, text: expect.stringContaining(problem) }]);
  });
});
