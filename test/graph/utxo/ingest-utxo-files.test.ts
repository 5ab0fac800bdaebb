import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../../src/base/errors.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { readScript, ScriptReader } from '../../../src/chains/bitcoin-script.ts';
import { hasProofOfWork, readBlock, readHeader } from '../../../src/graph/ingest/bitcoin-block.ts';
import {
  ingestUtxoFiles,
  type UtxoIngestFormat,
  type UtxoIngestReport,
} from '../../../src/graph/ingest/ingest-utxo-files.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';
import { type OutputsStore, openOutputsStore } from '../../../src/graph/utxo/outputs-store.ts';
import { taintOf } from '../../../src/graph/utxo/taint.ts';
import { TAINT_METHODS, type TaintMethod } from '../../../src/graph/utxo/taint-rules.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

let folder = '';
let outputs: OutputsStore;
let transfers: TransferStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-utxo-files-'));
  outputs = openOutputsStore({ path: join(folder, 'graph'), readOnly: false });
  transfers = openTransferStore({ path: join(folder, 'graph'), readOnly: false });
});
afterEach(async () => {
  await outputs.close();
  await transfers.close();
  rmSync(folder, { recursive: true });
});

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const ingest = (format: UtxoIngestFormat, ...files: string[]): Promise<UtxoIngestReport> =>
  ingestUtxoFiles({ format, files, chain: 'BTC' }, { outputs, transfers });
const keyOf = (address: string): Uint8Array => parseAddress('BTC', address).key;
const received = (address: string): bigint =>
  transfers.totals('BTC', keyOf(address))?.in.byAsset[0]?.amount ?? 0n;

const A = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
const B = '1KFHE7w8BhaENAswwryaoccDb6qcT6DbYY';
const HEADER = 'block,time,txid,dir,index,address,sats,prev_txid,prev_index';
const id = (digit: string): string => digit.repeat(64);

describe('CSV with resolved inputs', () => {
  it.each(['bitcoin-etl', 'bitcoin-resolved'] as const)(
    'rejects %s for a chain of accounts',
    async (format) => {
      const path = file('resolved.csv', `${HEADER}\n7,1399713634,${id('a')},out,0,,50,,\n`);
      for (const chain of ['ETH', 'ADA', 'SOL'] as const)
        await expect(
          ingestUtxoFiles({ format, files: [path], chain }, { outputs, transfers }),
        ).rejects.toMatchObject({
          code: 'INVALID_REQUEST',
          field: 'chain',
          message: `chain: ${format} can be read for BTC, LTC, DOGE, DASH, ZEC, BCH, BSV, not for ${chain}.`,
        });
    },
  );

  it('treats transactions without inputs as coinbases, and resolves the others', async () => {
    const path = file(
      'resolved.csv',
      [
        HEADER,
        `7,1399713634,${id('a')},out,0,${A},50,,`,
        `7,1399713634,${id('b')},in,0,${A},50,${id('a')},0`,
        `7,1399713634,${id('b')},out,0,${B},45,,`,
      ].join('\n'),
    );
    const report = await ingest('bitcoin-resolved', path);
    expect(report).toMatchObject({ rows: 3, blocks: 1, transactions: 2, unresolved: 0, rejected: 0 });
    expect(received(B)).toBe(45n);
    expect(transfers.newest('BTC', keyOf(A), keyOf(B), 1)).toMatchObject([
      { timestampMs: 1_399_713_634_000 },
    ]);
  });

  it('rejects a whole transaction if one of its rows is invalid, and names the row', async () => {
    const path = file(
      'resolved.csv',
      [
        HEADER,
        `7,1399713634,${id('a')},out,0,${A},50,,`,
        `7,1399713634,${id('b')},in,0,1nothing,50,${id('a')},0`,
        `7,1399713634,${id('b')},out,0,${B},45,,`,
        `8,1399713635,${id('c')},out,0,${B},50,,`,
      ].join('\n'),
    );
    const report = await ingest('bitcoin-resolved', path);
    expect(report).toMatchObject({ rows: 4, blocks: 2, transactions: 2, rejected: 2 });
    expect(report.rejects.map(({ provenance, reason }) => [provenance.line, reason.slice(0, 12)])).toEqual([
      [3, 'address: not'],
      [4, 'belongs to b'],
    ]);
    expect(received(A)).toBe(50n);
    expect(received(B)).toBe(50n);
  });
});

