/** Pushes into real contracts on a real node: only the difference, after kills, replaced and failed transactions. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { type PushedBatch, type PushTarget, pushList, pushRoot } from '../../../src/receipts/oracle/push.ts';
import { type ChainRpc, openChainRpc } from '../../../src/receipts/oracle/rpc.ts';
import { Sender, type SenderOptions } from '../../../src/receipts/oracle/sender.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../../setup/anvil.ts';
import { type Compiled, compile, type Deployed, deploy } from '../../setup/solidity.ts';
import { sleep } from '../../support/wait.ts';

const [OWNER, PUSHER] = ACCOUNTS;
/** Of PUSHER, from anvil's public mnemonic. */
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
/** Of OWNER. */
const OTHER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const FACTS = { chain: 'ETH', dataVersion: 'v1' } as const;
const numbered = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const setOf = (...numbers: number[]): Set<string> => new Set(numbers.map(numbered));
const range = (from: number, end: number): number[] =>
  Array.from({ length: end - from }, (_, at) => from + at);

describe.skipIf(!hasAnvil)('a push into contracts', () => {
  let anvil: Anvil;
  let contracts: Readonly<Record<string, Compiled>>;
  let folder: TempFolder;
  let rpc: ChainRpc;
  let oracle: Deployed;
  let mining: NodeJS.Timeout;
  let batches: PushedBatch[];
  const ending = new AbortController();

  beforeAll(async () => {
    contracts = compile();
    anvil = await startAnvil();
  });
  afterAll(() => anvil?.stop());

  beforeEach(async () => {
    folder = tempFolder();
    batches = [];
    oracle = await deploy(anvil, contracts.SanctionsOracle!, [PUSHER]);
    rpc = openChainRpc(
      anvil.url,
      { chain: 'ETH', signal: ending.signal },
      { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
    );
  });
  afterEach(async () => {
    clearInterval(mining);
    await anvil.mine(3);
    await rpc.close();
    folder.remove();
  });

  /** Makes a block from time to time, as a chain does. */
  function mineOn(): void {
    mining = setInterval(() => void anvil.mine(), 150);
  }

  const journal = (): string => join(folder.path, 'push.json');
  const open = (change: Partial<SenderOptions> = {}): Promise<Sender> =>
    Sender.open(
      {
        ...{ chainId: 1, privateKey: KEY, journalPath: journal(), confirmations: 2 },
        ...{ feeMax: 10n ** 12n, signal: ending.signal, pollMs: 50, bumpMs: 600_000, timeoutMs: 100_000 },
        ...change,
      },
      { rpc, clock: systemClock },
    );
  const target = (sender: Sender | null, change: Partial<PushTarget> = {}): PushTarget => ({
    ...{ rpc, contract: oracle.address, sender, force: false, onBatch: (batch) => void batches.push(batch) },
    ...change,
  });
  const listed = async (): Promise<Set<string>> =>
    new Set(((await oracle.call('page', [0, 10_000]))[0] as string[]).map((each) => each.toLowerCase()));
  const nonce = async (): Promise<number> =>
    Number(await anvil.rpc('eth_getTransactionCount', PUSHER, 'latest'));

  it('sends only the difference, in batches, and reports the gas of each', async () => {
    mineOn();
    const sender = await open();
    const first = await pushList(FACTS, setOf(...range(1, 11)), target(sender), 4);
    expect(first).toMatchObject({ addresses: 10, before: 0, added: 10, removed: 0, isDryRun: false });
    expect(first.batches.map(({ change, addresses }) => [change, addresses])).toEqual([
      ['ADD', 4],
      ['ADD', 4],
      ['ADD', 2],
    ]);
    expect(batches).toEqual(first.batches);
    for (const { hash, gasUsed, fee } of first.batches) {
      const receipt = await anvil.rpc<{ gasUsed: string; effectiveGasPrice: string }>(
        'eth_getTransactionReceipt',
        hash,
      );
      expect(gasUsed).toBe(Number(receipt.gasUsed));
      expect(fee).toBe(String(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)));
    }
    expect(first.gasUsed).toBe(first.batches.reduce((sum, batch) => sum + batch.gasUsed, 0));
    expect(await listed()).toEqual(setOf(...range(1, 11)));

    const used = await nonce();
    const second = await pushList(FACTS, setOf(...range(3, 13)), target(sender), 4);
    expect(second).toMatchObject({ before: 10, added: 2, removed: 2 });
    expect(await listed()).toEqual(setOf(...range(3, 13)));
    expect(await nonce()).toBe(used + 2);
    const third = await pushList(FACTS, setOf(...range(3, 13)), target(sender), 4);
    expect(third).toMatchObject({ added: 0, removed: 0, batches: [], gasUsed: 0, fee: '0' });
    expect(await nonce()).toBe(used + 2);
    expect(existsSync(journal())).toBe(false);
  });

  it('estimates and sends nothing in a dry run, without a key', async () => {
    const used = await nonce();
    const report = await pushList(FACTS, setOf(1, 2, 3), target(null), 2);
    expect(report).toMatchObject({ added: 3, isDryRun: true, fee: '0' });
    expect(report.batches.map(({ hash, fee }) => [hash, fee])).toEqual([
      [null, null],
      [null, null],
    ]);
    expect(report.gasUsed).toBeGreaterThan(100_000);
    expect(await nonce()).toBe(used);
    expect((await listed()).size).toBe(0);
  });

  it('refuses to remove more than half of the addresses, unless that is forced', async () => {
    mineOn();
    const sender = await open();
    await pushList(FACTS, setOf(1, 2, 3, 4), target(sender));
    await expect(pushList(FACTS, setOf(1), target(sender))).rejects.toMatchObject({
      code: 'IMPLAUSIBLE_LIST',
    });
    await expect(pushList(FACTS, new Set(), target(sender))).rejects.toMatchObject({
      code: 'IMPLAUSIBLE_LIST',
    });
    expect((await listed()).size).toBe(4);
    await pushList(FACTS, new Set(), target(sender, { force: true }));
    expect((await listed()).size).toBe(0);
  });

  it('refuses a key that is not the pusher, and a contract of another kind', async () => {
    await oracle.send('setPusher', [OWNER]);
    const sender = await open();
    const used = await nonce();
    await expect(pushList(FACTS, setOf(1), target(sender))).rejects.toThrow(
      `but the pusher of ${oracle.address}`,
    );
    await expect(pushList(FACTS, setOf(1), target(sender, { contract: OWNER }))).rejects.toMatchObject({
      code: 'CHAIN_REFUSED',
    });
    const tree = { ...FACTS, size: 1, depth: 1, root: `0x${'11'.repeat(32)}` };
    await expect(pushRoot(tree, { lifeSeconds: 60, now: 1 }, target(sender))).rejects.toThrow(
      'of SanctionsRoot',
    );
    expect(await nonce()).toBe(used);
  });

  it('continues after a kill without sending anything twice', async () => {
    // No block is made: the transaction is sent and pending when the run ends.
    const killing = new AbortController();
    const killed = pushList(FACTS, setOf(...range(1, 7)), target(await open({ signal: killing.signal })), 3);
    const outcome = killed.catch((error: unknown) => error);
    while (!existsSync(journal())) await sleep(20);
    await sleep(300);
    killing.abort();
    expect(await outcome).toMatchObject({ name: 'AbortError' });
    expect(existsSync(journal())).toBe(true);
    const used = await nonce();

    mineOn();
    const report = await pushList(FACTS, setOf(...range(1, 7)), target(await open()), 3);
    expect(report.batches.map(({ change }) => change)).toEqual(['EARLIER_RUN', 'ADD']);
    expect(report).toMatchObject({ before: 3, added: 3 });
    expect(await nonce()).toBe(used + 2);
    expect(await listed()).toEqual(setOf(...range(1, 7)));
  });

  it.each(['with', 'without'])(
    'finishes a transaction only with its own key, %s an account in the journal',
    async (kind) => {
      const slow = await open({ timeoutMs: 300 });
      await expect(pushList(FACTS, setOf(1, 2), target(slow))).rejects.toMatchObject({
        code: 'CHAIN_TIMEOUT',
      });
      const written = readFileSync(journal(), 'utf8');
      const { from, crc32, ...earlier } = JSON.parse(written) as Record<string, unknown>;
      expect([from, typeof crc32]).toEqual([PUSHER, 'string']);
      if (kind === 'with') {
        const other = await open({ privateKey: OTHER_KEY });
        await expect(pushList(FACTS, setOf(1, 2), target(other))).rejects.toMatchObject({
          code: 'STORE_BUSY',
          message: `${journal()} has a pending transaction of ${PUSHER}. Finish it with that key, or remove the file.`,
        });
        expect(readFileSync(journal(), 'utf8')).toBe(written);
      } else writeFileSync(journal(), JSON.stringify(earlier));
      mineOn();
      const report = await pushList(FACTS, setOf(1, 2), target(await open()));
      expect(report.batches.map(({ change }) => change)).toEqual(['EARLIER_RUN']);
      expect(await listed()).toEqual(setOf(1, 2));
    },
  );

  it('continues after a kill between the journal and the node', async () => {
    const lost: ChainRpc = {
      ...rpc,
      request: (method, params, read) =>
        method === 'eth_sendRawTransaction'
          ? Promise.reject(new Error('killed'))
          : rpc.request(method, params, read),
    };
    const sender = await Sender.open(
      {
        ...{ chainId: 1, privateKey: KEY, journalPath: journal(), confirmations: 1 },
        ...{ feeMax: 10n ** 12n, signal: ending.signal, pollMs: 50 },
      },
      { rpc: lost, clock: systemClock },
    );
    await expect(pushList(FACTS, setOf(1, 2), target(sender))).rejects.toThrow('killed');
    const used = await nonce();
    mineOn();
    const report = await pushList(FACTS, setOf(1, 2), target(await open()));
    expect(report.batches.map(({ change }) => change)).toEqual(['EARLIER_RUN']);
    expect(await nonce()).toBe(used + 1);
    expect(await listed()).toEqual(setOf(1, 2));
  });

  it('reads the state again if another transaction takes its nonce', async () => {
    const pushing = pushList(FACTS, setOf(1, 2), target(await open()));
    while (!existsSync(journal())) await sleep(20);
    await sleep(300);
    const used = await nonce();
    // The operator sends another transaction with the same nonce and a higher fee.
    await anvil.rpc('eth_sendTransaction', {
      ...{ from: PUSHER, to: OWNER, value: '0x1', nonce: `0x${used.toString(16)}`, gas: '0x5208' },
      ...{ maxFeePerGas: '0x1000000000', maxPriorityFeePerGas: '0x800000000' },
    });
    mineOn();
    const report = await pushing;
    expect(report.batches).toHaveLength(1);
    expect(await listed()).toEqual(setOf(1, 2));
    expect(await nonce()).toBe(used + 2);
  });

  /** Returns the fees of pending transactions that are seen in up to `looks` looks, a tenth of a second apart, until there are `most`. */
  async function pendingFees(looks: number, most: number): Promise<ReadonlySet<string>> {
    const fees = new Set<string>();
    for (let look = 0; look < looks && fees.size < most; look++) {
      await sleep(100);
      const { pending } = await anvil.rpc<{
        pending: Record<string, Record<string, { maxFeePerGas: string }>>;
      }>('txpool_content');
      for (const transactions of Object.values(pending))
        for (const { maxFeePerGas } of Object.values(transactions)) fees.add(maxFeePerGas);
    }
    return fees;
  }

  it('leaves the fee of a pending transaction as it is until its time has come', async () => {
    const pushing = pushList(FACTS, setOf(1), target(await open({ bumpMs: 600_000 })));
    while ((await pendingFees(1, 1)).size === 0);
    const fees = await pendingFees(10, 2);
    mineOn();
    expect((await pushing).batches).toHaveLength(1);
    expect(fees.size).toBe(1);
  });

  it('sends a pending transaction again with a higher fee, never above the highest', async () => {
    const pushing = pushList(FACTS, setOf(1), target(await open({ bumpMs: 100, feeMax: 5_000_000_000n })));
    const prices = await pendingFees(100, 2);
    mineOn();
    expect((await pushing).batches).toHaveLength(1);
    expect(prices.size).toBeGreaterThan(1);
    for (const price of prices) expect(BigInt(price)).toBeLessThanOrEqual(5_000_000_000n);
    await expect(pushList(FACTS, setOf(1, 2), target(await open({ feeMax: 1n })))).rejects.toThrow(
      'above --max-fee-gwei',
    );
  });

  it('reports a transaction that reverted, and one that is never confirmed', async () => {
    const sender = await open();
    const pushing = pushList(FACTS, setOf(1), target(sender)).catch((error: unknown) => error);
    while (!existsSync(journal())) await sleep(20);
    await sleep(300);
    // Before it is mined, its sender loses the role.
    await anvil.rpc('evm_setAutomine', false);
    await anvil.send({
      to: oracle.address,
      data: contracts.SanctionsOracle!.abi.encodeFunctionData('setPusher', [OWNER]),
      gas: 1_000_000,
      ...{ maxFeePerGas: '0x2000000000', maxPriorityFeePerGas: '0x1000000000' },
    });
    await anvil.rpc('anvil_setStorageAt', oracle.address, `0x${'0'.repeat(63)}2`, `0x${'0'.repeat(64)}`);
    mineOn();
    expect(await pushing).toMatchObject({ code: 'CHAIN_REFUSED' });
    expect(existsSync(journal())).toBe(false);
    clearInterval(mining);

    const other = await deploy(anvil, contracts.SanctionsOracle!, [PUSHER]);
    const slow = await open({ timeoutMs: 500 });
    await expect(pushList(FACTS, setOf(1), target(slow, { contract: other.address }))).rejects.toMatchObject({
      code: 'CHAIN_TIMEOUT',
    });
    expect(existsSync(journal())).toBe(true);
  });

  it('waits for pending transactions of the account, and says so if they stay', async () => {
    await anvil.send({ from: PUSHER, to: OWNER, value: 1n, gas: 21_000 });
    await expect(pushList(FACTS, setOf(1), target(await open({ timeoutMs: 300 })))).rejects.toMatchObject({
      code: 'STORE_BUSY',
    });
    expect(existsSync(journal())).toBe(false);
  });

  it('publishes a root once, renews it after half of its life, and refuses a sudden loss', async () => {
    mineOn();
    const root = await deploy(anvil, contracts.SanctionsRoot!, [PUSHER]);
    const sender = await open();
    const tree = { ...FACTS, size: 4, depth: 3, root: `0x${'11'.repeat(32)}` };
    const { timestamp } = await anvil.rpc<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false);
    const now = Number(timestamp);
    const at = target(sender, { contract: root.address });
    const options = { lifeSeconds: 86_400, now };
    const dry = await pushRoot(tree, options, { ...at, sender: null });
    expect(dry).toMatchObject({ isDryRun: true, epoch: 1 });
    expect((await root.call('epoch'))[0]).toBe(0n);
    expect(await pushRoot(tree, options, at)).toMatchObject({
      epoch: 1,
      root: tree.root,
      expiresAt: now + 86_400,
    });
    expect((await root.call('root'))[0]).toBe(tree.root);
    expect((await pushRoot(tree, options, at)).batches).toEqual([]);
    // Half of its life is left, and then less.
    expect((await pushRoot(tree, { ...options, now: now + 43_200 }, at)).batches).toEqual([]);
    expect(await pushRoot(tree, { ...options, now: now + 43_201 }, at)).toMatchObject({
      epoch: 2,
      expiresAt: now + 129_601,
    });
    const small = { ...tree, size: 1, depth: 1, root: `0x${'22'.repeat(32)}` };
    await expect(pushRoot(small, options, at)).rejects.toMatchObject({ code: 'IMPLAUSIBLE_LIST' });
    expect(await pushRoot(small, options, { ...at, force: true })).toMatchObject({ epoch: 3 });
  });
});
