/** A paced mix of requests as many clients would send it, and a check of every response. */
import { randomUUID } from 'node:crypto';
import { powerLawAddress } from '../../scripts/power-law-graph.ts';
import { sleep } from '../support/wait.ts';
import { GRAPH } from './world.ts';

/** Sends one request; throws if the response is wrong. */
type Send = (target: Target, turn: number) => Promise<void>;

export interface Target {
  readonly url: string;
  readonly keys: readonly string[];
}

interface Kind {
  readonly perSecond: number;
  readonly send: Send;
}

/** Requests in flight at once; beyond them a turn is skipped, so that a busy machine gets less load and not a growing queue. */
const IN_FLIGHT_MAX = 64;
const TICK_MS = 10;
const BULK_ADDRESSES = 100;
const JOB_LINES = 2_000;
const NAMES = ['Ivan Petrov', 'Bank Melli Iran', 'Kim Yong Chol', 'Maria Garcia Lopez', 'Lazarus Group'];

/** Spreads turns over the whole graph. */
const numberAt = (turn: number): number => (turn * 7_919) % GRAPH.addresses;
const knownAt = (turn: number): string => powerLawAddress(numberAt(turn));
const unknownAt = (turn: number): string => `0x${(turn + 1).toString(16).padStart(40, 'e')}`;

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly status?: number;
}

