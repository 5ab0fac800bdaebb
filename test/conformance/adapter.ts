/** The behaviour that every chain adapter shares, tested against a real node or a stub that answers in the documented format. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { parseEndpoint } from '../../src/chains/endpoints/endpoints.ts';
import type {
  AdapterDeps,
  AdapterOptions,
  Call,
  ChainAdapter,
  ChainEvent,
  OpenAdapter,
  Provenance,
} from '../../src/chains/families/port.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { checkTransfer } from '../../src/graph/check-transfer.ts';
import { FAULTS, type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts';

/** A chain with some history, as its node or stub serves it. */
export interface AdapterWorld {
  readonly chain: ChainId;
  /** `[layout+]URL` of the node, over http; null if the family has no node endpoint. */
  readonly rpc: string | null;
  /** `[layout+]URL` of the explorer or indexer, over http; null if history is not tested or comes from the node. */
  readonly history: string | null;
  /** An address with transfers, in any valid form. */
  readonly address: string;
  /** A valid address that was never used. */
  readonly unused: string;
  /** Reads the balance of `address` in the smallest unit; null if the chain hides it. */
  balance(): Promise<bigint | null>;
  /** How history is answered: with transfers, not at all (no source), or hidden by the chain. */
  readonly historyKind: 'TRANSFERS' | 'NONE' | 'OPAQUE';
  /** A block that moves value: its height, and how many transfers (on UTXO chains, transactions) it holds. */
  busyBlock(): Promise<{ height: number; items: number }>;
  /** Makes one more block; null if the stub cannot. */
  mine: (() => Promise<void>) | null;
  /** Replaces the newest `depth` blocks with others; null if neither the node nor the stub can. */
  reorg: ((depth: number) => Promise<void>) | null;
  /** Rewrites responses to those of another chain; null if the protocol does not name its chain. */
  readonly ofAnotherChain: ((body: string) => string) | null;
  dispose(): Promise<void>;
}

export interface AdapterFamily {
  readonly openAdapter: OpenAdapter;
  /** The layout of endpoints without a `layout+` prefix. */
  readonly layouts: { readonly rpc: string; readonly history: string };
}

const deps: AdapterDeps = { clock: systemClock, log: silentLogger, jitter: () => 0.5 };

/** A call with a time budget. Nothing aborts it early unless a signal is passed. */
export const within = (budgetMs: number, signal: AbortSignal = new AbortController().signal): Call => ({
  signal,
  budgetMs,
});

/** Opens an adapter over endpoints in the form in which an operator configures them. */
export function openFor(
  family: AdapterFamily,
  chain: ChainId,
  endpoints: { readonly rpc?: readonly string[]; readonly history?: readonly string[] },
  options: Partial<AdapterOptions> = {},
): ChainAdapter {
  const parse = (texts: readonly string[] | undefined, role: 'rpc' | 'history') =>
    (texts ?? []).map((text) =>
      parseEndpoint(text, { field: role, defaultLayout: family.layouts[role], own: true }),
    );
  return family.openAdapter(
    {
      chain,
      rpc: parse(endpoints.rpc, 'rpc'),
      history: parse(endpoints.history, 'history'),
      quorum: 1,
      offchainNames: false,
      ...options,
    },
    deps,
  );
}

/** Replaces the host of the target with that of the proxy and keeps the layout and the path. */
const behind = (text: string, proxy: FaultProxy): string => text.replace(/https?:\/\/[^/?]+/, proxy.url);
const hostOf = (text: string): string => /https?:\/\/[^/?]+/.exec(text)?.[0] ?? text;

/** Checks the parts of the contract that hold for transfers of any chain. */
export function expectSoundTransfers(chain: ChainId, transfers: readonly Transfer[]): void {
  const seen = new Set<string>();
  for (const transfer of transfers) {
    expect(transfer.chain).toBe(chain);
    checkTransfer(transfer);
    for (const party of [transfer.from, transfer.to])
      if (party !== null) expect(party).toBe(parseAddress(chain, party).canonical);
    const place = `${transfer.txHash} ${transfer.position}`;
    expect(seen, place).not.toContain(place);
    seen.add(place);
  }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return error instanceof AssayError ? error.code : `no AssayError: ${String(error)}`;
  }
  return 'answered';
}

