import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/solana/adapter.ts';
import { adapterConformance, openFor, within } from '../../../conformance/adapter.ts';
import { startFaultProxy } from '../../../setup/fault-proxy.ts';
import {
  accountOf,
  base58OfPrefix,
  jsonRpc,
  type Loose,
  makeChain,
  RpcFault,
  startStandIn,
} from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'json-rpc' } };
const [alice, bob, mint, aliceTokens, bobTokens, unused] = [1, 2, 3, 4, 5, 9].map((n) =>
  accountOf('SOL', n),
) as [string, string, string, string, string, string];
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
const SYSTEM = '11111111111111111111111111111111';
const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

interface Tx {
  readonly instructions: readonly Loose[];
  readonly inner?: readonly Loose[];
  readonly failed?: boolean;
  /** Overrides fields of the metadata. */
  readonly meta?: object;
}
const parsed = (programId: string, type: string, info: object) => ({
  programId,
  program: 'x',
  parsed: { type, info },
});
const pay = (source: string, destination: string, lamports: number | bigint) =>
  parsed(SYSTEM, 'transfer', { source, destination, lamports });
const contents: readonly (readonly Tx[])[] = [
  [{ instructions: [pay(bob, alice, 1_000_000_000)] }],
  [
    {
      instructions: [
        // An instruction that the node cannot parse has only accounts and data.
        { programId: accountOf('SOL', 8), accounts: [alice], data: '3Bxs' },
        parsed(TOKEN, 'transferChecked', {
          source: bobTokens,
          destination: aliceTokens,
          mint,
          authority: bob,
          tokenAmount: { amount: '2500000', decimals: 6, uiAmount: 2.5, uiAmountString: '2.5' },
        }),
      ],
      inner: [
        pay(alice, bob, 5),
        parsed(TOKEN, 'transfer', {
          source: aliceTokens,
          destination: bobTokens,
          amount: '18446744073709551615',
          authority: alice,
        }),
      ],
    },
    { instructions: [pay(bob, alice, 9)], failed: true },
  ],
  [],
  [
    {
      instructions: [
        parsed(TOKEN, 'mintTo', { mint, account: aliceTokens, mintAuthority: bob, amount: '7' }),
      ],
    },
  ],
  [{ instructions: [pay(alice, bob, 3)] }],
];
const SKIPPED = 2;

interface Asked {
  readonly transactionDetails: string;
  readonly maxSupportedTransactionVersion?: number;
}
/** Rejects clients like nodes of the main network, where most blocks have a transaction of version 1. */
function refuseBelow(version = -1): void {
  if (version < 1)
    throw new RpcFault(-32015, 'Transaction version (1) is not supported by the requesting client.');
}

