/** Pairs with the interface of Uniswap v2 on a real node: tokens and a factory at real addresses, trades, and the storage of a pair. */
import { AbiCoder, Interface, zeroPadValue } from 'ethers';
import { type Anvil, contracts } from './anvil.ts';

const methods = new Interface([
  'function setDecimals(uint8 value)',
  'function give(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function createPair(address first, address second) returns (address)',
  'function getPair(address first, address second) view returns (address)',
  'function mint(address to) returns (uint256)',
  'function burn(address to)',
  'function sync()',
  'function swap(uint256 out0, uint256 out1, address to, bytes data)',
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function price0CumulativeLast() view returns (uint256)',
  'function price1CumulativeLast() view returns (uint256)',
]);
const OWNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const GAS = 5_000_000;
/** The number of storage slots that are searched for the cumulative prices of a pair. */
const SLOTS = 16;

export interface Stored {
  readonly reserve0: bigint;
  readonly reserve1: bigint;
  readonly updatedAt: bigint;
  readonly sum0: bigint;
  readonly sum1: bigint;
}

export interface Pair {
  readonly address: string;
  /** Puts a trade into the pool of transactions: `amount` of the token, or of the quote, goes in. */
  trade(of: 'token' | 'quote', amount: bigint): Promise<void>;
  add(token: bigint, quote: bigint): Promise<void>;
  /** Withdraws all liquidity. */
  drain(): Promise<void>;
  sync(): Promise<void>;
  /** The reserves of the token and of the quote. */
  reserves(): Promise<{ readonly token: bigint; readonly quote: bigint }>;
  stored(): Promise<Stored>;
  /** Overwrites one of the cumulative prices. */
  setSum(name: 'sum0' | 'sum1', value: bigint): Promise<void>;
}

export interface Pairs {
  /** Time of the newest block, in seconds. */
  seconds(): Promise<number>;
  /** Mines the waiting transactions, `later` seconds after the newest block; throws if one of them failed. */
  block(later?: number): Promise<void>;
  /** Makes empty blocks, 12 seconds apart. */
  idle(blocks: number): Promise<void>;
  createPair(
    token: { readonly address: string; readonly decimals: number; readonly amount: bigint },
    quote: { readonly address: string; readonly decimals: number; readonly amount: bigint },
  ): Promise<Pair>;
}

/** Puts a factory at an address; tokens follow with their pairs. */
export async function deployPairs(anvil: Anvil, factory: string): Promise<Pairs> {
  await anvil.rpc('anvil_setCode', factory, contracts.PairFactory!.runtime);
  let waiting: string[] = [];

  async function send(to: string, name: string, ...args: readonly unknown[]): Promise<void> {
    waiting.push(await anvil.send({ to, data: methods.encodeFunctionData(name, [...args]), gas: GAS }));
  }
  async function look(to: string, name: string, ...args: readonly unknown[]): Promise<readonly unknown[]> {
    const data = methods.encodeFunctionData(name, [...args]);
    return methods.decodeFunctionResult(name, await anvil.rpc<string>('eth_call', { to, data }, 'latest'));
  }
  /** Time of the newest block, if it is known: a test asks for it after each of hundreds of blocks. */
  let newest: number | null = null;
  const seconds: Pairs['seconds'] = async () => {
    newest ??= Number(
      (await anvil.rpc<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)).timestamp,
    );
    return newest;
  };
  const block: Pairs['block'] = async (later = 12) => {
    const next = (await seconds()) + later;
    await anvil.rpc('evm_setNextBlockTimestamp', next);
    await anvil.mine();
    newest = next;
    for (const hash of waiting) {
      const receipt = await anvil.rpc<{ status: string } | null>('eth_getTransactionReceipt', hash);
      if (receipt?.status !== '0x1') throw new Error(`The transaction ${hash} failed.`);
    }
    waiting = [];
  };

  return {
    seconds,
    block,
    idle(blocks) {
      newest = null;
      return anvil.rpc('anvil_mine', `0x${blocks.toString(16)}`, '0xc');
    },
    async createPair(token, quote) {
      for (const { address, decimals } of [token, quote]) {
        await anvil.rpc('anvil_setCode', address, contracts.PairToken!.runtime);
        await send(address, 'setDecimals', decimals);
      }
      await send(factory, 'createPair', token.address, quote.address);
      await block();
      const [address] = (await look(factory, 'getPair', token.address, quote.address)) as [string];
      const isToken0 = BigInt(token.address) < BigInt(quote.address);
      const reserves: Pair['reserves'] = async () => {
        const [reserve0, reserve1] = (await look(address, 'getReserves')) as [bigint, bigint];
        return isToken0 ? { token: reserve0, quote: reserve1 } : { token: reserve1, quote: reserve0 };
      };
      const stored: Pair['stored'] = async () => {
        const [reserve0, reserve1, updatedAt] = (await look(address, 'getReserves')) as bigint[];
        const [sum0] = (await look(address, 'price0CumulativeLast')) as bigint[];
        const [sum1] = (await look(address, 'price1CumulativeLast')) as bigint[];
        return { reserve0, reserve1, updatedAt, sum0, sum1 } as Stored;
      };
      const pair: Pair = {
        address,
        reserves,
        stored,
        async trade(of, amount) {
          const held = await reserves();
          const isOf0 = (of === 'token') === isToken0;
          const [into, out] = of === 'token' ? [held.token, held.quote] : [held.quote, held.token];
          const paid = (amount * 997n * out) / (into * 1000n + amount * 997n);
          await send((of === 'token' ? token : quote).address, 'give', address, amount);
          await send(address, 'swap', isOf0 ? 0n : paid, isOf0 ? paid : 0n, OWNER, '0x');
        },
        async add(ofToken, ofQuote) {
          await send(token.address, 'give', address, ofToken);
          await send(quote.address, 'give', address, ofQuote);
          await send(address, 'mint', OWNER);
        },
        async drain() {
          const [shares] = await look(address, 'balanceOf', OWNER);
          await send(address, 'transfer', address, shares);
          await send(address, 'burn', OWNER);
        },
        sync: () => send(address, 'sync'),
        async setSum(name, value) {
          const word = (of: bigint): string => AbiCoder.defaultAbiCoder().encode(['uint256'], [of]);
          const present = word((await stored())[name]);
          for (let slot = 0; slot < SLOTS; slot++) {
            const at = zeroPadValue(`0x${slot.toString(16).padStart(2, '0')}`, 32);
            if ((await anvil.rpc('eth_getStorageAt', address, at, 'latest')) !== present) continue;
            await anvil.rpc('anvil_setStorageAt', address, at, word(value));
            return;
          }
          throw new Error(`No slot of the pair holds ${name}.`);
        },
      };
      await pair.add(token.amount, quote.amount);
      await block();
      return pair;
    },
  };
}