async function ask<Answer>(target: Target, turn: number, request: Request): Promise<Answer> {
  const { path, body, headers, status = 200 } = request;
  const raw = typeof body === 'string';
  const response = await fetch(`${target.url}${path}`, {
    method: request.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${target.keys[turn % target.keys.length]}`,
      ...(body === undefined ? {} : { 'content-type': raw ? 'application/x-ndjson' : 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== status)
    throw new Error(`${request.method ?? ''} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return (
    response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text
  ) as Answer;
}

function must(holds: boolean, what: string, answer: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(answer).slice(0, 500)}`);
}

interface Data<T> {
  readonly data: T;
}
interface OfAddress {
  readonly address: string;
}

async function oracle(target: Target, turn: number): Promise<void> {
  const address = turn % 2 === 0 ? knownAt(turn) : unknownAt(turn);
  const path = `/api/v1/oracle/address/ETH/${address}`;
  const { data } = await ask<Data<OfAddress & { verdict: string }>>(target, turn, { path });
  must(data.address.toLowerCase() === address && typeof data.verdict === 'string', 'oracle', data);
}

async function labels(target: Target, turn: number): Promise<void> {
  const address = knownAt(turn);
  const path = [
    `/api/v1/entity/${address}?chain=ETH`,
    `/api/v1/address/ETH/${address}/labels`,
    `/api/v1/sanctions/check?address=${address}&chain=ETH`,
  ][turn % 3] as string;
  const { data } = await ask<Data<OfAddress>>(target, turn, { path });
  must(data.address.toLowerCase() === address, 'labels', data);
}

async function bulk(target: Target, turn: number): Promise<void> {
  const addresses = Array.from({ length: BULK_ADDRESSES }, (_, index) =>
    knownAt(turn * BULK_ADDRESSES + index),
  );
  const body = { addresses, chain: 'ETH', verdict: turn % 2 === 0 };
  const { data } = await ask<Data<{ results: readonly unknown[] }>>(target, turn, {
    path: '/api/v1/screen/bulk',
    body,
  });
  must(data.results.length === BULK_ADDRESSES, 'bulk', data);
}

/** Every third request is sent again with its key, and must get the same response. */
async function screening(target: Target, turn: number): Promise<void> {
  const address = knownAt(turn);
  const request = {
    path: '/api/v1/screening',
    body: { address, chain: 'ETH' },
    headers: { 'idempotency-key': randomUUID() },
  };
  const first = await ask<Data<OfAddress>>(target, turn, request);
  must(first.data.address.toLowerCase() === address, 'screening', first);
  if (turn % 3 !== 0) return;
  const again = await ask<Data<OfAddress>>(target, turn, request);
  must(JSON.stringify(again.data) === JSON.stringify(first.data), 'repeated screening', again);
}

async function kyt(target: Target, turn: number): Promise<void> {
  const body = { from: knownAt(turn), to: knownAt(turn + 1), chain: 'ETH' };
  const { data } = await ask<Data<{ decision: string }>>(target, turn, { path: '/api/v1/kyt', body });
  must(['ALLOW', 'REVIEW', 'BLOCK'].includes(data.decision), 'kyt', data);
}

async function trace(target: Target, turn: number): Promise<void> {
  const address = knownAt(turn);
  const body = { address, chain: 'ETH', hops: 1 + (turn % 2) };
  const answer = await ask<Data<object>>(target, turn, { path: '/api/v1/trace', body });
  must(JSON.stringify(answer.data).includes(address), 'trace', answer);
}

async function names(target: Target, turn: number): Promise<void> {
  const asked = NAMES.map((name) => ({ name: `${name} ${turn % 100}` }));
  const answer = await ask<{ results: readonly unknown[] }>(target, turn, {
    path: '/api/v1/namescreen/bulk',
    body: { names: asked },
  });
  must(answer.results.length === asked.length, 'names', answer);
}

/** Adds a wallet, reads it and its lists, and removes it, so that the stored data keeps its size. */
async function monitoring(target: Target, turn: number): Promise<void> {
  const path = '/api/v1/monitoring/wallets';
  const address = unknownAt(turn + 2 ** 40);
  const { data } = await ask<Data<{ wallet: { id: string; walletAddress: string } }>>(target, turn, {
    path,
    body: { walletAddress: address, chain: 'ETH' },
  });
  must(data.wallet.walletAddress === address, 'wallet', data);
  for (const read of [
    `${path}/${data.wallet.id}`,
    `${path}?limit=50`,
    '/api/v1/monitoring/alerts?limit=20',
    `${path}/${data.wallet.id}/transactions?limit=20`,
  ])
    await ask(target, turn, { path: read });
  await ask(target, turn, { method: 'DELETE', path: `${path}/${data.wallet.id}` });
}

async function usage(target: Target, turn: number): Promise<void> {
  await ask(target, turn, { path: '/api/v1/usage?limit=20' });
}

async function service(target: Target, turn: number): Promise<void> {
  const text = await ask<string>(target, turn, { path: '/metrics' });
  must(text.includes('assay_ready 1'), '/metrics', text);
  await ask(target, turn, { path: '/ready' });
}

async function badRequests(target: Target, turn: number): Promise<void> {
  const bad: readonly Request[] = [
    { path: `/api/v1/oracle/address/ETH/0x${turn}`, status: 400 },
    { path: `/api/v1/nothing/${turn}`, status: 404 },
    { path: '/api/v1/screening', body: { address: knownAt(turn) }, status: 400 },
    { path: '/api/v1/kyt', body: { chain: 'ETH', unknown: 'x'.repeat(20_000) }, status: 400 },
    {
      path: '/api/v1/usage',
      headers: { authorization: `Bearer assay_live_${turn}` },
      status: 401,
    },
    { path: `/api/v1/monitoring/wallets/${turn}`, status: 404 },
  ];
  await ask(target, turn, bad[turn % bad.length] as Request);
}

/** Sends a job of NDJSON lines, reads its result and deletes it. */
async function jobs(target: Target, turn: number): Promise<void> {
  const lines = Array.from({ length: JOB_LINES }, (_, index) =>
    JSON.stringify({ address: knownAt(turn + index) }),
  );
  const begun = await ask<Data<{ job: { id: string } }>>(target, turn, {
    path: '/api/v1/jobs?kind=labels&chain=ETH',
    body: `${lines.join('\n')}\n`,
  });
  const path = `/api/v1/jobs/${begun.data.job.id}`;
  for (;;) {
    const { data } = await ask<Data<{ job: { state: string; failed: number } }>>(target, turn, { path });
    if (data.job.state === 'DONE') {
      must(data.job.failed === 0, 'job', data);
      break;
    }
    must(!['FAILED', 'CANCELLED'].includes(data.job.state), 'job', data);
    await sleep(200);
  }
  const result = await ask<string>(target, turn, { path: `${path}/result` });
  must(result.trimEnd().split('\n').length === JOB_LINES, 'result of a job', result);
  await ask(target, turn, { method: 'DELETE', path });
}

/** About 230 requests a second: half of one of two cores, so that another process on the machine changes little. */
export const KINDS = {
  oracle: { perSecond: 100, send: oracle },
  labels: { perSecond: 50, send: labels },
  bulk: { perSecond: 5, send: bulk },
  screening: { perSecond: 20, send: screening },
  kyt: { perSecond: 10, send: kyt },
  trace: { perSecond: 5, send: trace },
  names: { perSecond: 5, send: names },
  monitoring: { perSecond: 3, send: monitoring },
  usage: { perSecond: 5, send: usage },
  service: { perSecond: 1, send: service },
  bad: { perSecond: 15, send: badRequests },
  jobs: { perSecond: 0.1, send: jobs },
} as const satisfies Record<string, Kind>;
export type KindName = keyof typeof KINDS;

export interface LoadReport {
  readonly answered: Readonly<Record<string, number>>;
  /** The first failures, as sentences. */
  readonly failures: readonly string[];
}

const FAILURES_KEPT = 20;

export interface Load {
  /** Stops sending, and waits for requests in flight. */
  end(): Promise<LoadReport>;
}

/** Starts to send. @param rate factor to the pace of each kind */
export function startLoad(target: Target, names: readonly KindName[], rate = 1): Load {
  const answered: Record<string, number> = {};
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  const sent = new Map<KindName, number>();
  const startedMs = performance.now();
  let skipped = 0;

  function begin(name: KindName, turn: number): void {
    const work = KINDS[name].send(target, turn).then(
      () => {
        answered[name] = (answered[name] ?? 0) + 1;
      },
      (error: unknown) => {
        const cause = error instanceof Error ? (error.cause ?? '') : '';
        if (failures.length < FAILURES_KEPT) failures.push(`${name} ${turn}: ${error} ${cause}`);
      },
    );
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  const timer = setInterval(() => {
    const seconds = (performance.now() - startedMs) / 1_000;
    for (const name of names) {
      const due = Math.floor(seconds * KINDS[name].perSecond * rate);
      for (let turn = sent.get(name) ?? 0; turn < due; turn++) {
        if (underWay.size < IN_FLIGHT_MAX) begin(name, turn);
        else skipped++;
      }
      sent.set(name, due);
    }
  }, TICK_MS);

  return {
    async end() {
      clearInterval(timer);
      await Promise.all(underWay);
      return { answered: { ...answered, skipped }, failures };
    },
  };
}
