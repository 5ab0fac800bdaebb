/**
 * An object store on loopback: s3rver holds the objects. A gate in front of it checks signatures as AWS documents them ("Create a signed
 * AWS API request", Signature Version 4), which s3rver does not do, counts requests, and fails or cuts them on request.
 */
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { request as ask, createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const S3_KEY = { id: 'AKIDASSAYTEST', secret: 'assay+test/secret', region: 'eu-test-1' } as const;

export interface S3Server {
  readonly endpoint: string;
  /** `METHOD /path?query` of every admitted request. */
  readonly requests: string[];
  /** Runs before each request is admitted: a status answers it, a number of bytes cuts the response after them. */
  fault: ((method: string, path: string) => { status?: number; cutAfter?: number } | null) | null;
  close(): Promise<void>;
}

interface Behind {
  run(): Promise<{ readonly port: number }>;
  close(): Promise<void>;
}

export async function startS3Server(bucket: string): Promise<S3Server> {
  const directory = mkdtempSync(join(tmpdir(), 'assay-s3-'));
  // The package has no types; only this part of it is used.
  const name = 's3rver';
  const { default: S3rver } = (await import(name)) as { default: new (options: object) => Behind };
  const behind = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await behind.run();
  const server: S3Server = {
    endpoint: '',
    requests: [],
    fault: null,
    close: async () => {
      gate.closeAllConnections();
      await new Promise((resolve) => gate.close(resolve));
      await behind.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  const gate = createServer((request, response) => {
    const { method = 'GET', url = '/' } = request;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const wrong = wrongSignature(method, url, request.headers, body);
      if (wrong !== null) {
        response
          .writeHead(403, { 'content-type': 'application/xml' })
          .end(`<?xml version="1.0"?><Error><Code>${wrong}</Code></Error>`);
        return;
      }
      server.requests.push(`${method} ${url}`);
      const fault = server.fault?.(method, url) ?? null;
      if (fault?.status !== undefined) {
        response.writeHead(fault.status).end('<Error><Code>SlowDown</Code></Error>');
        return;
      }
      const { authorization: _, ...headers } = request.headers;
      const passed = ask({ port, host: '127.0.0.1', method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        if (fault?.cutAfter === undefined) return void answer.pipe(response);
        let left = fault.cutAfter;
        answer.on('data', (chunk: Buffer) => {
          if (left <= 0) return;
          response.write(chunk.subarray(0, left), () => {
            if (left <= 0) response.destroy();
          });
          left -= chunk.length;
        });
        answer.on('end', () => {
          if (left > 0) response.end();
        });
      });
      passed.on('error', () => response.destroy());
      passed.end(body);
    });
  });
  await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
  return Object.assign(server, { endpoint: `http://127.0.0.1:${(gate.address() as AddressInfo).port}` });
}

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Returns the error code of S3; null if the signature is right. */
function wrongSignature(
  method: string,
  url: string,
  headers: IncomingHttpHeaders,
  body: Buffer,
): string | null {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (found === null) return 'AccessDenied';
  const [, id, day, region, signed = '', signature] = found as unknown as string[];
  if (id !== S3_KEY.id) return 'InvalidAccessKeyId';
  if (region !== S3_KEY.region) return 'AuthorizationHeaderMalformed';
  const time = String(headers['x-amz-date']);
  if (!time.startsWith(day as string)) return 'RequestTimeTooSkewed';
  const names = signed.split(';');
  if (!names.includes('host') || !names.includes('x-amz-content-sha256')) return 'AccessDenied';
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch';
  const [path = '/', query = ''] = url.split('?');
  const canonical = [
    method,
    path,
    query
      .split('&')
      .filter((part) => part !== '')
      .map((part) => (part.includes('=') ? part : `${part}=`))
      .sort()
      .join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signed,
    headers['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = ['s3', 'aws4_request'].reduce(
    (last, text) => hmac(last, text),
    hmac(hmac(`AWS4${S3_KEY.secret}`, day as string), region),
  );
  return hmac(key, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
