/** Cosignatures of witnesses on loopback, which follow C2SP tlog-witness. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { isConsistent } from '../../../src/base/merkle.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { parseCheckpoint, verifyCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { cosigner, type NoteSigner, newNoteKey, signatureLine } from '../../../src/receipts/log/note.ts';
import { verifyProof } from '../../../src/receipts/log/proof.ts';
import { Witnesses } from '../../../src/receipts/log/witness.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { entriesOf, entryOf, type OpenedLog, openLog } from './world.ts';

/** A witness that remembers the last head of one log. */
class TestWitness {
  readonly signer: NoteSigner;
  readonly statuses: number[] = [];
  head: { size: number; root: Uint8Array } = { size: 0, root: Buffer.alloc(0) };
  /** Answers every request in place of a cosignature. */
  fault: { readonly status: number; readonly body: string } | null = null;
  readonly #server: Server;

  constructor(name: string) {
    this.signer = cosigner(name, newNoteKey(systemRandom), () => 1_700_000_000);
    this.#server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part) => (text += part));
      request.on('end', () => {
        const isAsked = request.method === 'POST' && request.url === '/w/add-checkpoint';
        const { status, body } = this.fault ?? (isAsked ? this.#answer(text) : { status: 404, body: '' });
        this.statuses.push(status);
        response.writeHead(status, { 'content-type': 'text/x.tlog.size' }).end(body);
      });
    });
  }

  #answer(text: string): { status: number; body: string } {
    const end = text.indexOf('\n\n');
    const [first = '', ...proof] = text.slice(0, end).split('\n');
    const checkpoint = parseCheckpoint(text.slice(end + 2));
    const old = Number(first.slice('old '.length));
    if (old !== this.head.size) return { status: 409, body: `${this.head.size}\n` };
    const hashes = proof.map((line) => Buffer.from(line, 'base64'));
    if (old > 0 && !isConsistent(this.head, checkpoint, hashes)) return { status: 422, body: '' };
    if (old === 0 && hashes.length > 0) return { status: 422, body: '' };
    this.head = { size: checkpoint.size, root: checkpoint.root };
    return { status: 200, body: signatureLine(this.signer.sign(checkpoint.note.text)) };
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/w`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('witnesses', () => {
  let folder: TempFolder;
  let opened: OpenedLog;
  let one: TestWitness;
  let two: TestWitness;
  let witnesses: Witnesses;
  const keys = () => [one.signer.verifier, two.signer.verifier];
  const head = () => verifyCheckpoint(opened.log.checkpoint(), opened.log.verifier, keys());

  async function openWitnesses(): Promise<Witnesses> {
    return new Witnesses(
      [
        { url: urls[0] as string, verifier: one.signer.verifier },
        { url: urls[1] as string, verifier: two.signer.verifier },
      ],
      { store: opened.store, log: silentLogger, halt: (reason) => opened.log.halt(reason) },
    );
  }
  let urls: string[];

  beforeEach(async () => {
    folder = tempFolder();
    opened = await openLog(folder.path, { checkpointMs: 0, isWitnessed: true });
    one = new TestWitness('witness.example/one');
    two = new TestWitness('witness.example/two');
    urls = [await one.start(), await two.start()];
    witnesses = await openWitnesses();
  });
  afterEach(async () => {
    await witnesses.close();
    await one.stop();
    await two.stop();
    await opened.close();
    folder.remove();
  });

  it('sign each checkpoint, which is published with their cosignatures', async () => {
    await opened.log.append(entriesOf(0, 300));
    expect(await witnesses.ask()).toBe(true);
    expect(head()).toMatchObject({ size: 300, cosignatures: [{ seconds: 1_700_000_000 }, {}] });
    await opened.log.append(entriesOf(300, 777));
    // Until they have signed it, the last one that they signed is published.
    expect(head().size).toBe(300);
    await expect(opened.log.proof('receipt-500')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await witnesses.ask()).toBe(true);
    expect(head()).toMatchObject({ size: 777, cosignatures: [{}, {}] });
    expect(one.statuses).toEqual([200, 200]);
    const proof = (await opened.log.proof('receipt-500')) as string;
    expect(verifyProof(proof, entryOf(500).hash, opened.log.verifier, keys()).cosignatures).toHaveLength(2);
  });

  it('are asked once for each checkpoint', async () => {
    await opened.log.append(entriesOf(0, 10));
    await witnesses.ask();
    await witnesses.ask();
    expect(one.statuses).toEqual([200]);
  });

  it('that are down are left out, and asked again', async () => {
    two.fault = { status: 500, body: '' };
    await opened.log.append(entriesOf(0, 10));
    expect(await witnesses.ask()).toBe(false);
    expect(head()).toMatchObject({ size: 10, cosignatures: [{ verifier: { name: 'witness.example/one' } }] });
    two.fault = null;
    expect(await witnesses.ask()).toBe(true);
    expect(head().cosignatures).toHaveLength(2);
    expect(one.statuses).toEqual([200]);
  });

  it('name the size that they signed, from which the proof then leads', async () => {
    await opened.log.append(entriesOf(0, 10));
    await witnesses.ask();
    await opened.log.append(entriesOf(10, 20));
    await witnesses.close();
    // A later process that lost the cosignatures does not know the size.
    await opened.store.putWitnessed(opened.store.checkpoint() as string);
    await opened.log.append(entriesOf(20, 30));
    witnesses = await openWitnesses();
    expect(await witnesses.ask()).toBe(true);
    expect(one.statuses).toEqual([200, 409, 200]);
    expect(head()).toMatchObject({ size: 30, cosignatures: [{}, {}] });
  });

  it('that have signed more than this log has halt it, when they are asked again', async () => {
    one.head = { size: 1_000, root: Buffer.alloc(32) };
    await opened.log.append(entriesOf(0, 10));
    expect(await witnesses.ask()).toBe(false);
    expect([head().size, opened.log.problem()]).toEqual([10, null]);
    await witnesses.ask();
    const reason = expect.stringContaining(
      'it has signed 1000 entries of this log, of which this installation has 10',
    );
    expect(opened.log.problem()).toMatchObject({ reason });
    expect(() => opened.log.checkpoint()).toThrow('it has signed 1000 entries');
  });

  it('that answer nonsense are left out', async () => {
    one.fault = { status: 500, body: '' };
    two.fault = { status: 200, body: signatureLine(one.signer.sign('other text\n')) };
    await opened.log.append(entriesOf(0, 10));
    expect(await witnesses.ask()).toBe(false);
    expect(head()).toMatchObject({ size: 10, cosignatures: [] });
    two.fault = { status: 200, body: 'not a signature' };
    expect(await witnesses.ask()).toBe(false);
    two.fault = { status: 409, body: 'not a size\n' };
    expect(await witnesses.ask()).toBe(false);
    two.fault = { status: 200, body: 'x'.repeat(100_000) };
    expect(await witnesses.ask()).toBe(false);
  });
});
