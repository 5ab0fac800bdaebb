/**
 * Real Bitcoin and Bitcoin Cash nodes on regtest: bcoin and bcash, installed below node_modules/.cache at first use, from a lockfile of
 * their own. Blocks pay a key of the tests, which also signs.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { payments, Block as RawBlock, Transaction as RawTransaction, script } from 'bitcoinjs-lib';
import { SigningKey } from 'ethers';
import { projectRoot } from '../../src/base/paths.ts';
import { freePort } from './free-port.ts';
import { installedPackages } from './installed-packages.ts';
import { type BitcoinNode, ended, rpcOf, untilReady } from './litecoind.ts';

const source = join(projectRoot, 'test', 'setup', 'nodes');

const packages = installedPackages('nodes');
export const hasBcoin = packages !== null;

const key = new SigningKey(`0x${'17'.repeat(32)}`);
const publicKey = Buffer.from(key.compressedPublicKey.slice(2), 'hex');
const own = payments.p2pkh({ pubkey: publicKey, network: regtest() });

/** Prefixes of regtest as bcoin and bcash write them. */
function regtest() {
  return {
    messagePrefix: '',
    bech32: 'rb',
    bip32: { public: 0x043587cf, private: 0x04358394 },
    pubKeyHash: 0x3c,
    scriptHash: 0x26,
    wif: 0xef,
  };
}

/** The output script of the tests' own key. */
export const ownScript = Buffer.from(own.output as Uint8Array);

/** BIP 143 with the number of the fork, by which Bitcoin Cash signs (replay protected sighash). */
const SIGHASH_ALL_FORKID = 0x41;

export interface Bcoin extends BitcoinNode {
  mine(blocks?: number): Promise<void>;
  /** Adds an empty block with a coinbase of the caller's. */
  mineTagged(tag: string, outputs: Mined['outputs']): Promise<void>;
  /** Replaces the newest blocks with empty ones, and adds one: these nodes reorganise only to a longer branch. */
  reorg(depth: number): Promise<void>;
  /** Spends the coinbase of a block that pays the tests' key, returns the rest minus a fee to that key, and returns the transaction id. */
  pay(
    height: number,
    outputs: readonly { readonly script: Uint8Array; readonly value: bigint }[],
  ): Promise<string>;
}

/** Content of a coinbase: the bytes behind the height, and the payees. */
interface Mined {
  readonly tag: Uint8Array;
  readonly outputs: readonly { readonly script: Uint8Array; readonly value: bigint }[];
}

/** Makes an empty block on another one, with the small proof of work of regtest. `branch` makes it differ from all others. */
function emptyBlock(
  parent: { readonly hash: string; readonly time: number; readonly bits: number },
  height: number,
  branch: number,
  { tag = Buffer.alloc(60, branch), outputs = [{ script: ownScript, value: 1_000n }] }: Partial<Mined> = {},
): RawBlock {
  const coinbase = new RawTransaction();
  coinbase.addInput(
    Buffer.alloc(32),
    0xffff_ffff,
    0xffff_ffff,
    script.compile([script.number.encode(height), tag]),
  );
  for (const output of outputs) coinbase.addOutput(output.script, output.value);
  const block = new RawBlock();
  block.version = 0x2000_0000;
  block.prevHash = Buffer.from(parent.hash, 'hex').reverse();
  block.merkleRoot = RawBlock.calculateMerkleRoot([coinbase]);
  block.timestamp = parent.time + 1;
  block.bits = parent.bits;
  block.transactions = [coinbase];
  while (!block.checkProofOfWork()) block.nonce++;
  return block;
}

export async function startBcoin(name: 'bcoin' | 'bcash'): Promise<Bcoin> {
  if (packages === null) throw new Error(`There is no ${name}.`);
  const port = await freePort();
  const url = `http://x:secret@127.0.0.1:${port}`;
  const rpc = rpcOf(url);
  const child = spawn(process.execPath, [join(source, 'run-node.cjs'), packages, name, String(port)], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await untilReady(child, () => rpc('getblockchaininfo'));
  const { address } = own;
  let branch = 0;
  return {
    url,
    wholeBlock: [true, true],
    rpc,
    async mine(blocks = 1) {
      await rpc('generatetoaddress', blocks, address);
    },
    async mineTagged(tag, outputs) {
      const height = await rpc<number>('getblockcount');
      const parent = await rpc<{ hash: string; time: number; bits: number }>(
        'getblock',
        await rpc('getblockhash', height),
        true,
      );
      const block = emptyBlock(parent, height + 1, 0, { tag: Buffer.from(tag, 'utf8'), outputs });
      const refusal = await rpc<string | null>('submitblock', block.toHex());
      if (refusal !== null) throw new Error(`A block was refused: ${refusal}`);
    },
    async reorg(depth) {
      const height = await rpc<number>('getblockcount');
      branch++;
      let parent = await rpc<{ hash: string; time: number; bits: number }>(
        'getblock',
        await rpc('getblockhash', height - depth),
        true,
      );
      for (let above = 1; above <= depth + 1; above++) {
        const block = emptyBlock(parent, height - depth + above, branch);
        const refusal = await rpc<string | null>('submitblock', block.toHex());
        if (refusal !== null) throw new Error(`A block was refused: ${refusal}`);
        parent = { ...parent, hash: block.getId(), time: block.timestamp };
      }
    },
    async pay(height, outputs) {
      const { tx } = await rpc<{ tx: { txid: string; vout: { value: number }[] }[] }>(
        'getblock',
        await rpc('getblockhash', height),
        true,
        true,
      );
      const [coinbase] = tx;
      const value = BigInt(Math.round(coinbase!.vout[0]!.value * 1e8));
      const spent = outputs.reduce((sum, output) => sum + output.value, 10_000n);
      const raw = new RawTransaction();
      raw.version = 2;
      raw.addInput(Buffer.from(coinbase!.txid, 'hex').reverse(), 0);
      for (const output of outputs) raw.addOutput(output.script, output.value);
      raw.addOutput(ownScript, value - spent);
      const hashType = name === 'bcash' ? SIGHASH_ALL_FORKID : RawTransaction.SIGHASH_ALL;
      const digest =
        name === 'bcash'
          ? raw.hashForWitnessV0(0, ownScript, value, hashType)
          : raw.hashForSignature(0, ownScript, hashType);
      const { r, s } = key.sign(digest);
      const compact = Buffer.from(r.slice(2) + s.slice(2), 'hex');
      const der = script.signature.encode(compact, RawTransaction.SIGHASH_ALL);
      der[der.length - 1] = hashType;
      raw.setInputScript(0, script.compile([der, publicKey]));
      return rpc<string>('sendrawtransaction', raw.toHex());
    },
    stop: () => ended(child),
  };
}
