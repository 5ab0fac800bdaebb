import { Keypair, SystemProgram } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/solana/adapter.ts';
import type { Transfer } from '../../../../src/chains/transfer.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import type { Loose } from '../stand-in.ts';
import { startRuntime, TOKEN, token, u64 } from './runtime.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'json-rpc' } };

/** Returns a function that makes the instruction that creates an account of the token program, paid by `payer`. */
const accountMaker =
  (svm: Awaited<ReturnType<typeof startRuntime>>['svm'], payer: Keypair) =>
  (account: Keypair, space: number) =>
    SystemProgram.createAccount({
      fromPubkey: payer.publicKey,
      newAccountPubkey: account.publicKey,
      lamports: Number(svm.minimumBalanceForRentExemption(BigInt(space))),
      space,
      programId: TOKEN,
    });

describe('the real runtime of Solana', () => {
  it('has balances that match the sums of the transfers of its blocks', async () => {
    const { svm, run, first, url, close } = await startRuntime();
    const [alice, bob, mint, aliceTokens, bobTokens] = Array.from({ length: 5 }, () =>
      Keypair.generate(),
    ) as [Keypair, Keypair, Keypair, Keypair, Keypair];
    const address = (keys: Keypair): string => keys.publicKey.toBase58();
    svm.airdrop(address(alice) as Loose, 10_000_000_000n as Loose);
    const make = accountMaker(svm, alice);
    const open = (account: Keypair, owner: Keypair) =>
      token([Uint8Array.of(18), owner.publicKey.toBytes()], [account.publicKey, mint.publicKey]);
    const pay = (lamports: number) =>
      SystemProgram.transfer({ fromPubkey: alice.publicKey, toPubkey: bob.publicKey, lamports });
    const mintTo = token(
      [Uint8Array.of(7), u64(5_000_000n)],
      [mint.publicKey, aliceTokens.publicKey],
      alice.publicKey,
    );
    const give = (amount: bigint) =>
      token([Uint8Array.of(3), u64(amount)], [aliceTokens.publicKey, bobTokens.publicKey], alice.publicKey);
    const outcomes = [
      run(alice, [], [pay(2_000_000_000)]),
      run(
        alice,
        [mint],
        [
          make(mint, 82),
          token([Uint8Array.of(20, 6), alice.publicKey.toBytes(), Uint8Array.of(0)], [mint.publicKey]),
        ],
      ),
      run(
        alice,
        [aliceTokens, bobTokens],
        [make(aliceTokens, 165), open(aliceTokens, alice), make(bobTokens, 165), open(bobTokens, bob)],
      ),
      run(alice, [], [mintTo, give(1_250_000n), pay(7_000)]),
      // More than her balance: the runtime reverts the whole transaction.
      run(alice, [], [pay(9_000), give(50_000_000n)]),
    ];
    expect(outcomes).toEqual([true, true, true, true, false]);

    const adapter = openFor(family, 'SOL', { rpc: [url] });
    const transfers: Transfer[] = [];
    for (let slot = first; slot < first + outcomes.length; slot++)
      transfers.push(...((await adapter.block(slot, within(5_000))).block?.transfers ?? []));
    // The balances before and after show nothing that is not in the instructions.
    expect(transfers.filter(({ position }) => !position.startsWith('ix:'))).toEqual([]);
    const net = (party: string, asset: string): bigint =>
      transfers.reduce(
        (sum, row) =>
          row.asset !== asset
            ? sum
            : sum + (row.to === party ? row.amount : 0n) - (row.from === party ? row.amount : 0n),
        0n,
      );
    expect((await adapter.balance(address(bob), within(5_000))).balance).toBe(net(address(bob), 'SOL'));
    for (const account of [mint, aliceTokens, bobTokens])
      expect(svm.getBalance(address(account) as Loose)).toBe(net(address(account), 'SOL'));
    const held = (account: Keypair): bigint =>
      Buffer.from((svm.getAccount(address(account) as Loose) as Loose).data).readBigUInt64LE(64);
    expect(net(address(alice), address(mint))).toBe(held(aliceTokens));
    expect(net(address(bob), address(mint))).toBe(held(bobTokens));
    expect(held(bobTokens)).toBe(1_250_000n);
    await adapter.close();
    await close();
  });

  it('pays nobody by passing tokens through an account that is given away after it', async () => {
    const { svm, run, first, url, close } = await startRuntime();
    const [payer, shop, mint, own, passed] = Array.from({ length: 5 }, () => Keypair.generate()) as [
      Keypair,
      Keypair,
      Keypair,
      Keypair,
      Keypair,
    ];
    const address = (keys: Keypair): string => keys.publicKey.toBase58();
    svm.airdrop(address(payer) as Loose, 10_000_000_000n as Loose);
    const make = accountMaker(svm, payer);
    const open = (account: Keypair) =>
      token([Uint8Array.of(18), payer.publicKey.toBytes()], [account.publicKey, mint.publicKey]);
    const send = (from: Keypair, to: Keypair, amount: bigint) =>
      token([Uint8Array.of(3), u64(amount)], [from.publicKey, to.publicKey], payer.publicKey);
    const giveTo = (account: Keypair, owner: Keypair) =>
      token([Uint8Array.of(6, 2, 1), owner.publicKey.toBytes()], [account.publicKey], payer.publicKey);
    const mintTo = token(
      [Uint8Array.of(7), u64(100_000_000n)],
      [mint.publicKey, own.publicKey],
      payer.publicKey,
    );
    const outcomes = [
      run(
        payer,
        [mint, own],
        [
          make(mint, 82),
          token([Uint8Array.of(20, 6), payer.publicKey.toBytes(), Uint8Array.of(0)], [mint.publicKey]),
          make(own, 165),
          open(own),
          mintTo,
        ],
      ),
      // The new account exists only in this transaction before it is given away.
      run(
        payer,
        [passed],
        [
          make(passed, 165),
          open(passed),
          send(own, passed, 100_000_000n),
          send(passed, own, 100_000_000n),
          giveTo(passed, shop),
        ],
      ),
      // An account with tokens: they change hands with it.
      run(payer, [], [giveTo(own, shop)]),
    ];
    expect(outcomes).toEqual([true, true, true]);
    const adapter = openFor(family, 'SOL', { rpc: [url] });
    const tokens = async (slot: number): Promise<unknown[]> => {
      const { block } = await adapter.block(slot, within(5_000));
      return (block?.transfers ?? [])
        .filter(({ asset }) => asset === address(mint))
        .map(({ from, to, amount }) => [from, to, amount]);
    };
    const owner = address(payer);
    expect(await tokens(first + 1)).toEqual([
      [owner, owner, 100_000_000n],
      [owner, owner, 100_000_000n],
    ]);
    expect(await tokens(first + 2)).toEqual([[owner, address(shop), 100_000_000n]]);
    await adapter.close();
    await close();
  });
});
