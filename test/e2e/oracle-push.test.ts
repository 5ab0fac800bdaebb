/** `assay oracle` as an operator runs it: a key in a file, a node, the contracts, and a server that returns proofs for them. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PushReport } from '../../src/receipts/oracle/push.ts';
import type { OracleProof } from '../../src/receipts/oracle/trees.ts';
import { runCommand } from '../cli/run-command.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { compile, type Deployed, deploy } from '../setup/solidity.ts';
import { newWorld, type Outcome } from './program.ts';

const PUSHER = ACCOUNTS[1];
/** Of PUSHER, from anvil's public mnemonic. */
const DIGITS = '59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
const LAZARUS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const CLEAR = '0x00000000000000000000000000000000a55a0007';

describe.skipIf(!hasAnvil)('assay oracle', () => {
  const world = newWorld();
  let anvil: Anvil;
  let list: Deployed;
  let root: Deployed;
  let keyFile: string;
  let mining: NodeJS.Timeout;

  beforeAll(async () => {
    anvil = await startAnvil();
    const contracts = compile();
    list = await deploy(anvil, contracts.SanctionsOracle!, [PUSHER]);
    root = await deploy(anvil, contracts.SanctionsRoot!, [PUSHER]);
    mining = setInterval(() => void anvil.mine(), 500);
    keyFile = join(world.folder, 'pusher.key');
    writeFileSync(keyFile, `${DIGITS}\n`, { mode: 0o600 });
    expect((await world.run(['index', 'build'])).code).toBe(0);
  });
  afterAll(async () => {
    clearInterval(mining);
    await world.end();
    await anvil?.stop();
  });

  const argsOf = (command: string, contract: Deployed, more: readonly string[]): string[] => [
    ...['oracle', command, '--rpc', anvil.url, '--contract', contract.address, '--json', ...more],
  ];
  /** Runs a command in this process: one of its own takes half a second of processor time. */
  const oracle = (command: string, contract: Deployed, ...more: string[]): Promise<Outcome> =>
    runCommand(join(world.folder, 'store'), argsOf(command, contract, more));
  const reported = async (outcome: Promise<Outcome>): Promise<PushReport> => {
    const { code, out, err } = await outcome;
    expect(code, err).toBe(0);
    expect(out + err).not.toContain(DIGITS);
    return JSON.parse(out) as PushReport;
  };

  it('refuses old lists, a missing key and one that others can read, and shows no key', async () => {
    expect(await oracle('push', list, '--dry-run')).toMatchObject({
      code: 1,
      err: expect.stringContaining('assay sync'),
    });
    expect(await oracle('push', list, '--force')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--key-file'),
    });
    chmodSync(keyFile, 0o644);
    const open = await oracle('push', list, '--force', '--key-file', keyFile);
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining('chmod 600') });
    chmodSync(keyFile, 0o600);
    const wrong = join(world.folder, 'wrong.key');
    writeFileSync(wrong, `${DIGITS}0`, { mode: 0o600 });
    const refused = await oracle('push', list, '--force', '--key-file', wrong);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('64 hexadecimal digits') });
    const environment = { ASSAY_ORACLE_KEY: `${DIGITS}0` };
    const setting = await world.run(['oracle', 'signer'], { environment });
    expect(setting.code).toBe(1);
    for (const { out, err } of [refused, setting]) expect(out + err).not.toContain(DIGITS);
  });

  it('pushes the shipped sanctions of Ethereum, and then nothing', async () => {
    const dry = await reported(oracle('push', list, '--force', '--dry-run'));
    expect(dry).toMatchObject({ chain: 'ETH', isDryRun: true, before: 0 });
    expect(dry.added).toBeGreaterThan(20);
    // As an operator runs it: the built program.
    const push = argsOf('push', list, ['--force', '--key-file', keyFile, '--batch', '300']);
    const pushed = await reported(world.run(push));
    expect(pushed).toMatchObject({ added: dry.added, isDryRun: false });
    expect(pushed.gasUsed).toBeGreaterThan(pushed.added * 40_000);
    expect((await list.call('count'))[0]).toBe(BigInt(dry.added));
    expect((await list.call('isSanctioned', [LAZARUS]))[0]).toBe(true);
    expect((await list.call('isSanctioned', [CLEAR]))[0]).toBe(false);
    expect((await reported(oracle('push', list, '--force', '--key-file', keyFile))).batches).toEqual([]);
    expect(await reported(oracle('status', list))).toMatchObject({ isCurrent: true, missing: 0, surplus: 0 });
  });

  it('publishes a root, for which the server returns proofs that the contract accepts', async () => {
    expect(await reported(oracle('status', root, '--root'))).toMatchObject({ isCurrent: false, epoch: 0 });
    const pushed = await reported(oracle('push', root, '--root', '--force', '--key-file', keyFile));
    expect(pushed).toMatchObject({ epoch: 1 });
    expect(await reported(oracle('status', root, '--root'))).toMatchObject({ isCurrent: true, epoch: 1 });
    const server = await world.serve();
    const proof = async (address: string): Promise<OracleProof> => {
      const url = `${server.url}/api/v1/oracle/proof/ETH/${address}?root=${pushed.root}`;
      const response = await fetch(url, { headers: { Authorization: `Bearer ${server.firstKey}` } });
      expect(response.status).toBe(200);
      return ((await response.json()) as { data: OracleProof }).data;
    };
    for (const [address, sanctioned] of [
      [LAZARUS, true],
      [CLEAR, false],
    ] as const) {
      const { low, high, index, path, ...rest } = await proof(address);
      expect(rest).toMatchObject({ address, sanctioned, root: pushed.root });
      expect((await root.call('isListed', [address, { low, high, index, path }]))[0]).toBe(sanctioned);
    }
    const present = await fetch(`${server.url}/api/v1/oracle/root/ETH`, {
      headers: { Authorization: `Bearer ${server.firstKey}` },
    });
    expect(((await present.json()) as { data: { root: string } }).data.root).toBe(pushed.root);
    await server.stop();
  });

  it('creates the key of verdicts, which a backup contains and the trees are not part of', async () => {
    expect(await world.run(['oracle', 'signer', '--new', '--days', '30'])).toMatchObject({ code: 0 });
    const shown = await world.run(['oracle', 'signer', '--json']);
    expect(JSON.parse(shown.out)).toHaveLength(1);
    const backup = join(world.folder, 'backup');
    expect((await world.run(['backup', backup])).code).toBe(0);
    expect(existsSync(join(backup, 'receipts', 'verdict-key.json'))).toBe(true);
    expect(existsSync(join(backup, 'oracle'))).toBe(false);
    const folder = join(world.folder, 'store', 'oracle');
    expect(readdirSync(folder).some((name) => name.endsWith('.tree'))).toBe(true);
    const [{ address }] = JSON.parse(shown.out) as [{ address: string }];
    expect(readFileSync(join(backup, 'receipts', 'verdict-key.json'), 'utf8')).toContain(address);
  });
});
