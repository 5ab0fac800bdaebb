/**
 * `npm run bench -- receipts`: signed oracle verdicts a second (evidence scored again, hashed, signed, stored durably and logged), answers in
 * batches, and the bytes that a receipt takes. The control signs as many bytes as a receipt has, with the same library on one thread, and does
 * nothing else. Core times count the time of the processor alone: on a busy machine, they say more than rates.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { loadTaxonomy } from '../src/labels/categories.ts';
import type { Label } from '../src/labels/label.ts';
import { ReceiptBatches } from '../src/receipts/batches.ts';
import { nodeSigner, SIGNATURE_BYTES, sodiumSigner } from '../src/receipts/ed25519.ts';
import type { ReceiptJwks } from '../src/receipts/jws.ts';
import { jwksOf } from '../src/receipts/keys.ts';
import { openReceiptLog } from '../src/receipts/log/log.ts';
import { openLogStore } from '../src/receipts/log/store-lmdb.ts';
import { createReceipts } from '../src/receipts/receipts.ts';
import type { AnswerToAttest, Receipts } from '../src/receipts/service.ts';
import { openReceiptStore } from '../src/receipts/store-lmdb.ts';
import { verifyJws } from '../src/receipts/verify-jws.ts';
import { loadPolicy } from '../src/risk/policy.ts';
import type { OracleEvidence } from '../src/screening/evidence.ts';
import { NO_EXPOSURE } from '../src/screening/exposure-port.ts';
import { judge } from '../src/screening/oracle.ts';
import { LISTS } from '../src/sources/lists.ts';
import { createEncryption } from '../src/state/encryption.ts';
import { argument, type BenchReport, publish, report, row } from './harness.ts';

/** Requests at the same time: as many as a load generator with some hundred connections has open. */
const DEFAULTS = { receipts: 60_000, atOnce: 512 };
/** Half as many are measured too: then the threads wait longer for each other and for the disk. */
const FEWER = 2;
/** Receipts before the measurement: the compiler of Node needs some seconds' worth. */
const WARM_UP = 10_000;
/** Labels of this many entities: most answers are about few of them. */
const ENTITIES = 500;
/** Goal of the issue for one machine of two cores. */
const SIGNED_MIN = 15_000;
/** Goal for a verification, and how many are measured. */
const VERIFY_MS_MAX = 2;
const VERIFIED = 1_000;
/** Answers in batches for each signed one, so that both take about as long. */
const BATCHED = 10;
/** Bytes of the answer of the oracle about an address without a label. */
const ANSWER_BYTES = 550;
/** With deflate at its fastest level, evidence of a labelled address takes some 700 bytes. */
const BYTES_MAX = 2_000;

const policy = loadPolicy(loadTaxonomy().rows);

const labelOf = (entity: number): Label => ({
  entity: {
    id: `exchange-${entity}`,
    name: `Exchange ${entity}`,
    category: 'EXCHANGE',
    jurisdiction: 'CH',
    url: null,
  },
  scope: 'EVM',
  category: 'EXCHANGE',
  threatLevel: 'LOW',
  source: 'graphsense',
  sourceUrl: `https://example.org/${entity}`,
  tags: [],
  confidence: 0.9,
  sanctions: [],
  verified: true,
  synthetic: true,
  class: 'published',
  firstSeen: null,
  lastSeen: '2026-10-01',
});

function answerTo(number: number): AnswerToAttest {
  const labels = [labelOf(number % ENTITIES)];
  const address = `0x${number.toString(16).padStart(40, '0')}`;
  const evidence: OracleEvidence = {
    kind: 'ORACLE',
    labels: [labels],
    entry: NO_EXPOSURE,
    isSeen: true,
    notRead: null,
    staleReason: null,
    graph: { height: 21_000_000, asOf: '2026-11-20T00:00:00.000Z' },
  };
  const judged = judge(labels, evidence, { ...evidence, verdict: NO_EXPOSURE }, policy);
  const answer = { address, chain: 'ETH', ...judged, assessed: true, dataVersion: 'd5de0f2b2b933cb1' };
  // The server has the canonical address from its path.
  return { kind: 'ORACLE', request: { chain: 'ETH', address }, answer, evidence, addresses: [address] };
}

const noKey = () => Promise.reject(new Error('no key of verdicts'));

