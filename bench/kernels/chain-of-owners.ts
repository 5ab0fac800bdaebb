/**
 * A simulated UTXO chain, block by block, for clustering at any size in bounded memory: wallets that receive, pay and get change, services
 * with deposit addresses and hot wallets, and CoinJoins. Addresses are numbered in the order of their creation.
 */
import { seededUint32 } from '../../src/base/random.ts';
import type { AddressKey } from '../../src/chains/address/address.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { UtxoTransaction } from '../../src/chains/utxo-transaction.ts';
import type { NumberedTransaction } from '../../src/graph/cluster/links.ts';
import type { ClusterSource, NumberedBlock } from '../../src/graph/cluster/scan.ts';

export const BLOCK_TRANSACTIONS = 2_000;
/** Measured: addresses that a block creates. */
export const BLOCK_ADDRESSES = 3_750;
/** Wallets in use at any time. A wallet that is not used again gives its place to a new one. */
const WALLETS = 100_000;
/** A wallet ends after a payment with this chance, 1 in …: about twenty payments in a lifetime. */
const WALLET_ENDS = 20;
const SERVICES = 200;
/** Unspent addresses remembered per wallet, and deposits per service. */
const WALLET_UNSPENT_MAX = 8;
const DEPOSITS_COLLECTED = 40;
/** Blocks kept for a second reading, which a build that continues needs. */
export const KEPT_BLOCKS = 20;
/** A denomination of Whirlpool, and the value of an input that enters the pool. */
const POOL = 5_000_000;
const POOL_ENTRY = 5_020_000;
/** Whirlpool is recognised from the block on with which it began. */
const FIRST_HEIGHT = 700_000;

type Script = 'p2wpkh' | 'p2pkh';

interface Owner {
  readonly script: Script;
  readonly unspent: number[];
}

type Side = readonly [number: number, script: Script, value: number];

interface Draft {
  readonly inputs: readonly Side[];
  readonly outputs: readonly Side[];
  /** The address that gets the change; 0 if none does. */
  readonly change: number;
  readonly isCoinJoin: boolean;
}

