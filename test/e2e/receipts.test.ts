/** Receipts of the built program: requested over HTTP, verified by another implementation and by the commands, replayed, rotated, erased. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyLine } from '../../sdk/typescript/src/receipt-proofs.ts';
import { verifyReceipt } from '../../sdk/typescript/src/receipts.ts';
import { canonicalJson } from '../../src/receipts/canonical.ts';
import { parseVkey } from '../../src/receipts/log/note.ts';
import { verifyProof } from '../../src/receipts/log/proof.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import { parseReceipt } from '../../src/receipts/receipt-schema.ts';
import { type CommandOutcome, runCommand } from '../cli/run-command.ts';
import { newWorld, type RunningServer, until, type World } from './program.ts';

const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const ORACLE = `/oracle/address/ETH/${LAZARUS}`;

type Json = Record<string, unknown>;
interface Receipted extends Json {
  readonly receipt: { readonly id: string; readonly jws: string; readonly expiresAt: string };
}

describe('receipts of the program', () => {
  let world: World;
  let server: RunningServer;
  let key: string;

  beforeAll(async () => {
    world = newWorld();
    server = await world.serve();
    key = server.firstKey;
  }, 240_000);
  afterAll(() => world.end());

  /**
   * Runs a command in this process, over the folder of the server: a process of its own takes half a second of processor time. The first
   * test runs the commands as processes.
   */
  const run = (args: readonly string[]): Promise<CommandOutcome> =>
    runCommand(join(world.folder, 'store'), args);

  async function call(method: string, path: string, body?: Json, token = key) {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as Json & { data: Receipted } };
  }
  const jwks = async (): Promise<JSONWebKeySet> =>
    (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
  const payloadOf = async (jws: string): Promise<Json> => {
    const { payload } = await compactVerify(jws, createLocalJWKSet(await jwks()), {
      algorithms: ['Ed25519'],
    });
    return JSON.parse(Buffer.from(payload).toString());
  };
  const sha256 = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');
  const file = (name: string, content: string): string => {
    const path = join(world.folder, name);
    writeFileSync(path, content);
    return path;
  };

  const cases: [string, string, string, Json | undefined, Json][] = [
    ['ORACLE', 'GET', `${ORACLE}?receipt=jws`, undefined, { chain: 'ETH', address: LAZARUS }],
    [
      'SANCTIONS',
      'GET',
      `/sanctions/check?chain=ETH&address=${LAZARUS}&receipt=jws`,
      undefined,
      { chain: 'ETH', address: LAZARUS },
    ],
    [
      'SCREENING',
      'POST',
      '/screening',
      { chain: 'ETH', address: LAZARUS, receipt: 'jws', save: true },
      { chain: 'ETH', address: LAZARUS },
    ],
    [
      'KYT',
      'POST',
      '/kyt',
      { chain: 'ETH', address: LAZARUS, receipt: 'jws' },
      { chain: 'ETH', address: LAZARUS },
    ],
  ];

  it.each(cases)(
    '%s: the signature, the request and the answer verify, and the replay is equal',
    async (kind, method, path, body, request) => {
      const { status, json } = await call(method, path, body);
      expect(status, JSON.stringify(json)).toBe(200);
      const { receipt, screeningId: _, ...answer } = json.data;
      const signed = await payloadOf(receipt.jws);
      expect(signed).toMatchObject({
        v: 1,
        id: receipt.id,
        kind,
        subject: ['eip155:1:0x098B716B8Aaf21512996dC57EB0615e2383E2f96'],
        sanctioned: true,
        requestSha256: sha256(request),
        answerSha256: sha256(answer),
        lines: null,
      });
      expect(signed.reasonCodes).toEqual(
        kind === 'SANCTIONS' ? expect.any(Array) : expect.arrayContaining(['SANCTIONED']),
      );
      expect(Number(signed.expiresAt) - Number(signed.issuedAt)).toBeLessThanOrEqual(900);
      expect(receipt.expiresAt).toBe(new Date(Number(signed.expiresAt) * 1000).toISOString());

      // As a client keeps it: parsed, and written again.
      const kept = file(`${kind}.json`, JSON.stringify(json, null, 2));
      const verified = await world.run(['receipt', 'verify', kept, '--json']);
      expect(verified.code, verified.err).toBe(0);
      expect(JSON.parse(verified.out)).toMatchObject({
        id: receipt.id,
        isAnswerEqual: true,
        isExpired: false,
      });

      const replayed = await world.run(['receipt', 'replay', receipt.id, '--json']);
      expect(replayed.code, replayed.err).toBe(0);
      expect(JSON.parse(replayed.out)).toEqual({
        id: receipt.id,
        isEqual: true,
        differences: [],
        isScored: true,
        otherVersion: null,
      });
    },
    60_000,
  );

  it('binds the day and the depth of a request: a verdict that is not the current one has no life', async () => {
    const asked = { chain: 'ETH', address: LAZARUS, receipt: 'jws' };
    for (const [path, more, facts, line] of [
      [
        '/screening',
        { asOf: '2015-01-01' },
        { sanctioned: false, asOf: '2015-01-01', narrowed: [] },
        'Result as of 2015-01-01: score 0, not sanctioned',
      ],
      ['/screening', { maxHops: 1 }, { asOf: null, narrowed: ['maxHops=1'] }, 'by default: maxHops=1.'],
      ['/kyt', { direction: 'in' }, { asOf: null, narrowed: ['direction=in'] }, 'by default: direction=in.'],
    ] as const) {
      const { status, json } = await call('POST', path, { ...asked, ...more });
      expect(status, JSON.stringify(json)).toBe(200);
      const { jws } = json.data.receipt;
      const signed = await payloadOf(jws);
      expect(signed).toMatchObject(facts);
      expect(signed.expiresAt).toBe(signed.issuedAt);
      const keys = (await jwks()) as unknown as Parameters<typeof verifyReceipt>[1];
      await expect(verifyReceipt(jws, keys)).rejects.toThrow('expired');
      expect(await verifyReceipt(jws, keys, { allowExpired: true })).toMatchObject(facts);
      const verified = await run(['receipt', 'verify', file('narrowed.jws', jws)]);
      expect([verified.code, verified.out]).toEqual([0, expect.stringContaining(line)]);
    }
    for (const more of [{ maxHops: 3 }, { maxHops: 5 }, { sections: ['entity'], limit: 1 }]) {
      const { json } = await call('POST', '/screening', { ...asked, ...more });
      const signed = await payloadOf(json.data.receipt.jws);
      expect(signed).toMatchObject({ asOf: null, narrowed: [] });
      expect(Number(signed.expiresAt) - Number(signed.issuedAt)).toBe(900);
    }
  }, 120_000);

  it('signs name screenings, whose envelope is their own', async () => {
    const body = { names: [{ name: 'Kim Jong Un' }] };
    const { status, json } = await call('POST', '/namescreen/bulk', { ...body, receipt: 'jws' });
    expect(status, JSON.stringify(json)).toBe(200);
    const { receipt, ignored: _, ...answer } = json as unknown as Receipted;
    expect(await payloadOf(receipt.jws)).toMatchObject({
      kind: 'NAMES',
      subject: [],
      score: null,
      sanctioned: null,
      requestSha256: sha256(body),
      answerSha256: sha256(answer),
    });
    expect((await run(['receipt', 'replay', receipt.id])).out).toContain('equal');
  }, 60_000);

  it('adds nothing to responses without a receipt', async () => {
    for (const path of [ORACLE, `${ORACLE}?receipt=none`]) {
      const { status, json } = await call('GET', path);
      expect(status).toBe(200);
      expect(json.data).not.toHaveProperty('receipt');
    }
  });

  it('refuses forms that it does not sign', async () => {
    for (const [method, path, body, message] of [
      ['GET', `${ORACLE}?receipt=eip712`, undefined, 'verifier: is missing'],
      ['POST', '/kyt', { chain: 'ETH', address: LAZARUS, receipt: 'eip712' }, 'verifier: is missing'],
      ['POST', '/kyt', { chain: 'ETH', address: LAZARUS, receipt: 'batch' }, 'receipt'],
      ['GET', `${ORACLE}?receipt=pgp`, undefined, 'receipt'],
    ] as const) {
      const { status, json } = await call(method, path, body);
      expect([status, JSON.stringify(json)]).toEqual([400, expect.stringContaining(message)]);
    }
  });

  it('signs all responses to a key that says so, unless a request says none', async () => {
    const { json } = await call('POST', '/keys', { name: 'signed', receipts: 'jws' });
    const { apiKey, key: record } = json.data as unknown as { apiKey: string; key: Json };
    expect(record.receipts).toBe('jws');
    expect((await call('GET', ORACLE, undefined, apiKey)).json.data.receipt.jws).toContain('.');
    expect(
      (await call('POST', '/kyt', { chain: 'ETH', address: LAZARUS }, apiKey)).json.data.receipt.jws,
    ).toContain('.');
    expect((await call('GET', `${ORACLE}?receipt=none`, undefined, apiKey)).json.data).not.toHaveProperty(
      'receipt',
    );
    const changed = await call('PATCH', `/keys/${record.id}`, { receipts: 'none' });
    expect(changed.json.data.key).toMatchObject({ receipts: 'none' });
    expect((await call('GET', ORACLE, undefined, apiKey)).json.data).not.toHaveProperty('receipt');
    for (const body of [{}, { permission: 'oracle' }, { enabled: true }])
      expect((await call('PATCH', `/keys/${record.id}`, body)).status).toBe(400);
  });

  it('returns a receipt with its evidence to its account only, and replays it from a file', async () => {
    const { json } = await call('POST', '/screening', { chain: 'ETH', address: LAZARUS, receipt: 'jws' });
    const { receipt } = json.data;
    const { json: one } = await call('GET', `/receipts/${receipt.id}`);
    expect(one.data).toMatchObject({
      id: receipt.id,
      jws: receipt.jws,
      kind: 'SCREENING',
      evidence: { kind: 'SCREENING' },
    });
    const other = (await run(['keys', 'create', '--name', 'x', '--account', 'other', '--json'])).out;
    expect((await call('GET', `/receipts/${receipt.id}`, undefined, JSON.parse(other).apiKey)).status).toBe(
      404,
    );
    expect((await call('GET', '/receipts/..%2f', undefined)).status).toBe(404);

    const keys = file('jwks.json', JSON.stringify(await jwks()));
    const whole = file('one.json', JSON.stringify(one));
    const equal = await run(['receipt', 'replay', whole, '--jwks', keys]);
    expect([equal.code, equal.out]).toEqual([0, expect.stringContaining('equal')]);

    const data = one.data as unknown as { evidence: Json; policy: Json & { weights: Json } };
    const altered = { ...one.data, evidence: { ...data.evidence, labels: [[]] } };
    const differs = await run([
      'receipt',
      'replay',
      file('altered.json', JSON.stringify(altered)),
      '--jwks',
      keys,
    ]);
    expect([differs.code, differs.out]).toEqual([1, expect.stringContaining('score: signed 100, replayed')]);
    expect(differs.out).toContain('evidenceSha256');

    const milder = { ...one.data, policy: { ...data.policy, version: 'other' } };
    const byPolicy = await run([
      'receipt',
      'replay',
      file('policy.json', JSON.stringify(milder)),
      '--jwks',
      keys,
    ]);
    expect([byPolicy.code, byPolicy.out]).toEqual([1, expect.stringContaining('policySha256')]);

    const broken = { ...one.data, evidence: { kind: 'SCREENING' } };
    const refused = await run([
      'receipt',
      'replay',
      file('broken.json', JSON.stringify(broken)),
      '--jwks',
      keys,
    ]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('cannot be scored')]);
  }, 120_000);

  it('says what is wrong with a file', async () => {
    const { json } = await call('GET', `${ORACLE}?receipt=jws`);
    const wrong = { ...json, data: { ...json.data, score: 0 } };
    const altered = await run(['receipt', 'verify', file('wrong.json', JSON.stringify(wrong))]);
    expect([altered.code, altered.out]).toEqual([1, expect.stringContaining('NOT the one that was signed')]);
    const [head, , tail] = json.data.receipt.jws.split('.');
    for (const [name, content, message] of [
      [
        'forged.jws',
        `${head}.${Buffer.from('{}').toString('base64url')}.${tail}`,
        'the signature is not valid',
      ],
      ['empty.json', '{}', 'has no receipt'],
      ['text', 'hello', 'three parts'],
      ['large', 'x'.repeat(5_000_000), 'is larger than'],
    ] as const) {
      const { code, err } = await run(['receipt', 'verify', file(name, content)]);
      expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    }
    expect((await run(['receipt', 'verify', join(world.folder, 'absent')])).code).toBe(1);
  }, 120_000);

  it('takes no forged answer or evidence for the record of a receipt', async () => {
    const { json } = await call('GET', `${ORACLE}?receipt=jws`);
    const { receipt, ...answer } = json.data;
    const other = (await call('GET', `/sanctions/check?chain=ETH&address=${LAZARUS}&receipt=jws`)).json.data;
    const { json: record } = await call('GET', `/receipts/${receipt.id}`);
    const forged = { ...answer, score: 0, sanctioned: false };
    const data = record.data as unknown as { evidence: Json; policy: Json };
    for (const [name, content, code, line] of [
      ['record', record.data, 0, 'are those of the receipt'],
      ['beside', { ...forged, jws: receipt.jws }, 1, 'The answer in the file is NOT'],
      ['both', { ...other, jws: receipt.jws }, 1, `SANCTIONS receipt ${other.receipt.id}`],
      ['mixed', { ...record.data, sanctioned: false }, 1, 'The answer in the file is NOT'],
      [
        'evidence',
        { ...data, evidence: { ...data.evidence, labels: [[]] } },
        1,
        'is NOT that of the receipt',
      ],
      ['policy', { ...data, policy: { ...data.policy, version: 'other' } }, 1, 'is NOT that of the receipt'],
      ['id', { ...data, id: '01kaq2z8g00000000000000000' }, 1, 'is NOT that of the receipt'],
      ['alone', { receipt }, 0, 'The signature is valid'],
    ] as const) {
      const path = file(`${name}-data.json`, JSON.stringify({ success: true, data: content }));
      const verified = await run(['receipt', 'verify', path]);
      expect([name, verified.code, verified.out]).toEqual([name, code, expect.stringContaining(line)]);
    }
    // Another reader of the file sees that it is safe.
    const twice = JSON.stringify(json).replace('"verdict":', '"verdict":"safe","verdict":');
    const ambiguous = await run(['receipt', 'verify', file('twice.json', twice)]);
    expect([ambiguous.code, ambiguous.err]).toEqual([1, expect.stringContaining('"verdict" twice')]);
    for (const [asked, code, line] of [
      [{ chain: 'ETH', address: LAZARUS, receipt: 'jws' }, 0, 'is of the request in its file'],
      [{ chain: 'BSC', address: LAZARUS }, 1, 'is NOT of the request'],
    ] as const) {
      const request = file('request.json', JSON.stringify(asked));
      const { out, ...outcome } = await run([
        'receipt',
        'verify',
        '--request',
        request,
        file('whole.json', JSON.stringify(json)),
      ]);
      expect([outcome.code, out]).toEqual([code, expect.stringContaining(line)]);
    }
    const shown = await run(['receipt', 'show', receipt.id]);
    const verified = await run(['receipt', 'verify', file('shown.json', shown.out)]);
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('are those of the receipt')]);
  }, 120_000);

  it('has every receipt in the transparency log', async () => {
    const vkey = (await run(['log', 'key'])).out.trim();
    const { jws, id } = (await call('GET', `${ORACLE}?receipt=jws`)).json.data.receipt;
    let proof = '';
    await until(async () => {
      const response = await fetch(`${server.url}/api/v1/receipts/${id}/proof`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      proof = await response.text();
      if (response.status === 200) return true;
      // Never "the log has no receipt of this id": the receipt was appended before its answer.
      expect(proof).toContain('no published checkpoint covers it yet');
      return false;
    });
    const log = parseVkey(vkey, 'key', 'log');
    const hash = receiptHash(parseReceipt(await payloadOf(jws)));
    expect(verifyProof(proof, hash, log).size).toBeGreaterThan(0);
    expect(() => verifyProof(proof, Buffer.alloc(32), log)).toThrow('does not show');
  }, 60_000);

  it('binds answers of the oracle by batches, whose proofs are fetched later', async () => {
    const { json } = await call('GET', `${ORACLE}?receipt=batch`);
    const { batch, ...answer } = json.data as unknown as {
      batch: { id: string; line: number; salt: string };
    };
    expect(answer).toMatchObject({ verdict: 'danger' });
    const path = `/receipts/${batch.id}/lines/${batch.line}`;
    await until(async () => (await call('GET', path)).status === 200);
    const { json: proof } = await call('GET', path);
    const data = proof.data as unknown as { receipt: { jws: string }; line: number; path: string[] };
    const signed = await payloadOf(data.receipt.jws);
    expect(signed).toMatchObject({ kind: 'BATCH', id: batch.id, subject: [], verdict: null });
    const receipt = signed as unknown as Parameters<typeof verifyLine>[0];
    await verifyLine(receipt, { ...data, salt: batch.salt, text: JSON.stringify(answer) });
    const forged = JSON.stringify({ ...answer, verdict: 'safe' });
    await expect(verifyLine(receipt, { ...data, salt: batch.salt, text: forged })).rejects.toThrow(
      'not bind',
    );

    const proofFile = file('line.json', JSON.stringify(proof));
    const answerFile = file('answer.json', JSON.stringify(json, null, 1));
    const verified = await run(['receipt', 'verify', proofFile, '--answer', answerFile]);
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('binds the line')]);
    const changed = file('changed.json', JSON.stringify({ data: { ...json.data, verdict: 'safe' } }));
    const refused = await run(['receipt', 'verify', proofFile, '--answer', changed]);
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('NOT bind')]);
    for (const wrong of [`/receipts/${batch.id}/lines/999999`, `/receipts/${batch.id}/lines/x`])
      expect((await call('GET', wrong)).status).toBeGreaterThanOrEqual(400);
    expect((await call('GET', `/receipts/${batch.id}/lines/x`)).json).toMatchObject({
      error: 'line: must be in the documented format: Number of the line, from 0, such as 0.',
    });
  }, 120_000);

  it('binds the result of a bulk job, and each of its lines', async () => {
    const response = await fetch(`${server.url}/api/v1/jobs?kind=sanctions&chain=ETH&receipt=jws`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/x-ndjson' },
      body: [LAZARUS, 'nonsense', '0x00000000000000000000000000000000deadc0de']
        .map((line) => `${line}\n`)
        .join(''),
    });
    interface Job {
      readonly id: string;
      readonly state: string;
      readonly receipt: { readonly id: string | null; readonly lines: { readonly count: number } | null };
    }
    const jobOf = (json: unknown): Job => (json as { data: { job: Job } }).data.job;
    const begun = jobOf(await response.json());
    expect(begun.receipt).toMatchObject({ id: null });
    let job = begun;
    await until(async () => {
      job = jobOf((await call('GET', `/jobs/${begun.id}`)).json);
      return job.state === 'DONE';
    });
    const { id } = job.receipt;
    expect(job.receipt.lines?.count).toBe(3);
    expect(jobOf((await call('GET', `/jobs/${begun.id}`)).json).receipt.id).toBe(id);
    const { json: record } = await call('GET', `/receipts/${id}`);
    expect(await payloadOf((record.data as unknown as { jws: string }).jws)).toMatchObject({ kind: 'BULK' });

    const { json: line } = await call('GET', `/jobs/${begun.id}/lines/0`);
    const { text } = line.data as unknown as { text: string };
    expect(JSON.parse(text)).toMatchObject({ sanctioned: true });
    const lineFile = file('job-line.json', JSON.stringify(line));
    const proved = await run(['receipt', 'verify', lineFile, '--json']);
    expect([proved.code, JSON.parse(proved.out)]).toEqual([
      0,
      expect.objectContaining({ kind: 'BULK', isLineBound: true, isAnswerEqual: null }),
    ]);
    const altered = { data: { ...line.data, text: text.replace('true', 'false') } };
    expect((await run(['receipt', 'verify', file('altered-line.json', JSON.stringify(altered))])).code).toBe(
      1,
    );

    const headers = { Authorization: `Bearer ${key}` };
    const result = await (await fetch(`${server.url}/api/v1/jobs/${begun.id}/result`, { headers })).text();
    const recordFile = file('job-receipt.json', JSON.stringify(record));
    for (const [name, content, code] of [
      ['whole', result, 0],
      ['shorter', result.slice(0, result.indexOf('\n') + 1), 1],
      ['longer', `${result}{}\n`, 1],
      ['changed', result.replace('true', 'false'), 1],
      // One line, of which no result has as much.
      ['endless', `${result}${'x'.repeat(5 * 1024 * 1024)}`, 1],
    ] as const) {
      const lines = file(`${name}.ndjson`, content);
      const verified = await run(['receipt', 'verify', recordFile, '--lines', lines]);
      expect([name, verified.code, verified.err]).toEqual([name, code, expect.anything()]);
    }
    expect((await run(['receipt', 'replay', String(id)])).out).toContain('equal');
    expect((await call('GET', `/jobs/${begun.id}/lines/3`)).status).toBe(400);
  }, 180_000);

  it('keeps receipts of a retired key valid, and signs with the new one', async () => {
    const before = (await call('GET', `${ORACLE}?receipt=jws`)).json.data.receipt.jws;
    const rotated = await run(['receipt', 'keys', 'rotate', '--json']);
    expect(rotated.code, rotated.err).toBe(0);
    const { kid } = JSON.parse(rotated.out);
    const after = (await call('GET', `${ORACLE}?receipt=jws`)).json.data.receipt.jws;
    expect(JSON.parse(Buffer.from(after.split('.')[0] ?? '', 'base64url').toString()).kid).toBe(kid);
    for (const jws of [before, after]) {
      expect(await payloadOf(jws)).toMatchObject({ kind: 'ORACLE' });
      expect((await run(['receipt', 'verify', file('rotated.jws', jws)])).code).toBe(0);
    }
    const listed = await run(['receipt', 'keys', 'list', '--jwks']);
    expect(JSON.parse(listed.out)).toEqual(await jwks());
    expect((await run(['receipt', 'keys', 'list'])).out).toContain('RETIRED');
    expect((await fetch(`${server.url}/.well-known/jwks.json`)).headers.get('cache-control')).toMatch(
      /^public, max-age=\d+$/,
    );
    expect((await run(['audit', 'show'])).out).toContain('receipt.rotate-key');
  }, 120_000);

  it('erases the content of a receipt, keeps its hash, and records that', async () => {
    const { receipt } = (await call('GET', `${ORACLE}?receipt=jws`)).json.data;
    const { sha256: hash } = (await call('GET', `/receipts/${receipt.id}`)).json.data as unknown as {
      sha256: string;
    };
    const erased = await run(['receipt', 'erase', receipt.id]);
    expect([erased.code, erased.out]).toEqual([0, expect.stringContaining(hash)]);
    expect((await call('GET', `/receipts/${receipt.id}`)).json.data).toMatchObject({
      sha256: hash,
      jws: null,
      evidence: null,
      policy: null,
      erasedAt: expect.any(String),
    });
    const replayed = await run(['receipt', 'replay', receipt.id]);
    expect([replayed.code, replayed.err]).toEqual([1, expect.stringContaining('was erased')]);
    expect((await run(['receipt', 'erase', '01kaq2z8g00000000000000000'])).code).toBe(1);
    expect((await run(['audit', 'show'])).out).toContain('receipt.erase');
    // A client that kept its own copy can still verify it.
    expect((await run(['receipt', 'verify', file('kept.jws', receipt.jws)])).code).toBe(0);
  }, 120_000);

  it('has its store in the installation record', async () => {
    const record = readFileSync(join(world.folder, 'store', 'installation.json'), 'utf8');
    expect(JSON.parse(record).stores).toContainEqual(
      expect.objectContaining({ path: 'receipts.mdb', kind: 'receipts' }),
    );
  });
});