describe('bitcoin-etl', () => {
  const row = (fields: object): string =>
    JSON.stringify({
      type: 'transaction',
      block_number: 9,
      block_hash: id('9'),
      block_timestamp: 1_399_713_634,
      is_coinbase: false,
      index: 1,
      ...fields,
    });
  const pays = (address: string, value: number, index = 0): object => ({
    index,
    type: 'pubkeyhash',
    addresses: [address],
    value,
  });

  it('reads transactions with their inputs, and skips blocks', async () => {
    const path = file(
      'transactions.json',
      [
        '{"type":"block","number":9,"hash":"00"}',
        row({ hash: id('a'), index: 0, is_coinbase: true, inputs: [], outputs: [pays(A, 50)] }),
        row({
          hash: id('b'),
          inputs: [{ index: 0, spent_transaction_hash: id('a'), spent_output_index: 0, ...pays(A, 50) }],
          outputs: [
            { index: 0, type: 'nonstandard', addresses: ['nonstandard12ab'], value: 5 },
            { index: 1, script_hex: `76a914${'11'.repeat(20)}88ac`, value: 40 },
          ],
        }),
      ].join('\n'),
    );
    const report = await ingest('bitcoin-etl', path);
    expect(report).toMatchObject({ rows: 3, ignored: 1, transactions: 2, unresolved: 0, rejected: 0 });
    const sent = transfers.totals('BTC', keyOf(A))?.out;
    expect(sent).toMatchObject({ transfers: 2, byAsset: [{ amount: 45n }] });
    const script = readScript('BTC', Buffer.from(`76a914${'11'.repeat(20)}88ac`, 'hex'));
    expect(transfers.totals('BTC', script.key ?? new Uint8Array())?.in.byAsset[0]?.amount).toBe(40n);
    expect(outputs.block('BTC', 9)?.hash).toBe(id('9'));
  });

  it('counts value from a shielded pool without a sender', async () => {
    const path = file(
      'zec.json',
      row({
        hash: id('c'),
        inputs: [{ index: 0, type: 'shielded', value: 70 }],
        outputs: [pays(B, 60), { index: 1, type: 'shielded', value: 4 }],
      }),
    );
    await ingest('bitcoin-etl', path);
    expect(received(B)).toBe(60n);
    const graph = outputs.graph('BTC');
    expect(graph?.transaction(graph.numberOf(id('c')) ?? 0)).toMatchObject({
      shieldedIn: 70n,
      shieldedOut: 4n,
      isCoinbase: false,
    });
  });

  it.each([
    ['outputs', { outputs: 'x' }, /outputs is not a list/],
    ['block_timestamp', { block_timestamp: null }, /block_timestamp is missing/],
    ['hash', { hash: 'zz' }, /hash is not a hash of 64/],
    ['an address', { outputs: [pays('1nothing', 5)] }, /outputs\[0\]\.addresses\[0\]/],
  ])('rejects a row with an invalid %s by its line', async (_, fields, reason) => {
    const path = file('rows.json', row({ hash: id('d'), inputs: [], outputs: [pays(A, 5)], ...fields }));
    const report = await ingest('bitcoin-etl', path);
    expect(report).toMatchObject({ rows: 1, rejected: 1, transactions: 0 });
    expect(report.rejects[0]?.reason).toMatch(reason);
  });
});