/** Reads the next events of a subscription until `enough` returns true. */
async function take(
  events: AsyncIterable<ChainEvent>,
  enough: (taken: readonly ChainEvent[]) => boolean,
): Promise<ChainEvent[]> {
  const taken: ChainEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (enough(taken)) break;
  }
  return taken;
}

export function adapterConformance(
  name: string,
  family: AdapterFamily,
  makeWorld: () => Promise<AdapterWorld>,
): void {
  describe(`${name} implements the chain adapter`, () => {
    let world: AdapterWorld;
    let adapter: ChainAdapter;
    const endpointsOf = (proxy: FaultProxy | null) => {
      const through = (text: string | null): string[] =>
        text === null ? [] : [proxy === null ? text : behind(text, proxy)];
      return { rpc: through(world.rpc), history: through(world.history) };
    };

    beforeAll(async () => {
      world = await makeWorld();
      adapter = openFor(family, world.chain, endpointsOf(null));
    });
    afterAll(async () => {
      await adapter?.close();
      await world?.dispose();
    });

    const expectProvenance = (answer: Provenance): void => {
      if (answer.completeness === 'COMPLETE') expect(answer.note).toBeNull();
      else expect(answer.note).toMatch(/\.$/);
      if (answer.completeness === 'COMPLETE' || answer.completeness === 'PARTIAL')
        expect(answer.source).toMatch(/^\S+ \S+/);
      if (answer.height !== null)
        expect(Number.isSafeInteger(answer.height) && answer.height >= 0).toBe(true);
    };

    it('returns the balance, zero for an unused address, unless the chain hides it', async () => {
      const expected = await world.balance();
      const answer = await adapter.balance(world.address, within(20_000));
      expectProvenance(answer);
      expect(answer.balance).toBe(expected);
      const unused = await adapter.balance(world.unused, within(20_000));
      if (expected === null) expect(unused).toMatchObject({ completeness: 'OPAQUE', balance: null });
      else expect(unused).toMatchObject({ completeness: 'COMPLETE', balance: 0n });
    });

    it('counts transactions, or reports that it cannot', async () => {
      const answer = await adapter.transactionCount(world.address, within(20_000));
      expectProvenance(answer);
      if (answer.completeness === 'NONE' || answer.completeness === 'OPAQUE') expect(answer.count).toBeNull();
      else expect(answer.count).toBeGreaterThanOrEqual(0);
    });

    it('rejects addresses of other chains before any request', async () => {
      const foreign =
        world.chain === 'XRP'
          ? '0x00000000219ab540356cbb839cbe05303d7705fa'
          : 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh';
      for (const work of [
        adapter.balance(foreign, within(20_000)),
        adapter.transactionCount(foreign, within(20_000)),
        adapter.history(foreign, { cursor: null, limit: 10, from: null, to: null }, within(20_000)),
      ])
        expect(await codeOf(work)).toBe('INVALID_ADDRESS');
    });

    it('reads the full history of an address newest first, page by page, each transfer once', async () => {
      const query = { limit: 2, from: null, to: null };
      const page = await adapter.history(world.address, { ...query, cursor: null }, within(20_000));
      expectProvenance(page);
      if (world.historyKind !== 'TRANSFERS') {
        expect(page).toMatchObject({ completeness: world.historyKind, nextCursor: null, transfers: [] });
        return;
      }
      const transfers: Transfer[] = [];
      const heights: number[] = [];
      let items = 0;
      for (let cursor: string | null = null, pages = 0; ; pages++) {
        expect(pages).toBeLessThan(1_000);
        const next = await adapter.history(world.address, { ...query, cursor }, within(20_000));
        transfers.push(...next.transfers);
        heights.push(
          ...next.transfers.map((row) => row.blockNumber),
          ...(next.transactions ?? []).map((row) => row.blockNumber),
        );
        items += next.transfers.length + (next.transactions?.length ?? 0);
        cursor = next.nextCursor;
        if (cursor === null) break;
      }
      expect(items).toBeGreaterThan(0);
      expectSoundTransfers(world.chain, transfers);
      const own = parseAddress(world.chain, world.address).canonical;
      for (const { from, to } of transfers) expect([from, to]).toContain(own);
      expect(heights).toEqual(heights.toSorted((a, b) => b - a));
      const unused = await adapter.history(world.unused, { ...query, cursor: null }, within(20_000));
      expect(unused).toMatchObject({ transfers: [], nextCursor: null });
    });

    it('respects the range of heights', async () => {
      if (world.historyKind !== 'TRANSFERS') return;
      const all = await adapter.history(
        world.address,
        { cursor: null, limit: 50, from: null, to: null },
        within(20_000),
      );
      const heights = [...all.transfers, ...(all.transactions ?? [])].map((row) => row.blockNumber);
      const middle = heights[Math.floor(heights.length / 2)] as number;
      const part = await adapter.history(
        world.address,
        { cursor: null, limit: 50, from: middle, to: middle },
        within(20_000),
      );
      const kept = [...part.transfers, ...(part.transactions ?? [])].map((row) => row.blockNumber);
      expect(new Set(kept)).toEqual(new Set([middle]));
      expect(kept.length).toBe(heights.filter((height) => height === middle).length);
    });

    it('rejects a foreign cursor', async () => {
      if (world.historyKind !== 'TRANSFERS') return;
      for (const cursor of ['../../admin', '{"page":-1}', 'x'.repeat(5_000)]) {
        const query = { cursor, limit: 10, from: null, to: null };
        expect(await codeOf(adapter.history(world.address, query, within(20_000)))).toBe('INVALID_REQUEST');
      }
    });

    it('reads its head, and blocks with all their transfers', async () => {
      const head = await adapter.head(within(20_000));
      expectProvenance(head);
      const { height, items } = await world.busyBlock();
      expect(head.height).toBeGreaterThanOrEqual(height);
      const { block, ...provenance } = await adapter.block(height, within(20_000));
      expectProvenance(provenance as Provenance);
      expect(block).toMatchObject({ chain: world.chain, height });
      expectSoundTransfers(world.chain, block?.transfers ?? []);
      expect((block?.transfers.length ?? 0) + (block?.transactions?.length ?? 0)).toBe(items);
      for (const row of block?.transfers ?? [])
        expect(row).toMatchObject({ blockNumber: height, timestampMs: block?.timestampMs });
      const above = await adapter.block(head.height + 1_000, within(20_000));
      expect(above.block).toBeNull();
    });

    it('follows from a height without a gap', async () => {
      const head = await adapter.head(within(20_000));
      const fromHeight = Math.max(0, head.height - 3);
      const ending = new AbortController();
      const events = adapter.subscribe({ fromHeight, known: [] }, within(20_000, ending.signal));
      const total = head.height - fromHeight + 1;
      const taken = await take(events, (some) => some.length === total);
      expect(taken.map((event) => event.type === 'block' && event.block.height)).toEqual(
        Array.from({ length: total }, (_, index) => fromHeight + index),
      );
      for (const [index, event] of taken.entries()) {
        const before = taken[index - 1];
        if (event.type === 'block' && before?.type === 'block' && event.block.parentHash !== null)
          expect(event.block.parentHash).toBe(before.block.hash);
      }
      ending.abort();
    });

    it('reports new blocks and reorgs, and ends with its signal', async () => {
      const { mine, reorg } = world;
      if (mine === null) return;
      const head = await adapter.head(within(20_000));
      const ending = new AbortController();
      const events = adapter
        .subscribe({ fromHeight: head.height, known: [] }, within(20_000, ending.signal))
        [Symbol.asyncIterator]();
      expect((await events.next()).value).toMatchObject({ type: 'block', block: { height: head.height } });
      await mine();
      await mine();
      const blocks = [await events.next(), await events.next()].map(({ value }) => value as ChainEvent);
      expect(blocks).toMatchObject([
        { type: 'block', block: { height: head.height + 1 } },
        { type: 'block', block: { height: head.height + 2 } },
      ]);
      if (reorg !== null) {
        await reorg(2);
        await mine();
        const told = (await events.next()).value as ChainEvent;
        expect(told).toMatchObject({ type: 'reorg', ancestor: { height: head.height, hash: head.hash } });
        expect(told.type === 'reorg' && told.dropped.map(({ height }) => height)).toEqual([
          head.height + 2,
          head.height + 1,
        ]);
        expect((await events.next()).value).toMatchObject({
          type: 'block',
          block: { height: head.height + 1, parentHash: head.hash },
        });
      }
      const last = (async () => {
        let result = await events.next();
        while (result.done !== true) result = await events.next();
      })();
      ending.abort();
      await last;
    });

    it('ends a call with its signal or its budget', async () => {
      const proxy = await startFaultProxy(hostOf(world.rpc ?? world.history ?? ''));
      const own = openFor(family, world.chain, endpointsOf(proxy));
      try {
        proxy.fault = 'hang';
        expect(await codeOf(own.head(within(300)))).toBe('CHAIN_TIMEOUT');
        const ending = new AbortController();
        const work = own.head(within(20_000, ending.signal));
        const reason = new Error('the caller left');
        setTimeout(() => ending.abort(reason), 50);
        await expect(work).rejects.toBe(reason);
      } finally {
        await own.close();
        await proxy.close();
      }
    });

    it.each(FAULTS)('returns a typed error within the budget for a server that sends %s', async (fault) => {
      const proxy = await startFaultProxy(hostOf(world.rpc ?? world.history ?? ''));
      const own = openFor(family, world.chain, endpointsOf(proxy));
      try {
        proxy.fault = fault;
        const { height } = await world.busyBlock();
        for (const ask of [
          () => own.head(within(5_000)),
          () => own.balance(world.address, within(5_000)),
          () => own.block(height, within(5_000)),
          () => own.history(world.address, { cursor: null, limit: 10, from: null, to: null }, within(5_000)),
        ]) {
          const code = await codeOf(ask());
          expect([
            'CHAIN_BAD_ANSWER',
            'CHAIN_UNREACHABLE',
            'CHAIN_MISMATCH',
            'CHAIN_REFUSED',
            'answered',
          ]).toContain(code);
        }
        if (world.rpc !== null) expect(await codeOf(own.head(within(5_000)))).not.toBe('answered');
      } finally {
        await own.close();
        await proxy.close();
      }
    });

    it('uses the next endpoint if one fails, and returns to the first', async () => {
      if (world.rpc === null) return;
      const proxy = await startFaultProxy(hostOf(world.rpc));
      const own = openFor(family, world.chain, {
        ...endpointsOf(null),
        rpc: [behind(world.rpc, proxy), world.rpc],
      });
      try {
        proxy.fault = 'error-500';
        expect((await own.head(within(5_000))).height).toBeGreaterThan(0);
        expect(own.health()).toMatchObject({ reachable: true });
      } finally {
        await own.close();
        await proxy.close();
      }
    });

    it('rejects an endpoint of another chain', async () => {
      if (world.ofAnotherChain === null || world.rpc === null) return;
      const proxy = await startFaultProxy(hostOf(world.rpc));
      proxy.rewrite = world.ofAnotherChain;
      const own = openFor(family, world.chain, { rpc: [behind(world.rpc, proxy)] });
      try {
        expect(await codeOf(own.balance(world.address, within(5_000)))).toBe('CHAIN_MISMATCH');
        expect(own.health()).toMatchObject({ reachable: false, endpoints: [{ state: 'REFUSED' }] });
      } finally {
        await own.close();
        await proxy.close();
      }
    });

    it('fails at once if no endpoint is reachable', async () => {
      if (world.rpc === null) return;
      const proxy = await startFaultProxy(hostOf(world.rpc));
      await proxy.close();
      const own = openFor(family, world.chain, { rpc: [behind(world.rpc, proxy)] });
      try {
        expect(await codeOf(own.head(within(5_000)))).toBe('CHAIN_UNREACHABLE');
        expect(await codeOf(own.head(within(5_000)))).toBe('CHAIN_UNREACHABLE');
        expect(own.health().reachable).toBe(false);
      } finally {
        await own.close();
      }
    });

    it('reports NONE without an endpoint, and is not reachable', async () => {
      const none = openFor(family, world.chain, {});
      try {
        const hides = (await world.balance()) === null;
        expect(await none.balance(world.address, within(1_000))).toMatchObject({
          completeness: hides ? 'OPAQUE' : 'NONE',
          balance: null,
        });
        expect(
          await none.history(world.address, { cursor: null, limit: 10, from: null, to: null }, within(1_000)),
        ).toMatchObject({
          completeness: world.historyKind === 'OPAQUE' ? 'OPAQUE' : 'NONE',
          transfers: [],
          nextCursor: null,
        });
        expect(none.health()).toMatchObject({ chain: world.chain, reachable: false, endpoints: [] });
        expect(await codeOf(none.head(within(1_000)))).toBe('CHAIN_UNREACHABLE');
      } finally {
        await none.close();
      }
    });
  });
}
