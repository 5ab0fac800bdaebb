/** Invoices on TRON, Solana and Dogecoin, against stand-ins that answer in the documented form of their nodes. */
import { describe, expect, it } from 'vitest';
import type { Invoice } from '../../../src/billing/records.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { ChainAdapter } from '../../../src/chains/families/port.ts';
import { openAdapter as openSolana } from '../../../src/chains/families/solana/adapter.ts';
import { openAdapter as openTron } from '../../../src/chains/families/tron/adapter.ts';
import { openAdapter as openUtxo } from '../../../src/chains/families/utxo/adapter.ts';
import { outputScriptOf } from '../../../src/chains/families/utxo/wire.ts';
import type { ChainId } from '../../../src/chains/registry.ts';
import { tempFolder } from '../../accounts/temp-folder.ts';
import {
  accountOf,
  answer,
  base58OfPrefix,
  hex32,
  jsonRpc,
  type Loose,
  makeChain,
  RpcFault,
  startStandIn,
} from '../../chains/families/stand-in.ts';
import { openFor } from '../../conformance/adapter.ts';
import { type CryptoWorld, eventually, openCryptoWorld, SOL_ADDRESS } from './world.ts';

/** Opens billing over one adapter, runs a test and closes everything. */
async function inWorld(
  chain: ChainId,
  adapter: ChainAdapter,
  stop: () => Promise<void>,
  test: (world: CryptoWorld, is: (invoice: Invoice, state: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const folder = tempFolder();
  const world = await openCryptoWorld({ folder: folder.path, adapters: { [chain]: adapter } });
  await world.crypto.start();
  try {
    await test(world, (invoice, state) =>
      eventually(
        () => world.invoice(invoice).state === state,
        () => world.invoice(invoice),
      ),
    );
  } finally {
    await world.close();
    await adapter.close();
    await stop();
    folder.remove();
  }
}

/** A chain whose next block has given contents. */
function growing<T>(options: Omit<Parameters<typeof makeChain<T>>[0], 'contents'>) {
  const chain = makeChain<T>({ ...options, contents: [[], []] });
  return {
    ...chain,
    async mine(items: readonly T[] = []): Promise<void> {
      await chain.mine();
      const block = chain.blocks.pop()!;
      chain.blocks.push({ ...block, items });
    },
  };
}

describe('TRON', () => {
  const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
  const GENESIS = '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc';
  const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  const hex = (address: string): string =>
    Buffer.from(parseAddress('TRON', address).key.subarray(2)).toString('hex');
  const alice = accountOf('TRON', 1);

  it('is paid in USDT to an address of its own, and final after 20 blocks', async () => {
    const chain = growing<{ to: string; amount: bigint }>({
      ...{ first: 70_000_000, secondsApart: 3, hash: (height, branch) => hex32(`tron ${height} ${branch}`) },
    });
    type TronBlock = ReturnType<typeof chain.head>;
    const idOf = (block: TronBlock, index: number): string => hex32(`${block.hash} ${index}`);
    const wireBlock = (block: TronBlock) => ({
      blockID: block.hash,
      block_header: {
        raw_data: { number: block.height, parentHash: block.parentHash, timestamp: block.timeS * 1000 },
      },
      transactions: block.items.map((_, index) => ({
        txID: idOf(block, index),
        ret: [{ contractRet: 'SUCCESS' }],
        raw_data: {
          contract: [
            {
              type: 'TriggerSmartContract',
              parameter: { value: { owner_address: `41${hex(alice)}`, contract_address: `41${hex(USDT)}` } },
            },
          ],
        },
      })),
    });
    const standIn = await startStandIn(({ path, body }) => {
      const method = path.split('/').at(-1);
      if (method === 'getnowblock') return answer(wireBlock(chain.head()));
      if (method === 'getblockbynum' && body.num === 0)
        return answer({ blockID: GENESIS, block_header: { raw_data: { parentHash: '0'.repeat(64) } } });
      if (method === 'triggerconstantcontract')
        return answer({ result: { result: true }, constant_result: [(6).toString(16).padStart(64, '0')] });
      const block = chain.at(body.num);
      if (method === 'getblockbynum') return answer(block === undefined ? {} : wireBlock(block));
      return answer(
        (block?.items ?? []).map(({ to, amount }, index) => ({
          ...{ id: idOf(block!, index), blockNumber: block!.height, blockTimeStamp: block!.timeS * 1000 },
          log: [
            {
              address: hex(USDT),
              topics: [TRANSFER, hex(alice).padStart(64, '0'), hex(to).padStart(64, '0')],
              data: amount.toString(16).padStart(64, '0'),
            },
          ],
          internal_transactions: [],
        })),
      );
    });
    const family = { openAdapter: openTron, layouts: { rpc: 'trongrid', history: 'trongrid' } };
    const adapter = openFor(family, 'TRON', { rpc: [standIn.url] });
    await inWorld('TRON', adapter, standIn.close, async (world, is) => {
      world.usd[USDT] = 1;
      const invoice = await world.order('TRON:USDT');
      const { address } = invoice.details.crypto!;
      expect(address).toBe('TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH');
      await chain.mine([{ to: address, amount: 199_000_000n }]);
      await is(invoice, 'PROCESSING');
      for (let block = 0; block < 19; block++) await chain.mine();
      await is(invoice, 'SETTLED');
      expect(await world.credits()).toBe(100);
      expect(world.invoice(invoice).payments[0]!.facts.payers).toContain(alice);
      expect(await world.crypto.compareWithChains()).toMatchObject({ payments: 1, faults: [] });
    });
  });
});

describe('Solana', () => {
  const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
  const SYSTEM = '11111111111111111111111111111111';
  const alice = accountOf('SOL', 1);

  it('is paid with a reference key, and a payment without it is of no invoice', async () => {
    interface Paid {
      readonly reference: string;
      readonly lamports: number;
    }
    const chain = growing<Paid>({
      ...{ first: 300_000_000, secondsApart: 1, hash: (h, b) => base58OfPrefix('', 44, `sol ${h} ${b}`) },
    });
    const sign = (block: { hash: string }, index: number): string =>
      base58OfPrefix('', 88, `${block.hash} ${index}`);
    const wire = (block: { hash: string }, { reference, lamports }: Paid, index: number) => ({
      transaction: {
        signatures: [sign(block, index)],
        message: {
          accountKeys: [alice, SOL_ADDRESS, reference].map((pubkey, at) => ({
            ...{ pubkey, signer: at === 0, writable: at < 2 },
          })),
          instructions: [
            {
              ...{ programId: SYSTEM, program: 'system' },
              parsed: { type: 'transfer', info: { source: alice, destination: SOL_ADDRESS, lamports } },
            },
          ],
        },
      },
      meta: { err: null, innerInstructions: [], preTokenBalances: [], postTokenBalances: [] },
    });
    const rows = () =>
      chain.blocks
        .flatMap((block) => block.items.map((item, index) => ({ block, item, index })))
        .toReversed();
    const standIn = await startStandIn(
      jsonRpc({
        getGenesisHash: () => GENESIS,
        getSlot: () => chain.head().height,
        getBlocks: ([from, to]: [number, number]) =>
          chain.blocks.map(({ height }) => height).filter((slot) => slot >= from && slot <= to),
        getBlock: ([slot]: [number]) => {
          const block = chain.at(slot);
          if (block === undefined) throw new RpcFault(-32004, `Block not available for slot ${slot}`);
          return {
            ...{ blockhash: block.hash, previousBlockhash: block.parentHash, parentSlot: slot - 1 },
            ...{ blockTime: block.timeS, blockHeight: slot - 1_000 },
          };
        },
        getSignaturesForAddress: ([address]: [string]) =>
          rows()
            .filter(({ item }) => item.reference === address)
            .map(({ block, index }) => ({ signature: sign(block, index), slot: block.height, err: null })),
        getTransaction: ([signature]: [string]) => {
          const found = rows().find(({ block, index }) => sign(block, index) === signature);
          if (found === undefined) return null;
          const { block, item, index } = found;
          return { slot: block.height, blockTime: block.timeS, ...wire(block, item, index) };
        },
      } as Loose),
    );
    const family = { openAdapter: openSolana, layouts: { rpc: 'json-rpc', history: 'json-rpc' } };
    const adapter = openFor(family, 'SOL', { rpc: [standIn.url] });
    await inWorld('SOL', adapter, standIn.close, async (world, is) => {
      const [invoice, other] = [await world.order('SOL'), await world.order('SOL')];
      const { reference, address, uri } = invoice.details.crypto!;
      expect(address).toBe(SOL_ADDRESS);
      expect(uri).toBe(`solana:${SOL_ADDRESS}?amount=1.32666667&reference=${reference}`);
      expect(reference).not.toBe(other.details.crypto!.reference);
      const lamports = Number(invoice.due.amount);
      await chain.mine([
        { reference: reference!, lamports },
        { reference: accountOf('SOL', 9), lamports },
      ]);
      await is(invoice, 'PROCESSING');
      for (let slot = 0; slot < 32; slot++) await chain.mine();
      await is(invoice, 'SETTLED');
      expect(await world.credits()).toBe(100);
      expect(world.invoice(other)).toMatchObject({ state: 'NEW', payments: [] });
      expect(await world.crypto.compareWithChains()).toMatchObject({ payments: 1, faults: [] });
    });
  });
});

describe('Dogecoin', () => {
  const GENESIS = '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691';

  it('is booked after 20 blocks of Dogecoin Core', async () => {
    const chain = growing<Loose>({ first: 5_000_000, hash: (h, b) => hex32(`doge ${h} ${b}`) });
    const sender = 'DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L';
    const senderScript = Buffer.from(outputScriptOf(parseAddress('DOGE', sender).key)!);
    const source = {
      txid: hex32('source'),
      vin: [{ coinbase: '00' }],
      vout: [{ n: 0, value: 5_000, scriptPubKey: { hex: senderScript.toString('hex') } }],
    };
    const standIn = await startStandIn(({ body }) => {
      const respond = (request: Loose) => {
        const methods: Record<string, (params: Loose) => unknown> = {
          getblockchaininfo: () => ({ blocks: chain.head().height, bestblockhash: chain.head().hash }),
          getblockhash: ([height]) => {
            if (height === 0) return GENESIS;
            const block = chain.at(height);
            if (block === undefined) throw new RpcFault(-8, 'Block height out of range');
            return block.hash;
          },
          getblock: ([hash]) => {
            const block = chain.blocks.find((one) => one.hash === hash)!;
            const coinbase = { ...source, txid: hex32(`coinbase ${hash}`) };
            return {
              ...{ hash, height: block.height, time: block.timeS, previousblockhash: block.parentHash },
              tx: [coinbase, ...block.items],
            };
          },
          getrawmempool: () => [],
        };
        try {
          return { id: request.id, result: methods[request.method]!(request.params), error: null };
        } catch (error) {
          if (!(error instanceof RpcFault)) throw error;
          return { id: request.id, result: null, error: { code: error.code, message: error.message } };
        }
      };
      return answer(Array.isArray(body) ? body.map(respond) : respond(body));
    });
    const family = { openAdapter: openUtxo, layouts: { rpc: 'json-rpc', history: 'blockbook' } };
    const adapter = openFor(family, 'DOGE', { rpc: [standIn.url] });
    await inWorld('DOGE', adapter, standIn.close, async (world, is) => {
      const invoice = await world.order('DOGE');
      expect(invoice.due).toMatchObject({ asset: 'DOGE', amount: '199000000000' });
      const script = outputScriptOf(parseAddress('DOGE', invoice.details.crypto!.address).key)!;
      const payment = {
        txid: hex32('payment'),
        vin: [
          {
            txid: source.txid,
            vout: 0,
            prevout: { value: 5_000, scriptPubKey: { hex: senderScript.toString('hex') } },
          },
        ],
        vout: [{ n: 0, value: 1_990, scriptPubKey: { hex: Buffer.from(script).toString('hex') } }],
      };
      await chain.mine([payment]);
      await is(invoice, 'PROCESSING');
      for (let block = 0; block < 19; block++) await chain.mine();
      await is(invoice, 'SETTLED');
      expect(await world.credits()).toBe(100);
      expect(world.invoice(invoice).payments[0]!.facts.payers).toBe(sender);
    });
  });
});