describe('output scripts', () => {
  const hash20 = '11'.repeat(20);
  const key33 = `02${'22'.repeat(32)}`;
  it.each([
    ['p2wpkh', `0014${hash20}`],
    ['p2wsh', `0020${'11'.repeat(32)}`],
    ['p2tr', `5120${'11'.repeat(32)}`],
    ['p2sh', `a914${hash20}87`],
    ['p2pk', `21${key33}ac`],
    ['multisig', `5121${key33}21${key33}52ae`],
    ['op_return', '6a0568656c6c6f'],
    ['other', 'ac'],
    ['other', ''],
    ['other', `5222${key33}ac`],
  ])('%s', (kind, hex) => {
    expect(readScript('BTC', Buffer.from(hex, 'hex')).kind).toBe(kind);
  });

  it('assign a bare key to the p2pkh address of that key: block 170, the first payment', () => {
    const script =
      '410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac';
    const { key } = readScript('BTC', Buffer.from(script, 'hex'));
    expect(Buffer.from(key ?? [])).toEqual(Buffer.from(keyOf('12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S')));
  });

  it('ignore a witness program on a chain without segwit', () => {
    expect(readScript('BSV', Buffer.from(`0014${hash20}`, 'hex'))).toEqual({ kind: 'other', key: null });
  });
});