/** Signs and stores verdicts, and measures them. */
export async function benchReceipts(options: Partial<typeof DEFAULTS> = {}): Promise<BenchReport> {
  const { receipts: count, atOnce } = { ...DEFAULTS, ...options };
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-receipts-'));
  const deps = { clock: systemClock, random: systemRandom };
  const encryption = createEncryption(systemRandom.bytes(32), systemRandom);
  const store = openReceiptStore(
    { path: join(folder, 'receipts.mdb') },
    { ...deps, encryption: () => encryption },
  );
  const logStore = openLogStore({ path: join(folder, 'log.mdb') });
  const log = await openReceiptLog(
    { origin: 'bench.example/log', fallbackOrigin: '', isWitnessed: false },
    { ...deps, store: logStore, encryption: () => encryption, log: silentLogger },
  );
  const lists = LISTS.ids.map((list) => ({
    list,
    publishedAt: '2026-11-20',
    checkedAt: startedAt,
    parties: 17_000,
  }));
  const service = createReceipts(
    { softwareVersion: 'bench' },
    {
      ...deps,
      store,
      policy,
      lists: () => lists,
      issuer: () => 'urn:assay:bench',
      log: () => log,
      verdictKey: noKey,
    },
  );
  try {
    const client = { accountId: 'local', issuedTo: 'key_bench' };
    let next = 0;
    const issue = async (receipts: number, requests = atOnce): Promise<number> => {
      const [from, to] = [systemClock.monotonic(), next + receipts];
      await Promise.all(
        Array.from({ length: requests }, async () => {
          while (next < to) await service.issue(client, answerTo(next++));
        }),
      );
      return (1_000 * receipts) / (systemClock.monotonic() - from);
    };
    await issue(WARM_UP);
    const fewer = await issue(count, Math.ceil(atOnce / FEWER));
    let issued = 0;
    const issueUs = await coreTime(async () => {
      issued = await issue(count);
    });
    const { jws } = await service.issue(client, answerTo(0));
    // All but the signature and its dot.
    const signedBytes = jws.lastIndexOf('.');
    let control = 0;
    const signUs = await coreTime(async () => {
      control = signatures(count, signedBytes);
    });
    const verifyMs = verified(jws, jwksOf(service.keys.list()));
    // Before the batches, whose leaves are counted like receipts.
    const { receipts, own, parts } = store.bytes();
    const batchUs = await coreTime(() => batched(service, count * BATCHED));
    const rows = [
      row('signed verdicts', issued, '1/s', { atLeast: SIGNED_MIN }, control),
      row('  with half as many requests at the same time', fewer, '1/s'),
      row('core time of a signed verdict', issueUs / count, 'µs', null, signUs / count),
      row('receipt verified with its signature', verifyMs, 'ms', { atMost: VERIFY_MS_MAX }),
      row('core time that a batch adds to an answer', batchUs / (count * BATCHED), 'µs'),
      row('of one receipt', own / receipts, 'bytes', { atMost: BYTES_MAX }),
      row('parts that receipts share, for each', parts / receipts, 'bytes'),
    ];
    return report(
      'receipts',
      startedAt,
      { receipts: count, atOnce, entities: ENTITIES, lists: lists.length, signedBytes },
      rows,
    );
  } finally {
    await log.close();
    await logStore.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the microseconds of processor time that some work takes, in all threads of the process. */
async function coreTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Adds answers to batches, which are signed and stored meanwhile. */
async function batched(receipts: Pick<Receipts, 'issueBatch'>, count: number): Promise<void> {
  const batches = new ReceiptBatches({
    receipts: () => receipts,
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const out = Buffer.alloc(4_096);
  const length = out.write(`{"address":"0x${'0'.repeat(40)}","reasons":"${'x'.repeat(ANSWER_BYTES)}"}`);
  for (let number = 0; number < count; number++) {
    batches.write(out, 0, length);
    // As a server, which answers other requests meanwhile.
    if (number % 1_000 === 999) await new Promise((resolve) => setImmediate(resolve));
  }
  await batches.stop();
}

/** Returns the milliseconds in which a receipt is verified. */
function verified(jws: string, jwks: ReceiptJwks): number {
  for (let number = 0; number < VERIFIED; number++) verifyJws(jws, jwks);
  const from = systemClock.monotonic();
  for (let number = 0; number < VERIFIED; number++) verifyJws(jws, jwks);
  return (systemClock.monotonic() - from) / VERIFIED;
}

/** Returns the signatures a second over some bytes, on one thread. */
function signatures(count: number, size: number): number {
  const { privateKey } = generateKeyPairSync('ed25519');
  const signer = sodiumSigner(privateKey) ?? nodeSigner(privateKey);
  const [bytes, signature] = [systemRandom.bytes(size), Buffer.alloc(SIGNATURE_BYTES)];
  const from = systemClock.monotonic();
  for (let number = 0; number < count; number++) signer.sign(bytes, signature);
  return (1_000 * count) / (systemClock.monotonic() - from);
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  publish(
    await benchReceipts({
      receipts: argument('--receipts', DEFAULTS.receipts),
      atOnce: argument('--at-once', DEFAULTS.atOnce),
    }),
  );