async function makeWorld(blocks = contents) {
  const first = 300_000_000;
  const chain = makeChain<Tx>({
    first,
    hash: (h, b) => base58OfPrefix('', 44, `sol ${h} ${b}`),
    contents: blocks,
    secondsApart: 1,
  });
  const isSkipped = (slot: number): boolean => slot === first + SKIPPED;
  const filled = () => chain.blocks.filter(({ height }) => !isSkipped(height));
  const sign = (block: { hash: string }, index: number): string =>
    base58OfPrefix('', 88, `${block.hash} ${index}`);
  const balance = (account: number, owner: string) => ({
    accountIndex: account,
    mint,
    owner,
    uiTokenAmount: { amount: '1', decimals: 6 },
  });
  const wire = (block: { hash: string }, item: Tx, index: number) => ({
    transaction: {
      signatures: [sign(block, index)],
      message: {
        accountKeys: [alice, bob, aliceTokens, bobTokens].map((pubkey) => ({
          pubkey,
          signer: false,
          writable: true,
        })),
        instructions: item.instructions,
      },
    },
    meta: {
      err: item.failed ? { InstructionError: [0, 'Custom'] } : null,
      innerInstructions: item.inner === undefined ? [] : [{ index: 0, instructions: item.inner }],
      preTokenBalances: [balance(3, bob)],
      postTokenBalances: [balance(2, alice), balance(3, bob)],
      ...item.meta,
    },
  });
  const standIn = await startStandIn(
    jsonRpc({
      getGenesisHash: () => GENESIS,
      getSlot: () => chain.head().height,
      getBalance: ([address]: [string]) => ({
        context: { slot: chain.head().height },
        value: address === unused ? 0 : 123_456_789,
      }),
      getBlocks: ([from, to]: [number, number]) =>
        filled()
          .map(({ height }) => height)
          .filter((slot) => slot >= from && slot <= to),
      getBlock: ([slot, { transactionDetails, maxSupportedTransactionVersion }]: [number, Asked]) => {
        refuseBelow(maxSupportedTransactionVersion);
        const block = chain.at(slot);
        if (block === undefined) throw new RpcFault(-32004, `Block not available for slot ${slot}`);
        if (isSkipped(slot))
          throw new RpcFault(-32007, `Slot ${slot} was skipped, or missing due to ledger jump`);
        const below = filled().findLast(({ height }) => height < slot);
        return {
          blockhash: block.hash,
          previousBlockhash: below?.hash ?? block.parentHash,
          parentSlot: below?.height ?? slot - 1,
          blockTime: block.timeS,
          blockHeight: slot - 1_000,
          ...(transactionDetails === 'full'
            ? { transactions: block.items.map((item, index) => wire(block, item, index)) }
            : {}),
        };
      },
      getSignaturesForAddress: ([address, { limit, before }]: [
        string,
        { limit: number; before?: string },
      ]) => {
        if (address === unused) return [];
        const all = filled()
          .toReversed()
          .flatMap((block) =>
            block.items
              .map((item, index) => ({
                signature: sign(block, index),
                slot: block.height,
                err: item.failed ? {} : null,
              }))
              .toReversed(),
          );
        const start = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1;
        return all.slice(start, start + limit);
      },
      getTransaction: ([signature, { maxSupportedTransactionVersion }]: [string, Asked]) => {
        refuseBelow(maxSupportedTransactionVersion);
        for (const block of filled())
          for (const [index, item] of block.items.entries())
            if (sign(block, index) === signature)
              return { slot: block.height, blockTime: block.timeS, ...wire(block, item, index) };
        return null;
      },
    }),
  );
  return {
    standIn,
    chain: 'SOL' as const,
    rpc: standIn.url,
    history: null,
    address: alice,
    unused,
    balance: () => Promise.resolve(123_456_789n),
    historyKind: 'TRANSFERS' as const,
    busyBlock: () => Promise.resolve({ height: first + 1, items: 3 }),
    mine: chain.mine,
    reorg: chain.reorg,
    ofAnotherChain: (body: string) => body.replace(GENESIS, 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG'),
    dispose: standIn.close,
  };
}

adapterConformance('SOL over a stand-in of its RPC', family, makeWorld);

describe('transfers on Solana', () => {
  it('are lamports and tokens between the owners of token accounts, also in inner calls', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'SOL', { rpc: [world.rpc] });
    const { block } = await adapter.block(300_000_001, within(5_000));
    expect(block?.transfers).toMatchObject([
      { position: 'ix:0:0', from: alice, to: bob, amount: 5n, asset: 'SOL', decimals: 9 },
      { position: 'ix:0:1', from: alice, to: bob, amount: 2n ** 64n - 1n, asset: mint, decimals: 6 },
      { position: 'ix:1', from: bob, to: alice, amount: 2_500_000n, asset: mint, decimals: 6 },
    ]);
    const page = await adapter.history(
      alice,
      { cursor: null, limit: 50, from: null, to: null },
      within(5_000),
    );
    expect(page).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('token accounts') });
    expect(page.transfers.filter(({ blockNumber }) => blockNumber === 300_000_001)).toEqual(block?.transfers);
    expect(page.transfers).toContainEqual(
      expect.objectContaining({ from: null, to: alice, amount: 7n, asset: mint }),
    );
    await adapter.close();
    await world.dispose();
  });

  describe('with closed accounts and tokens with fees', () => {
    const WSOL = 'So11111111111111111111111111111111111111112';
    const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
    const preBalances = [10_000_000_000, 0, 3_000_000_000, 2_039_280];
    const movesOf = async (tx: Tx): Promise<Loose[]> => {
      const world = await makeWorld([[tx]]);
      const adapter = openFor(family, 'SOL', { rpc: [world.rpc] });
      const { block } = await adapter.block(300_000_000, within(5_000));
      await adapter.close();
      await world.dispose();
      return (block?.transfers ?? []).map(({ from, to, amount, asset }) => [from, to, amount, asset]);
    };
    const close = (destination: string) =>
      parsed(TOKEN, 'closeAccount', { account: aliceTokens, destination, owner: alice });

    const wsol = (accountIndex: number, owner: string) => ({
      accountIndex,
      mint: WSOL,
      owner,
      uiTokenAmount: { amount: '1', decimals: 9 },
    });
    const held = [wsol(2, alice), wsol(3, bob)];
    const wrapped = { preBalances, preTokenBalances: held, postTokenBalances: held };

    it('include SOL that its owner wraps and pays out by closing the account', async () => {
      expect(await movesOf({ instructions: [close(bob)], meta: wrapped })).toEqual([
        [alice, bob, 3_000_000_000n, 'SOL'],
      ]);
      const fresh = accountOf('SOL', 6);
      const made = {
        instructions: [
          parsed(SYSTEM, 'createAccount', { source: alice, newAccount: fresh, lamports: 5_000_000_000 }),
          parsed(TOKEN, 'initializeAccount', { account: fresh, mint: WSOL, owner: alice }),
          parsed(TOKEN, 'closeAccount', { account: fresh, destination: bob, owner: alice }),
        ],
        meta: { preBalances },
      };
      expect(await movesOf(made)).toEqual([[alice, bob, 5_000_000_000n, 'SOL']]);
    });

    it('exclude wrapping and unwrapping, and treat SOL wrapped for another as paid to it', async () => {
      const instructions = [pay(alice, aliceTokens, 7), close(alice)];
      expect(await movesOf({ instructions, meta: wrapped })).toEqual([]);
      expect(await movesOf({ instructions: [pay(bob, aliceTokens, 7)], meta: wrapped })).toEqual([
        [bob, alice, 7n, 'SOL'],
      ]);
    });

    it('include the rent of other token accounts', async () => {
      const instructions = [pay(alice, aliceTokens, 7), close(bob)];
      expect(await movesOf({ instructions, meta: { preBalances } })).toEqual([
        [alice, aliceTokens, 7n, 'SOL'],
        [aliceTokens, bob, 3_000_000_007n, 'SOL'],
      ]);
    });

    it('include SOL that is unwrapped without closing the account, and report if it is not shown', async () => {
      const unwrap = { source: aliceTokens, destination: bob, authority: alice };
      const unwrapped = parsed(TOKEN, 'unwrapLamports', { ...unwrap, amount: '12' });
      expect(await movesOf({ instructions: [unwrapped], meta: wrapped })).toEqual([[alice, bob, 12n, 'SOL']]);
      const hidden = [
        parsed(TOKEN, 'unwrapLamports', unwrap),
        // Several instructions in one, which nodes do not parse.
        { programId: TOKEN, accounts: [aliceTokens, bobTokens, alice], data: '2UzHM' },
      ];
      for (const instruction of hidden) {
        const world = await makeWorld([[{ instructions: [instruction], meta: wrapped }]]);
        const adapter = openFor(family, 'SOL', { rpc: [world.rpc] });
        expect(await adapter.block(300_000_000, within(5_000))).toMatchObject({
          completeness: 'PARTIAL',
          note: expect.stringContaining('token programs'),
          block: { transfers: [] },
        });
        await adapter.close();
        await world.dispose();
      }
    });

    describe('and with lamports that a program moves directly', () => {
      const [start, rent] = [10_000_000_000, 2_039_280];
      /** Accounts: alice, bob, alice's and bob's token accounts. */
      const changed = (changes: readonly number[], instructions: readonly Loose[] = [], fee = 5_000) => {
        const before = [start, start, rent, rent];
        const postBalances = before.map((balance, at) => balance + (changes[at] ?? 0) - (at === 0 ? fee : 0));
        return { instructions, meta: { preBalances: before, postBalances, fee } };
      };

      it('include those of one payer, or to one payee, beside those of instructions', async () => {
        expect(await movesOf(changed([0, 0]))).toEqual([]);
        expect(await movesOf(changed([-7, 7], [pay(alice, bob, 7)]))).toEqual([[alice, bob, 7n, 'SOL']]);
        expect(await movesOf(changed([20, -30, 10]))).toEqual([
          [bob, alice, 20n, 'SOL'],
          [bob, aliceTokens, 10n, 'SOL'],
        ]);
        expect(await movesOf(changed([-20 - 4, 30 + 4, -10], [pay(alice, bob, 4)]))).toEqual([
          [alice, bob, 4n, 'SOL'],
          [alice, bob, 20n, 'SOL'],
          [aliceTokens, bob, 10n, 'SOL'],
        ]);
      });

      it('name no other side if several paid several, and report it', async () => {
        const world = await makeWorld([[changed([-20, -10, 25, 5])]]);
        const adapter = openFor(family, 'SOL', { rpc: [world.rpc] });
        const answer = await adapter.block(300_000_000, within(5_000));
        expect(answer).toMatchObject({ completeness: 'PARTIAL', note: expect.stringContaining('who paid') });
        expect(answer.block?.transfers.map(({ from, to, amount }) => [from, to, amount])).toEqual([
          [alice, null, 20n],
          [bob, null, 10n],
          [null, aliceTokens, 25n],
          [null, bobTokens, 5n],
        ]);
        await adapter.close();
        await world.dispose();
      });

      it('exclude what balances that do not add up seem to show', async () => {
        expect(await movesOf(changed([0, 50]))).toEqual([]);
        const { meta, instructions } = changed([-50, 50]);
        const postBalances = meta.postBalances.slice(1);
        expect(await movesOf({ instructions, meta: { ...meta, postBalances } })).toEqual([]);
      });
    });

    it('include wrapped SOL that arrived in the same transaction', async () => {
      const instructions = [
        parsed(TOKEN, 'transfer', {
          source: bobTokens,
          destination: aliceTokens,
          amount: '30',
          authority: bob,
        }),
        close(bob),
      ];
      const meta = { ...wrapped, preBalances: [1, 1, 4, 100] };
      expect(await movesOf({ instructions, meta })).toEqual([
        [bob, alice, 30n, WSOL],
        [alice, bob, 34n, 'SOL'],
      ]);
    });

    it('have the received amount if the token withholds a fee', async () => {
      const tokenAmount = { amount: '1000', decimals: 6 };
      const sent = { source: bobTokens, destination: aliceTokens, mint, authority: bob, tokenAmount };
      const feeAmount = { amount: '10', decimals: 6 };
      expect(
        await movesOf({
          instructions: [parsed(TOKEN_2022, 'transferCheckedWithFee', { ...sent, feeAmount })],
          meta: { postTokenBalances: [] },
        }),
      ).toEqual([[bob, aliceTokens, 990n, mint]]);
      // The plain form does not name the fee; the balances show it.
      const after = { accountIndex: 2, mint, owner: alice, uiTokenAmount: { amount: '980', decimals: 6 } };
      expect(
        await movesOf({
          instructions: [parsed(TOKEN_2022, 'transferChecked', sent)],
          meta: { postTokenBalances: [after] },
        }),
      ).toEqual([[bob, alice, 980n, mint]]);
    });
  });

  it('end with the budget of the call if a later request hangs', async () => {
    const world = await makeWorld();
    const slow = await startFaultProxy(world.rpc);
    const adapter = openFor(family, 'SOL', { rpc: [slow.url] });
    const query = { cursor: null, limit: 50, from: null, to: null };
    await adapter.head(within(5_000));
    // The list of signatures is answered, but the transactions that it names are not.
    slow.rewrite = (body) => {
      if (body.includes('signature')) slow.fault = 'hang';
      return body;
    };
    await expect(adapter.history(alice, query, within(400))).rejects.toMatchObject({ code: 'CHAIN_TIMEOUT' });
    await adapter.close();
    await slow.close();
    await world.dispose();
  });

  it('have an empty block with the hash of the one below for a skipped slot', async () => {
    const world = await makeWorld();
    const adapter = openFor(family, 'SOL', { rpc: [world.rpc] });
    const [below, skipped, above] = await Promise.all(
      [1, 2, 3].map(async (n) => (await adapter.block(300_000_000 + n, within(5_000))).block),
    );
    expect(skipped).toMatchObject({ hash: below?.hash, parentHash: below?.hash, transfers: [] });
    expect(above?.parentHash).toBe(skipped?.hash);
    await adapter.close();
    await world.dispose();
  });
});