const MODEL = parseAddress('BTC', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4').key;

/** The key of an address: its number, spread as hashes are. */
export function keyOf(number: number): AddressKey {
  const key = Buffer.from(MODEL);
  key.writeUInt32BE(Math.imul(number, 2_654_435_761) >>> 0, 2);
  key.writeUInt32BE(number, key.length - 4);
  return key;
}

/** The inverse of `keyOf`. */
export const numberOf = (key: AddressKey): number => Buffer.from(key).readUInt32BE(key.length - 4);

/** Text of the right form and length: clustering reads the kind of script from it, and no checksum. */
const textOf = (number: number, script: Script): string =>
  script === 'p2wpkh'
    ? `bc1q${number.toString(32).padStart(38, '0')}`
    : `1${number.toString(32).padStart(33, '0')}`;

const TXID = '0'.repeat(64);

/** Payments with change that two heuristics agree on, in thousandths: measured over 800,000 transactions of this chain. */
const CHANGE_LINKED = 373;
/** Attributes of links: the bit of multi-input, and that of script-type with a doubt of 60 thousandths. */
const MULTI_INPUT = 1;
const CHANGE = 2 | (60 << 8);

export interface ChainOfOwners {
  /** Addresses of the blocks made so far. */
  readonly addresses: number;
  /** The chain up to a block. Blocks are made when they are first read, and only the newest `KEPT_BLOCKS` can be read again. */
  upTo(block: number): ClusterSource;
  /**
   * Makes the blocks up to one without their texts, and calls back with the links of each transaction: of the inputs, except for those
   * of CoinJoins, and of as many changes as the heuristics find. It takes a fraction of the time of transactions.
   */
  links(block: number, onLink: (a: number, b: number, attribute: number) => void): void;
}

/** Creates the chain of a seed. */
export function createChainOfOwners(seed: number): ChainOfOwners {
  const random = seededUint32(seed);
  const below = (count: number): number => random() % count;
  let addresses = 0;
  let height = -1;
  const kept: NumberedBlock[] = [];

  const newOwner = (): Owner => ({ script: below(5) === 0 ? 'p2pkh' : 'p2wpkh', unspent: [] });
  const wallets = Array.from({ length: WALLETS }, newOwner);
  const services = Array.from({ length: SERVICES }, () => ({
    script: 'p2wpkh' as const,
    hot: ++addresses,
    deposits: [] as number[],
  }));
  /** A few services have most of the customers. */
  const anyService = () =>
    services[Math.floor(SERVICES * (below(1_000) / 1_000) ** 4)] as (typeof services)[number];
  const anyWallet = (): Owner => wallets[below(WALLETS)] as Owner;

  /** An address of a wallet that is paid: mostly a new one. */
  function receiving({ unspent }: Owner): number {
    const used = unspent.at(-1);
    if (used !== undefined && below(10) < 3) return used;
    const number = ++addresses;
    if (unspent.length < WALLET_UNSPENT_MAX) unspent.push(number);
    else unspent[below(WALLET_UNSPENT_MAX)] = number;
    return number;
  }

  /** A transaction of the block that is being made. */
  function transactionOf({ inputs, outputs }: Draft, index: number): NumberedTransaction {
    const tx: UtxoTransaction = {
      chain: 'BTC',
      txid: TXID,
      blockNumber: FIRST_HEIGHT + height,
      indexInBlock: index,
      timestampMs: height * 600_000,
      isCoinbase: inputs.length === 0,
      inputs: inputs.map(([number, script, value], vout) => ({
        txid: TXID,
        vout,
        address: textOf(number, script),
        value: BigInt(value),
      })),
      outputs: outputs.map(([number, script, value], n) => ({
        n,
        address: textOf(number, script),
        value: BigInt(value),
        script,
      })),
    };
    return { tx, inputs: inputs.map(([number]) => number), outputs: outputs.map(([number]) => number) };
  }

  /** A value with no round digits, as most have. */
  const value = (): number => 1_000_001 + 2 * below(50_000_000);

  /** A wallet with something to spend, paid first if it has nothing. */
  function spender(): Owner {
    const wallet = anyWallet();
    if (wallet.unspent.length === 0) wallet.unspent.push(++addresses);
    return wallet;
  }

  function spend(wallet: Owner, count: number): Side[] {
    return wallet.unspent.splice(0, count).map((number) => [number, wallet.script, value()] as const);
  }

  function payment(payee: Side | null): Draft {
    const at = below(WALLETS);
    const wallet = wallets[at] as Owner;
    if (wallet.unspent.length === 0) wallet.unspent.push(++addresses);
    const kind = below(20);
    const inputs = spend(wallet, kind < 12 ? 1 : kind < 17 ? 2 : 3 + below(3));
    const to = anyWallet();
    const outputs: Side[] = [payee ?? [receiving(to), to.script, 100_000 * (1 + below(300))]];
    let change = 0;
    if (below(10) < 8) {
      change = ++addresses;
      wallet.unspent.push(change);
      outputs.push([change, wallet.script, value()]);
    }
    if (below(WALLET_ENDS) === 0) wallets[at] = newOwner();
    return { inputs, outputs, change, isCoinJoin: false };
  }

  function deposit(): Draft {
    const service = anyService();
    const number = ++addresses;
    service.deposits.push(number);
    return payment([number, 'p2wpkh', value()]);
  }

  function payout(): Draft {
    const { hot } = anyService();
    const outputs = Array.from({ length: 10 }, (): Side => {
      const to = anyWallet();
      return [receiving(to), to.script, value()];
    });
    const own: Side = [hot, 'p2wpkh', value()];
    return { inputs: [own], outputs: [...outputs, own], change: 0, isCoinJoin: false };
  }

  function collection(): Draft {
    const service = services.reduce((most, one) => (one.deposits.length > most.deposits.length ? one : most));
    const inputs = [service.hot, ...service.deposits.splice(0, DEPOSITS_COLLECTED)];
    return {
      inputs: inputs.map((number) => [number, 'p2wpkh', value()]),
      outputs: [[service.hot, 'p2wpkh', value()]],
      change: 0,
      isCoinJoin: false,
    };
  }

  /** A round of Whirlpool: five owners, whose addresses must stay apart. */
  function coinJoin(): Draft {
    const inputs: Side[] = [];
    const outputs: Side[] = [];
    for (let at = 0; at < 5; at++) {
      const wallet = spender();
      const number = wallet.unspent.shift() as number;
      inputs.push([number, 'p2wpkh', at < 2 ? POOL : POOL_ENTRY]);
      outputs.push([++addresses, 'p2wpkh', POOL]);
      wallet.unspent.push(addresses);
    }
    return { inputs, outputs, change: 0, isCoinJoin: true };
  }

  function nextDraft(): Draft {
    const kind = below(1_000);
    if (kind < 3) return coinJoin();
    if (kind < 8) return collection();
    if (kind < 40) return payout();
    if (kind < 200) return deposit();
    return payment(null);
  }

  function nextBlock(): NumberedBlock {
    height++;
    const list = Array.from({ length: BLOCK_TRANSACTIONS }, (_, index) => transactionOf(nextDraft(), index));
    const block = { height, timestampMs: height * 600_000, transactions: list };
    kept.push(block);
    if (kept.length > KEPT_BLOCKS) kept.shift();
    return block;
  }

  return {
    get addresses() {
      return addresses;
    },
    upTo(last) {
      return {
        firstBlock: 0,
        lastBlock: last,
        transactions: (last + 1) * BLOCK_TRANSACTIONS,
        *blocks(from) {
          for (const block of kept.slice()) if (block.height >= from) yield block;
          while (height < last) yield nextBlock();
        },
        hashOf: (at) => `block ${at}`,
        keyOf: (number) => (number > 0 && number <= addresses ? keyOf(number) : null),
      };
    },
    links(last, onLink) {
      for (; height < last; height++)
        for (let index = 0; index < BLOCK_TRANSACTIONS; index++) {
          const { inputs, change, isCoinJoin } = nextDraft();
          const first = inputs[0]?.[0] ?? 0;
          if (!isCoinJoin)
            for (const [number] of inputs) if (number !== first) onLink(first, number, MULTI_INPUT);
          if (change > 0 && below(1_000) < CHANGE_LINKED) onLink(first, change, CHANGE);
        }
    },
  };
}
