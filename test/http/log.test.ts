/** The transparency log over HTTP, on both servers: it is public, static, and the proof of a receipt is verified offline. */

import { mkdirSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditCheckpoints, verifyLog } from '../../src/receipts/log/audit.ts';
import { parseCheckpoint, verifyCheckpoint } from '../../src/receipts/log/checkpoint.ts';
import { httpSource, tilesIn } from '../../src/receipts/log/places.ts';
import { verifyProof } from '../../src/receipts/log/proof.ts';
import { tilePath, tilesBetween } from '../../src/receipts/log/tiles.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { entriesOf, entryOf, type OpenedLog, openLog } from '../receipts/log/world.ts';
import { openWorld, type World } from './world.ts';

const rateLimits = { entity: 10_000 };

describe.each(['uws', 'node'] as const)('the transparency log on %s', (backend) => {
  const folder = tempFolder();
  let opened: OpenedLog;
  let world: World;
  let key: string;

  beforeAll(async () => {
    mkdirSync(join(folder.path, 'log'));
    opened = await openLog(join(folder.path, 'log'));
    await opened.log.append(entriesOf(0, 600));
    world = await openWorld({ backend, useCases: { receiptLog: () => opened.log } });
    key = await world.key({ accountId: 'acc', rateLimits, permissions: ['oracle'] });
  });
  afterAll(async () => {
    await world.close();
    await opened.close();
    folder.remove();
  });

  const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${world.url}${path}`, { headers });
  const proofOf = (id: string, headers = { authorization: `Bearer ${key}` }): Promise<Response> =>
    ask(`/api/v1/receipts/${id}/proof`, headers);

  it('serves its checkpoint without a key, and caches keep it for a second', async () => {
    const response = await ask('/log/checkpoint');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('public, max-age=1');
    expect(verifyCheckpoint(await response.text(), opened.log.verifier)).toMatchObject({ size: 600 });
  });

  it('serves every tile of its checkpoint, which caches keep', async () => {
    for (const name of tilesBetween(0, 600)) {
      const response = await ask(`/log/${tilePath(name)}`);
      expect(response.status, tilePath(name)).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/octet-stream');
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(Buffer.from(await response.arrayBuffer())).toEqual(opened.log.tile(name));
      const etag = response.headers.get('etag') ?? '';
      const again = await ask(`/log/${tilePath(name)}`, { 'if-none-match': etag });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
    }
  });

  it('is verified and audited as a client does it', async () => {
    const source = httpSource(`${world.url}/log`);
    const text = ((await source.read('checkpoint')) as Buffer).toString();
    const checkpoint = parseCheckpoint(text);
    expect((await verifyLog(checkpoint, tilesIn(source))).faults).toEqual([]);
    expect(
      await auditCheckpoints(
        {
          ...checkpoint,
          size: 0,
          root: Buffer.from('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'hex'),
        },
        checkpoint,
        tilesIn(source),
      ),
    ).toBe('consistent');
    await source.close();
  });

  /** Sends a path as it is: fetch resolves `..` itself. */
  const statusOf = (path: string): Promise<number> =>
    new Promise((resolve, reject) =>
      get({ host: '127.0.0.1', port: world.port, path }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      }).on('error', reject),
    );

  it.each([
    '/log/tile/0/003',
    '/log/tile/0/002',
    '/log/tile/0/002.p/89',
    '/log/tile/0/x000/001',
    '/log/tile/0/x001/000',
    '/log/tile/0/x001/x000/000.p/5',
    '/log/tile/7/000',
    '/log/tile/64/000',
    '/log/tile/entries/003',
    '/log/tile/0/..%2f00',
    '/log/tile/%2e%2e/000',
    '/log/tile/0/000.p/0',
    '/log/tile/0/00',
  ])('has no %s', async (path) => {
    expect(await statusOf(path)).toBe(404);
  });

  it('rejects a segment that is too long', async () => {
    expect(await statusOf(`/log/tile/0/${'0'.repeat(3_000)}`)).toBe(400);
  });

  it('proves a receipt to a client with any key', async () => {
    const response = await proofOf('receipt-257');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const proof = await response.text();
    expect(proof.split('\n')[0]).toBe('c2sp.org/tlog-proof@v1');
    expect(verifyProof(proof, entryOf(257).hash, opened.log.verifier)).toMatchObject({ size: 600 });
  });

  it('has no proof without a key, of an unknown receipt, or before its checkpoint', async () => {
    expect((await proofOf('receipt-257', {} as never)).status).toBe(401);
    expect((await proofOf('receipt-600')).status).toBe(404);
    await opened.log.append(entriesOf(600, 601));
    const early = await proofOf('receipt-600');
    expect(early.status).toBe(404);
    expect(await early.text()).toContain('no published checkpoint covers it yet');
    expect(await statusOf('/log/tile/0/002.p/89')).toBe(404);
  });
});
