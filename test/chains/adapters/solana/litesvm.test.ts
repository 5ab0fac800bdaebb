import { base58 } from '@scure/base';
import {
  Keypair,
  PublicKey,
  SystemInstruction,
  SystemProgram,
  Transaction,
  TransactionInstruction,
} from '@solana/web3.js';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/adapters/solana/adapter.ts';
import type { Transfer } from '../../../../src/chains/transfer.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import { base58OfPrefix, jsonRpc, type Loose, startStandIn } from '../stand-in.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'json-rpc' } };
const TOKEN = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
const token = (data: readonly Uint8Array[], accounts: readonly PublicKey[], signer?: PublicKey) =>
  new TransactionInstruction({
    programId: TOKEN,
    data: Buffer.concat(data),
    keys: [
      ...accounts.map((pubkey) => ({ pubkey, isSigner: false, isWritable: true })),
      ...(signer === undefined ? [] : [{ pubkey: signer, isSigner: true, isWritable: false }]),
    ],
  });

/** An instruction as a node's parser tells it. */
function parse(instruction: TransactionInstruction): Loose {
  const programId = instruction.programId.toBase58();
  const key = (index: number): string => instruction.keys[index]!.pubkey.toBase58();
  const told = (type: string, info: object) => ({ programId, parsed: { type, info } });
  if (instruction.programId.equals(SystemProgram.programId)) {
    if (SystemInstruction.decodeInstructionType(instruction) === 'Transfer') {
      const { lamports } = SystemInstruction.decodeTransfer(instruction);
      return told('transfer', { source: key(0), destination: key(1), lamports });
    }
    const { lamports } = SystemInstruction.decodeCreateAccount(instruction);
    return told('createAccount', { source: key(0), newAccount: key(1), lamports });
  }
  const amount = (): string => instruction.data.readBigUInt64LE(1).toString();
  const kind = instruction.data[0];
  if (kind === 3)
    return told('transfer', { source: key(0), destination: key(1), authority: key(2), amount: amount() });
  if (kind === 7)
    return told('mintTo', { mint: key(0), account: key(1), mintAuthority: key(2), amount: amount() });
  if (kind === 18)
    return told('initializeAccount3', {
      account: key(0),
      mint: key(1),
      owner: base58.encode(instruction.data.subarray(1, 33)),
    });
  return told('initializeMint2', { mint: key(0) });
}

/** The runtime of Solana's validators, a block for each transaction, behind the methods of its RPC. */
async function startRuntime() {
  const svm = new LiteSVM();
  const blocks: { readonly slot: number; readonly hash: string; readonly transaction: Loose }[] = [];
  const first = 1_000;
  const tokenBalances = (keys: readonly string[]) =>
    keys.flatMap((key, accountIndex) => {
      const account = svm.getAccount(key as Loose) as Loose;
      if (!account?.exists || account.programAddress !== TOKEN.toBase58() || account.data.length !== 165)
        return [];
      const data = Buffer.from(account.data);
      return [
        {
          accountIndex,
          mint: base58.encode(data.subarray(0, 32)),
          owner: base58.encode(data.subarray(32, 64)),
          uiTokenAmount: { amount: data.readBigUInt64LE(64).toString(), decimals: 6 },
        },
      ];
    });
  /** Runs one transaction in a block of its own; whether it succeeded. */
  function run(
    payer: Keypair,
    signers: readonly Keypair[],
    instructions: readonly TransactionInstruction[],
  ): boolean {
    const tx = new Transaction({
      feePayer: payer.publicKey,
      blockhash: svm.latestBlockhash(),
      lastValidBlockHeight: 1e9,
    });
    tx.add(...instructions);
    tx.sign(payer, ...signers);
    const keys = tx.compileMessage().accountKeys.map((key) => key.toBase58());
    const preTokenBalances = tokenBalances(keys);
    const signatures = Object.fromEntries(
      tx.signatures.map(({ publicKey, signature }) => [publicKey.toBase58(), new Uint8Array(signature!)]),
    );
    const ran = svm.sendTransaction({
      messageBytes: new Uint8Array(tx.serializeMessage()),
      signatures,
    } as Loose);
    const failed = ran instanceof FailedTransactionMetadata;
    const slot = first + blocks.length;
    blocks.push({
      slot,
      hash: base58OfPrefix('', 44, `svm ${slot}`),
      transaction: {
        transaction: {
          signatures: [base58.encode(new Uint8Array(tx.signature!))],
          message: { accountKeys: keys.map((pubkey) => ({ pubkey })), instructions: instructions.map(parse) },
        },
        meta: {
          err: failed ? 'failed' : null,
          innerInstructions: [],
          preTokenBalances,
          postTokenBalances: tokenBalances(keys),
        },
      },
    });
    svm.expireBlockhash();
    return !failed;
  }
  const timeOf = (slot: number): number => 1_760_000_000 + slot;
  const standIn = await startStandIn(
    jsonRpc({
      getGenesisHash: () => GENESIS,
      getSlot: () => blocks.at(-1)!.slot,
      getBlocks: ([from, to]: [number, number]) =>
        blocks.map(({ slot }) => slot).filter((slot) => slot >= from && slot <= to),
      getBalance: ([address]: [string]) => ({
        context: { slot: blocks.at(-1)!.slot },
        value: svm.getBalance(address as Loose) ?? 0n,
      }),
      getBlock: ([slot]: [number]) => {
        const block = blocks.find((each) => each.slot === slot)!;
        const parentHash = base58OfPrefix('', 44, `svm ${slot - 1}`);
        return {
          blockhash: block.hash,
          previousBlockhash: parentHash,
          parentSlot: slot - 1,
          blockTime: timeOf(slot),
          transactions: [block.transaction],
        };
      },
    }),
  );
  return { svm, run, first, standIn };
}

describe('with the real runtime of Solana', () => {
  it('transfers of its blocks add up to the balances that the runtime holds', async () => {
    const { svm, run, first, standIn } = await startRuntime();
    const [alice, bob, mint, aliceTokens, bobTokens] = Array.from({ length: 5 }, () =>
      Keypair.generate(),
    ) as [Keypair, Keypair, Keypair, Keypair, Keypair];
    const address = (keys: Keypair): string => keys.publicKey.toBase58();
    svm.airdrop(address(alice) as Loose, 10_000_000_000n as Loose);
    const make = (account: Keypair, space: number) =>
      SystemProgram.createAccount({
        fromPubkey: alice.publicKey,
        newAccountPubkey: account.publicKey,
        lamports: Number(svm.minimumBalanceForRentExemption(BigInt(space))),
        space,
        programId: TOKEN,
      });
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
      // More than she has: the runtime takes all of it back.
      run(alice, [], [pay(9_000), give(50_000_000n)]),
    ];
    expect(outcomes).toEqual([true, true, true, true, false]);

    const adapter = openFor(family, 'SOL', { rpc: [standIn.url] });
    const transfers: Transfer[] = [];
    for (let slot = first; slot < first + outcomes.length; slot++)
      transfers.push(...((await adapter.block(slot, within(5_000))).block?.transfers ?? []));
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
    await standIn.close();
  });
});