describeWithSharedData('a raw chain of a regtest node', () => {
  const blk = sharedData('transactions', 'bitcoin-regtest', 'blk00000.dat');
  const bytes = readFileSync(blk);
  const names = JSON.parse(
    readFileSync(sharedData('transactions', 'bitcoin-regtest', 'output.json'), 'utf8'),
  ) as Record<string, string>;
  const records: Buffer[] = [];
  for (let at = 0; bytes.readUInt32LE(at) !== 0; ) {
    const length = 8 + bytes.readUInt32LE(at + 4);
    records.push(bytes.subarray(at, at + length));
    at += length;
  }
  const taint = (names_: readonly string[], method: TaintMethod, until?: number): bigint => {
    const graph = outputs.graph('BTC');
    const seeds = names_.map((name) => ({ tx: graph?.numberOf(names[name] ?? '') ?? 0, n: 0 }));
    if (!graph) throw new Error('no graph');
    return taintOf(graph, seeds, { method, ...(until === undefined ? {} : { until }) }).tainted;
  };

  it('gives the taint that BlockSci documents, one block later and at the end', async () => {
    const report = await ingest('bitcoin-blk', blk);
    expect(report).toMatchObject({ rows: 202, blocks: 202, transactions: 356, unresolved: 0, ignored: 0 });
    const one = ['taint-split-tx-1'];
    const two = ['taint-split-tx-1', 'taint-fund-tx-2'];
    expect([taint(one, 'poison', 195), taint(one, 'poison')]).toEqual([299_970_000n, 1_499_940_000n]);
    expect([taint(one, 'haircut', 195), taint(one, 'haircut')]).toEqual([99_986_666n, 99_985_999n]);
    expect([taint(two, 'poison', 195), taint(two, 'poison')]).toEqual([1_499_950_000n, 1_499_940_000n]);
    expect([taint(two, 'haircut', 195), taint(two, 'haircut')]).toEqual([899_979_999n, 899_973_998n]);
    for (const method of ['fifo', 'lifo', 'tiho'] as const)
      expect(taint(two, method)).toBeLessThanOrEqual(99_990_000n + 800_000_000n);
  });

  it('resolves the addresses and kinds of scripts', async () => {
    await ingest('bitcoin-blk', blk);
    const graph = outputs.graph('BTC');
    const kinds = (name: string): string[] =>
      graph?.transaction(graph.numberOf(names[name] ?? '') ?? 0).outputs.map(({ script }) => script) ?? [];
    expect(kinds('raw-multisig-tx')).toContain('multisig');
    expect(kinds('op-return-tx')).toContain('op_return');
    expect(kinds('address-p2wsh-spend-0-tx').length).toBeGreaterThan(0);
  });

  it('sorts blocks in any order of files, and skips those outside the best chain', async () => {
    const shuffled = [...records].sort((a, b) => Buffer.compare(a.subarray(44, 76), b.subarray(44, 76)));
    const half = shuffled.length >> 1;
    // `fork` is block 201 with another nonce: a second block of the same height, which the best chain does not include.
    const fork = otherTip(records.at(-1) as Buffer);
    const report = await ingest(
      'bitcoin-blk',
      file('blk00001.dat', Buffer.concat([...shuffled.slice(half), fork])),
      file('blk00000.dat', Buffer.concat(shuffled.slice(0, half))),
    );
    expect(report).toMatchObject({ blocks: 202, transactions: 356, unresolved: 0, ignored: 1 });
    expect(outputs.coverage('BTC')).toMatchObject({ firstBlock: 0, lastBlock: 201 });
    expect(taint(['taint-split-tx-1'], 'haircut')).toBe(99_985_999n);
  });

  it('reads a block that occurs twice from its first place', async () => {
    const damaged = Buffer.from(records[120] as Buffer);
    damaged[8 + 80 + 10] = (damaged[8 + 80 + 10] as number) ^ 0x40;
    const again = file('blk00001.dat', damaged);
    expect(await ingest('bitcoin-blk', blk, again)).toMatchObject({ blocks: 202, transactions: 356 });
    await expect(ingest('bitcoin-blk', again, blk)).rejects.toThrow(/blk00001\.dat, byte 8: .*Merkle root/);
  });

  /** Returns the same block with another nonce that meets regtest's target, as every second nonce does. */
  function otherTip(record: Buffer): Buffer {
    const copy = Buffer.from(record);
    for (let nonce = 1_000; ; nonce++) {
      copy.writeUInt32LE(nonce, 8 + 76);
      if (hasProofOfWork(readHeader(copy.subarray(8)))) return copy;
    }
  }

  it('resumes after another file, and reports a file that ends inside a block', async () => {
    const head = file(
      'blk00000.dat',
      Buffer.concat([...records.slice(0, 150), records[150]!.subarray(0, 99)]),
    );
    expect(await ingest('bitcoin-blk', head)).toMatchObject({ blocks: 150, cutShort: ['blk00000.dat'] });
    const tail = file('blk00001.dat', Buffer.concat(records.slice(150)));
    expect(await ingest('bitcoin-blk', tail)).toMatchObject({ blocks: 52, unresolved: 0, cutShort: [] });
    expect(taint(['taint-split-tx-1'], 'haircut')).toBe(99_985_999n);
  });

  it('reads files that a newer node obfuscated with its key', async () => {
    const key = Buffer.from('a1b2c3d4e5f60718', 'hex');
    file('xor.dat', key);
    const mixed = file(
      'blk00000.dat',
      bytes.map((byte, at) => byte ^ (key[at % 8] as number)),
    );
    expect(await ingest('bitcoin-blk', mixed)).toMatchObject({ blocks: 202, transactions: 356 });
  });

  it.each([
    ['a transaction', 8 + 80 + 10, /do not match its Merkle root/],
    ['the Merkle root', 8 + 40, /do not match its Merkle root|proof of work/],
    ['the target', 8 + 75, /proof of work/],
    ['the length', 5, /no block begins here|inside the element that begins|ends at byte|out of range/],
  ])('rejects a file with %s changed, and names the position', async (_, at, message) => {
    const record = Buffer.from(records[120] as Buffer);
    record[at] = (record[at] as number) ^ 0x40;
    const bad = file(
      'blk00000.dat',
      Buffer.concat([...records.slice(0, 120), record, ...records.slice(121)]),
    );
    await expect(ingest('bitcoin-blk', bad)).rejects.toThrow(/blk00000\.dat, byte \d+/);
    await expect(ingest('bitcoin-blk', bad)).rejects.toThrow(message);
  });

  it('rejects a block after any change or truncation, or reads the same block', () => {
    const scripts = new ScriptReader('BTC');
    const blocks = records.slice(100).map((record) => record.subarray(8));
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(255), fc.boolean(), (which, where, byte, isCut) => {
        const block = Buffer.from(blocks[which % blocks.length] as Buffer);
        const at = where % block.length;
        block[at] = byte;
        const changed = isCut ? block.subarray(0, at) : block;
        try {
          const { header, transactions } = readBlock(changed, 'BTC', scripts);
          expect(transactions(1).length).toBeGreaterThan(0);
          expect(header.hash).toMatch(/^[0-9a-f]{64}$/);
        } catch (error) {
          expect(error).toBeInstanceOf(AssayError);
          expect((error as AssayError).code).toBe('INVALID_FILE');
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['one byte', 0xfc],
    ['two bytes', 0xfd],
    ['two bytes', 0xffff],
    ['four bytes', 0x10000],
    ['eight bytes', 0x10001],
  ])('reads a script whose length is written in %s: %i', (width, length) => {
    const sizes = {
      'one byte': () => Buffer.from([length]),
      'two bytes': () => Buffer.from([0xfd, length & 0xff, length >> 8]),
      'four bytes': () => Buffer.from([0xfe, ...words(length)]),
      'eight bytes': () => Buffer.from([0xff, ...words(length), 0, 0, 0, 0]),
    };
    const words = (value: number) => [0, 8, 16, 24].map((bits) => (value >>> bits) & 0xff);
    const one = Buffer.from([1]);
    const transaction = Buffer.concat([
      ...[Buffer.alloc(4), one, Buffer.alloc(32), Buffer.alloc(4, 0xff), Buffer.from([0]), Buffer.alloc(4)],
      ...[one, Buffer.alloc(8), sizes[width as keyof typeof sizes](), Buffer.alloc(length, 0x6a)],
      Buffer.alloc(4),
    ]);
    const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();
    const header = Buffer.from((records[1] as Buffer).subarray(8, 88));
    header.writeInt32LE(1, 0);
    // The Merkle root of a single transaction is its id.
    sha256(sha256(transaction)).copy(header, 36);
    for (let nonce = 0; !hasProofOfWork(readHeader(header)); nonce++) header.writeUInt32LE(nonce, 76);
    const block = readBlock(Buffer.concat([header, one, transaction]), 'BTC', new ScriptReader('BTC'));
    expect(block.transactions(1)).toMatchObject([
      { isCoinbase: true, outputs: [{ n: 0, value: 0n, script: 'op_return' }] },
    ]);
  });

  it('rejects files of another kind, another network and a chain of another format', async () => {
    await expect(ingest('bitcoin-blk', file('x.dat', 'hello, this is no block'))).rejects.toThrow(
      /no block begins here/,
    );
    await expect(
      ingestUtxoFiles({ format: 'bitcoin-blk', files: [blk], chain: 'DOGE' }, { outputs, transfers }),
    ).rejects.toThrow(/not for DOGE/);
    outputs.setNetworks('BTC', ['main']);
    await expect(ingest('bitcoin-blk', blk)).rejects.toThrow(/networks cannot be mixed/);
  });

  it('rejects a single block of another network, which has no network magic, by its target', async () => {
    const main = sharedData('transactions', 'bitcoin', 'block300025.raw');
    const single = file('block1.raw', (records[1] as Buffer).subarray(8));
    await expect(ingest('bitcoin-blk', blk, main)).rejects.toThrow(/is mixed with blocks of regtest/);
    await ingest('bitcoin-blk', blk);
    await expect(ingest('bitcoin-blk', main)).rejects.toThrow(
      "The file is of the network 'main' or 'testnet3' or 'testnet4' or 'signet', but the store of BTC is of 'regtest'",
    );
    expect(await ingest('bitcoin-blk', single)).toMatchObject({ blocks: 1, transactions: 0, known: 1 });
  });

  it('rejects blocks of regtest after rows of text, which count as the main network', async () => {
    const path = file('resolved.csv', `${HEADER}\n300025,1399713634,${id('a')},out,0,${A},50,,\n`);
    await ingest('bitcoin-resolved', path);
    await expect(ingest('bitcoin-blk', blk)).rejects.toThrow(
      "The file is of the network 'regtest', but the store of BTC is of 'main': networks cannot be mixed.",
    );
    expect(outputs.coverage('BTC').transactions).toBe(1);
  });

  it('rejects blocks of regtest after single blocks of another network', async () => {
    await ingest('bitcoin-blk', sharedData('transactions', 'bitcoin', 'block300025.raw'));
    await expect(ingest('bitcoin-blk', blk)).rejects.toThrow(/networks cannot be mixed/);
    outputs.setNetworks('BTC', ['main']);
    expect(() => outputs.setNetworks('BTC', ['testnet3'])).toThrow(/networks cannot be mixed/);
  });
});

describeWithSharedData('block 300025 of Bitcoin', () => {
  const raw = sharedData('transactions', 'bitcoin', 'block300025.raw');
  const csv = sharedData('transactions', 'bitcoin', 'block300025_inputs_outputs.csv');
  const rows = readFileSync(csv, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));

  it('gives the same outputs from the raw block as from the CSV', async () => {
    const report = await ingest('bitcoin-blk', raw);
    expect(report).toMatchObject({ blocks: 1, transactions: 461 });
    expect(outputs.coverage('BTC')).toMatchObject({ firstBlock: 300_025, lastBlock: 300_025 });
    const graph = outputs.graph('BTC');
    let checked = 0;
    let without = 0;
    for (const [, , txid, direction, index, address, sats] of rows) {
      if (direction !== 'out') continue;
      const output = graph?.transaction(graph.numberOf(txid ?? '') ?? 0).outputs[Number(index)];
      expect(output?.value).toBe(BigInt(sats ?? ''));
      checked++;
      // If a script has no address, the CSV hashes the script itself, as if it were paid by p2sh.
      if (output?.address === 0) {
        expect(address).toMatch(/^3/);
        without++;
        continue;
      }
      expect(Buffer.from(graph?.keyOf(output?.address ?? 0) ?? [])).toEqual(
        Buffer.from(keyOf(address ?? '')),
      );
    }
    expect([checked, without]).toEqual([1_226, 5]);
  });

  it('gives the same spent outputs from the undo data of the node as from the CSV', () => {
    const undo = readFileSync(sharedData('transactions', 'bitcoin', 'block300025-undo.raw'));
    let at = 0;
    for (const [, , , direction, , address, sats] of rows) {
      if (direction !== 'in') continue;
      expect(undo.readBigUInt64LE(at)).toBe(BigInt(sats ?? ''));
      const length = undo[at + 8] as number;
      const { key } = readScript('BTC', undo.subarray(at + 9, at + 9 + length));
      if (key) expect(Buffer.from(key)).toEqual(Buffer.from(keyOf(address ?? '')));
      else expect(address).toMatch(/^3/);
      at += 9 + length;
    }
    expect(at).toBe(undo.length);
  });

  it('delays transfers until their inputs are known, and counts both files together once in either order', async () => {
    const first = await ingest('bitcoin-blk', raw);
    expect(first.unresolved).toBeGreaterThan(300);
    const second = await ingest('bitcoin-resolved', csv);
    expect(second).toMatchObject({ rows: 2_653, known: 461, unresolved: 0, rejected: 0 });
    const third = await ingest('bitcoin-blk', raw);
    expect(third).toMatchObject({ stored: 0, unresolved: 0, duplicates: first.stored + second.stored });
    expect(received('1KFHE7w8BhaENAswwryaoccDb6qcT6DbYY')).toBe(2_507_773_345n);
  });

  it('resolves spends inside the block, and preserves the sum under every rule', async () => {
    await ingest('bitcoin-resolved', csv);
    const graph = outputs.graph('BTC');
    if (!graph) throw new Error('no graph');
    const own = new Set(rows.map(([, , txid]) => txid));
    const inside = rows.filter(([, , , direction, , , , from]) => direction === 'in' && own.has(from));
    expect(inside).toHaveLength(188);
    for (const [, , txid, , , , , from, n] of inside) {
      const { outputs: paid } = graph.transaction(graph.numberOf(from ?? '') ?? 0);
      expect(graph.transaction(paid[Number(n)]?.spentBy ?? 0).txid).toBe(txid);
    }
    const seeds = inside
      .slice(0, 40)
      .map(([, , , , , , , from]) => ({ tx: graph.numberOf(from ?? '') ?? 0, n: 0 }));
    for (const method of TAINT_METHODS) {
      const answer = taintOf(graph, seeds, { method });
      expect(answer.unresolved).toBe(0);
      if (method === 'poison') continue;
      const { seedValue, tainted, fee, intoSeeds, rounded } = answer;
      expect(tainted + fee + intoSeeds + rounded).toBe(seedValue);
    }
  });
});
