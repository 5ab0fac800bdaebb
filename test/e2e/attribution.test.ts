/** Derived labels while a server follows a real chain: each block, a reorg, and a server that is killed in the middle. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { creating, nextAddress } from '../setup/contract-code.ts';
import { sleep } from '../support/wait.ts';
import { ask, newWorld, type RunningServer, until, type World } from './program.ts';

const COIN = 10n ** 18n;
const DEPOSIT_COINS = 5n;
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
/** Runtime code that logs its calldata: the first word is the topic, the rest the data. */
const LOGGER = '0x602036038060206000376000359060' + '00a100';

describe.skipIf(!hasAnvil)('a server that follows a chain with derived labels', () => {
  let anvil: Anvil;
  let world: World;
  let server: RunningServer;
  let key: string;
  let accounts: readonly string[];
  let environment: Record<string, string>;

  const account = (number: number): string => accounts[number] as string;
  const wallet = (): string => account(50);
  const deposit = (): string => account(40);

  const pay = async (from: string, to: string, coins: bigint): Promise<void> => {
    await anvil.send({ from, to, value: coins * COIN });
    await anvil.mine();
  };
  /** A customer pays into the deposit address, which forwards all of it. */
  const forward = async (customer: number): Promise<void> => {
    await pay(account(customer), deposit(), DEPOSIT_COINS);
    await pay(deposit(), wallet(), DEPOSIT_COINS);
  };

  interface Explained {
    readonly labels: readonly { readonly source: string; readonly confidence: number }[];
    readonly findings: readonly { readonly count: number; readonly status: string }[];
  }
  const explained = async (address = deposit()): Promise<Explained> => {
    for (;;) {
      const { status, headers, body } = await ask(server, key, `/api/v1/address/ETH/${address}/attribution`);
      if (status === 200) return body.data as unknown as Explained;
      expect(status).toBe(429);
      await sleep(Number(headers.get('retry-after')) * 1_000);
    }
  };
  /** A key may make 300 requests a minute. */
  const later = (): Promise<Explained> => sleep(300).then(() => explained());
  const untilCount = (count: number): Promise<void> =>
    until(async () => ((await later()).findings[0]?.count ?? 0) === count);
  const untilConfidence = (confidence: number): Promise<void> =>
    until(async () => (await later()).labels[0]?.confidence === confidence);

  beforeAll(async () => {
    anvil = await startAnvil({ args: ['--accounts', '60'] });
    accounts = await anvil.rpc<string[]>('eth_accounts');
    for (let user = 0; user < 10; user++)
      await anvil.send({ from: account(user), to: wallet(), value: COIN });
    await anvil.mine();
    for (let user = 10; user < 20; user++)
      await anvil.send({ from: wallet(), to: account(user), value: COIN });
    await anvil.mine();
    await forward(30);
    world = newWorld();
    environment = { ASSAY_RPC_ETH: anvil.url, ASSAY_ATTRIBUTE_MINUTES: '0.05' };
    const labels = join(world.folder, 'labels.csv');
    writeFileSync(
      labels,
      `address,chain,entity,name,category,confidence\n${wallet()},ETH,test-exchange,Test Exchange,EXCHANGE,1\n`,
    );
    const height = Number(await anvil.rpc<string>('eth_blockNumber'));
    for (const args of [
      ['import', 'own', labels],
      ['index', 'build'],
      ['watch', 'ETH', '--from', '0', '--blocks', String(height + 1), '--ingest'],
      ['attribute', 'ETH'],
    ]) {
      const { code, err } = await world.run(args, { environment });
      expect([code, err.match(/^assay: .*/m)?.[0]]).toEqual([0, undefined]);
    }
    server = await world.serve(environment);
    key = server.firstKey;
    const { status } = await ask(server, key, '/api/v1/monitoring/wallets', {
      chain: 'ETH',
      walletAddress: account(30),
      email: 'watch@example.org',
    });
    expect(status).toBe(200);
  });
  afterAll(async () => {
    await world?.end();
    await anvil?.stop();
  });

  it('adds the evidence of each block, and publishes the labels', async () => {
    // One forwarding without fees that the exchange paid is too little.
    expect((await explained()).findings).toMatchObject([{ count: 1, status: 'INSUFFICIENT' }]);
    await forward(31);
    await untilCount(2);
    await forward(32);
    await untilCount(3);
    await untilConfidence(0.8);
  });

  it('takes back what a reorg takes back, also from the labels', async () => {
    await anvil.reorg(2);
    await anvil.mine();
    await untilCount(2);
    await untilConfidence(0.6);
  });

  it('reads freezes and created contracts of new blocks, and ends what a reorg takes back', async () => {
    const frozen = account(5);
    const created = await nextAddress(anvil, wallet());
    const sources = async (address: string): Promise<readonly string[]> => {
      await sleep(300);
      return (await explained(address)).labels.map(({ source }) => source);
    };
    await anvil.rpc('anvil_setCode', USDT, LOGGER);
    const data = `${id('AddedBlackList(address)')}${frozen.slice(2).padStart(64, '0')}`;
    await anvil.send({ to: USDT, data, gas: 200_000 });
    await anvil.send({ from: wallet(), data: creating('00'), gas: 200_000 });
    await anvil.mine();
    await until(async () => (await sources(frozen)).includes('freezes'));
    expect(await sources(created)).toEqual(['creators']);
    await anvil.reorg(1);
    await anvil.mine();
    await until(async () => !(await sources(frozen)).includes('freezes'));
    expect(await sources(created)).toEqual([]);
  });

  it('resumes after the server was killed, with blocks that were made while none ran', async () => {
    await forward(33);
    await server.stop('SIGKILL');
    await forward(34);
    server = await world.serve(environment);
    await untilCount(4);
    await untilConfidence(0.8);
    expect((await explained()).labels).toMatchObject([{ source: 'deposits' }]);
    // The same address is judged the same by a sweep over the whole log.
    await server.stop();
    const { out } = await world.run(['attribute', 'explain', 'ETH', deposit(), '--json'], { environment });
    expect((JSON.parse(out) as Explained).findings).toMatchObject([{ count: 4, status: 'LABELLED' }]);
  });

  it('loses a disputed label, also after new blocks, and has it again once the dispute is withdrawn', async () => {
    const reason = 'a donation wallet, whose owner answered us';
    const command = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await world.run(args, { environment });
      expect([code, err.match(/^assay: .*/m)?.[0]]).toEqual([0, undefined]);
      return out;
    };
    await command('labels', 'dispute', 'ETH', deposit(), '--reason', reason, '--category', 'DONATION');
    await command('index', 'build');
    server = await world.serve(environment);
    expect(await explained()).toMatchObject({ labels: [], dispute: { reason, category: 'DONATION' } });
    const own = await ask(server, key, `/api/v1/address/ETH/${deposit()}/labels`);
    expect(own.body.data).toMatchObject({
      labels: [{ source: 'own', category: 'DONATION', tags: ['disputed', `reason: ${reason}`] }],
    });
    await forward(35);
    await until(async () => (await later()).findings[0]?.count === 5);
    // The run that publishes has other news to wait for: the address itself gets no label.
    await forward(36);
    await until(async () => (await later()).findings[0]?.count === 6);
    expect(await explained()).toMatchObject({ labels: [], findings: [{ status: 'DISPUTED' }] });
    await server.stop();
    await command('labels', 'undispute', 'ETH', deposit(), '--reason', 'they were wrong');
    await command('attribute', 'ETH', '--no-logs');
    await command('index', 'build');
    const after = JSON.parse(await command('attribute', 'explain', 'ETH', deposit(), '--json')) as Explained;
    expect(after).toMatchObject({ labels: [{ source: 'deposits' }], dispute: null });
    const audit = await command('audit', 'show');
    expect(audit).toContain('label.dispute');
    expect(audit).toContain('label.undispute');
  });
});
