/** The runtime of Solana's validators (litesvm), with one block per transaction, behind the methods and the WebSocket of its RPC. */
import type { AddressInfo } from 'node:net';
import { base58 } from '@scure/base';
import {
  type Keypair,
  PublicKey,
  SystemInstruction,
  SystemProgram,
  Transaction,
  TransactionInstruction,
} from '@solana/web3.js';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { type WebSocket, WebSocketServer } from 'ws';
import { base58OfPrefix, jsonRpc, type Loose, RpcFault, startStandIn } from '../stand-in.ts';

export const TOKEN = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';

export const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
export const token = (data: readonly Uint8Array[], accounts: readonly PublicKey[], signer?: PublicKey) =>
  new TransactionInstruction({
    programId: TOKEN,
    data: Buffer.concat(data),
    keys: [
      ...accounts.map((pubkey) => ({ pubkey, isSigner: false, isWritable: true })),
      ...(signer === undefined ? [] : [{ pubkey: signer, isSigner: true, isWritable: false }]),
    ],
  });

/** Formats an instruction as a node's parser does. */
function parse(instruction: TransactionInstruction): Loose {
  const programId = instruction.programId.toBase58();
  const key = (index: number): string => instruction.keys[index]!.pubkey.toBase58();
  const parsedInstruction = (type: string, info: object) => ({ programId, parsed: { type, info } });
  if (instruction.programId.equals(SystemProgram.programId)) {
    if (SystemInstruction.decodeInstructionType(instruction) === 'Transfer') {
      const { lamports } = SystemInstruction.decodeTransfer(instruction);
      return parsedInstruction('transfer', { source: key(0), destination: key(1), lamports });
    }
    const { lamports } = SystemInstruction.decodeCreateAccount(instruction);
    return parsedInstruction('createAccount', { source: key(0), newAccount: key(1), lamports });
  }
  const amount = (): string => instruction.data.readBigUInt64LE(1).toString();
  const kind = instruction.data[0];
  if (kind === 3)
    return parsedInstruction('transfer', {
      source: key(0),
      destination: key(1),
      authority: key(2),
      amount: amount(),
    });
  if (kind === 6)
    return parsedInstruction('setAuthority', {
      account: key(0),
      authority: key(1),
      authorityType: 'accountOwner',
      newAuthority: base58.encode(instruction.data.subarray(3, 35)),
    });
  if (kind === 7)
    return parsedInstruction('mintTo', {
      mint: key(0),
      account: key(1),
      mintAuthority: key(2),
      amount: amount(),
    });
  if (kind === 18)
    return parsedInstruction('initializeAccount3', {
      account: key(0),
      mint: key(1),
      owner: base58.encode(instruction.data.subarray(1, 33)),
    });
  return parsedInstruction('initializeMint2', { mint: key(0) });
}

interface Subscribed {
  readonly method: 'slotSubscribe' | 'logsSubscribe';
  /** The address subscribed to; null for all addresses. */
  readonly mentions: string | null;
  readonly socket: WebSocket;
}

/** Starts the node's second port (solana.com/docs/rpc/websocket): it accepts subscriptions and sends notices, but answers no queries. */
async function startNotices() {
  const subscriptions = new Map<number, Subscribed>();
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await new Promise<void>((resolve) => server.once('listening', resolve));
  /** The methods that were called, in order. */
  const requests: string[] = [];
  let last = 23_000;
  server.on('connection', (socket) => {
    socket.on('error', () => {});
    socket.on('close', () => {
      for (const [id, row] of subscriptions) if (row.socket === socket) subscriptions.delete(id);
    });
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(String(data)) as Loose;
      // Clients send `ping` without an id.
      if (id === undefined) return;
      requests.push(method);
      const answer = (more: object): void => socket.send(JSON.stringify({ jsonrpc: '2.0', ...more, id }));
      if (method === 'slotUnsubscribe' || method === 'logsUnsubscribe')
        return answer({ result: subscriptions.delete(params[0]) });
      if (method !== 'slotSubscribe' && method !== 'logsSubscribe')
        return answer({ error: { code: -32601, message: 'Method not found' } });
      const mentions = method === 'logsSubscribe' ? (params[0].mentions?.[0] ?? null) : null;
      subscriptions.set(++last, { method, mentions, socket });
      answer({ result: last });
    });
  });
  return {
    requests,
    subscriptions,
    connections: () => server.clients.size,
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tell(method: Subscribed['method'], names: readonly string[], result: object): void {
      for (const [subscription, row] of subscriptions)
        if (row.method === method && (row.mentions === null || names.includes(row.mentions)))
          row.socket.send(
            JSON.stringify({
              jsonrpc: '2.0',
              method: method.replace('Subscribe', 'Notification'),
              params: { result, subscription },
            }),
          );
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const client of server.clients) client.terminate();
        server.close(() => resolve());
      }),
  };
}

export async function startRuntime() {
  const svm = new LiteSVM();
  const notices = await startNotices();
  const blocks: {
    readonly slot: number;
    readonly keys: readonly string[];
    readonly failed: boolean;
    readonly hash: string;
    readonly transaction: Loose;
  }[] = [];
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
  /** Runs one transaction in a block of its own and returns whether it succeeded. */
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
    const preBalances = keys.map((key) => svm.getBalance(key as Loose) ?? 0n);
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
      keys,
      failed,
      hash: base58OfPrefix('', 44, `svm ${slot}`),
      transaction: {
        transaction: {
          signatures: [base58.encode(new Uint8Array(tx.signature!))],
          message: { accountKeys: keys.map((pubkey) => ({ pubkey })), instructions: instructions.map(parse) },
        },
        meta: {
          err: failed ? 'failed' : null,
          innerInstructions: [],
          fee: 5_000 * tx.signatures.length,
          preBalances,
          postBalances: keys.map((key) => svm.getBalance(key as Loose) ?? 0n),
          preTokenBalances,
          postTokenBalances: tokenBalances(keys),
        },
      },
    });
    svm.expireBlockhash();
    notices.tell('slotSubscribe', keys, { parent: slot - 1, root: slot - 32, slot });
    notices.tell('logsSubscribe', keys, {
      context: { slot },
      value: {
        signature: base58.encode(new Uint8Array(tx.signature!)),
        err: failed ? { InstructionError: [0, 'Custom'] } : null,
        logs: (failed ? ran.meta() : ran).logs(),
      },
    });
    return !failed;
  }
  const signatureOf = ({ transaction }: { readonly transaction: Loose }): string =>
    transaction.transaction.signatures[0];
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
      getSignaturesForAddress: ([address, { limit, before }]: [
        string,
        { limit: number; before?: string },
      ]) => {
        const named = blocks.filter(({ keys }) => keys.includes(address)).toReversed();
        const from = before === undefined ? 0 : named.findIndex((row) => signatureOf(row) === before) + 1;
        return named.slice(from, from + limit).map((row) => ({
          signature: signatureOf(row),
          slot: row.slot,
          err: row.failed ? {} : null,
        }));
      },
      getTransaction: ([signature]: [string]) => {
        const block = blocks.find((row) => signatureOf(row) === signature);
        return block === undefined
          ? null
          : { slot: block.slot, blockTime: timeOf(block.slot), ...block.transaction };
      },
      getBlock: ([slot]: [number]) => {
        const block = blocks.find((each) => each.slot === slot);
        if (block === undefined) throw new RpcFault(-32004, `Block not available for slot ${slot}`);
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
  return {
    svm,
    run,
    first,
    notices,
    url: standIn.url,
    requests: standIn.requests,
    async close() {
      await notices.close();
      await standIn.close();
    },
  };
}
