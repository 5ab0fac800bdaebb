/** The contracts of examples/solidity on a real node: each refusal of verdicts and lists, and what a check costs in gas. */
import { getAddress, keccak256, zeroPadValue } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type SignedVerdict,
  signVerdict,
  type VerdictFacts,
  type VerdictKey,
  type VerdictTarget,
  verdictDigest,
  verdictSigner,
} from '../../src/receipts/eip712.ts';
import { boundsOf, depthOf, rootOf } from '../../src/receipts/oracle/merkle.ts';
import { openTree, treePath, writeTree } from '../../src/receipts/oracle/tree-file.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { type Compiled, compile, type Deployed, deploy, type Mined } from '../setup/solidity.ts';
import { testFacts, testKey } from '../setup/verdicts.ts';

const [OWNER, DEPOSITOR, STRANGER, PUSHER] = ACCOUNTS;
const START = 2_000_000_000;
const ETHER = 10n ** 18n;
/** The order of secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** What a contract may cost beside the work of its caller. */
const CHECK_GAS_MAX = 40_000;
const PROOF_GAS_MAX = 30_000;

describe.skipIf(!hasAnvil)('the example contracts', () => {
  let anvil: Anvil;
  let contracts: Readonly<Record<string, Compiled>>;
  let now = START;

  beforeAll(async () => {
    contracts = compile({ 'Guard.sol': GUARD });
    anvil = await startAnvil({ args: ['--timestamp', String(START)] });
  });
  afterAll(() => anvil?.stop());

  /** Makes a block with a later time. The calls that follow see it. */
  async function moveTo(seconds: number): Promise<void> {
    now = seconds;
    await anvil.rpc('evm_setNextBlockTimestamp', seconds);
    await anvil.mine();
  }

  describe('AssayVerifier and GuardedVault', () => {
    const key = testKey(0xa55a);
    const clock = { now: () => now * 1_000, monotonic: () => 0 };
    let verifier: Deployed;
    let vault: Deployed;
    let target: VerdictTarget;

    const sign = (
      change: Partial<VerdictFacts> = {},
      by: VerdictKey = key,
      of: VerdictTarget = target,
    ): Promise<SignedVerdict> => signVerdict(testFacts(DEPOSITOR, now, change), of, { key: by, clock });

    const check = ({ message, signature }: Pick<SignedVerdict, 'message' | 'signature'>): Promise<unknown> =>
      verifier.call('check', [message, signature]);

    const deposit = (
      { message, signature }: Pick<SignedVerdict, 'message' | 'signature'>,
      from: string = DEPOSITOR,
    ) => vault.send('deposit', [message, signature], { from, value: ETHER });

    beforeEach(async () => {
      await moveTo(now + 10_000);
      verifier = await deploy(anvil, contracts.AssayVerifier!);
      vault = await deploy(
        anvil,
        contracts.GuardedVault!,
        [verifier.address, 1],
        [contracts.AssayVerifier!.abi],
      );
      target = { chainId: 1, verifyingContract: verifier.address };
      await verifier.send('setSigner', [key.address, now + 100_000]);
      await moveTo(now + 100);
    });

    it('accepts a deposit with a safe verdict, and pays it back', async () => {
      const verdict = await sign();
      const { isSuccess } = await deposit(verdict);
      expect(isSuccess).toBe(true);
      expect((await vault.call('balanceOf', [DEPOSITOR]))[0]).toBe(ETHER);
      expect((await check(verdict)) as unknown[]).toEqual([key.address]);
      await vault.send('withdraw', [ETHER], { from: DEPOSITOR });
      expect((await vault.call('balanceOf', [DEPOSITOR]))[0]).toBe(0n);
      await expect(vault.send('withdraw', [1n], { from: DEPOSITOR })).rejects.toThrow();
    });

    it(`costs at most ${CHECK_GAS_MAX} gas, with the base of the transaction`, async () => {
      const { message, signature } = await sign();
      const { gasUsed } = await verifier.send('check', [message, signature]);
      console.info(`check(): ${gasUsed} gas`);
      expect(gasUsed).toBeLessThanOrEqual(CHECK_GAS_MAX);
      expect(gasUsed).toBeGreaterThan(21_000);
    });

    it('hashes a verdict as the library does', async () => {
      const { message } = await sign();
      expect((await verifier.call('digestOf', [message]))[0]).toBe(await verdictDigest(message, target));
    });

    it.each([
      ['danger', { verdict: 'danger', score: 100 }],
      ['a sanction', { sanctioned: true }],
      ['a warning, which this vault does not accept', { verdict: 'warning', score: 55 }],
    ] as const)('refuses a deposit for %s', async (_, change) => {
      await expect(deposit(await sign(change))).rejects.toThrow('NotAccepted');
    });

    it('accepts a warning only if its deployer chose that, and never danger or an unknown verdict', async () => {
      const abis = [contracts.AssayVerifier!.abi];
      const lenient = await deploy(anvil, contracts.GuardedVault!, [verifier.address, 2], abis);
      const send = ({ message, signature }: SignedVerdict) =>
        lenient.send('deposit', [message, signature], { from: DEPOSITOR, value: 1n });
      expect((await send(await sign({ verdict: 'warning' }))).isSuccess).toBe(true);
      await expect(send(await sign({ verdict: 'danger' }))).rejects.toThrow('NotAccepted');
      const safe = await sign();
      for (const verdict of [0, 4, 255])
        await expect(send({ ...safe, message: { ...safe.message, verdict } })).rejects.toThrow('NotAccepted');
      await expect(deploy(anvil, contracts.GuardedVault!, [verifier.address, 3], abis)).rejects.toThrow();
    });

    it('refuses a verdict about somebody else', async () => {
      await expect(deposit(await sign(), STRANGER)).rejects.toThrow('WrongSubject');
      await expect(deposit(await sign({ address: STRANGER }))).rejects.toThrow('WrongSubject');
    });

    it('refuses a verdict about another chain', async () => {
      await expect(deposit(await sign({ chain: 'BSC' }))).rejects.toThrow('WrongChain');
    });

    it('refuses each field that was changed after it was signed', async () => {
      const danger = await sign({ verdict: 'danger', score: 90 });
      const { message } = danger;
      const changes = {
        receipt: `0x${'00'.repeat(32)}`,
        chain: `0x${'11'.repeat(32)}`,
        subject: getAddress(STRANGER),
        verdict: 1,
        score: 0,
        sanctioned: true,
        issuedAt: message.issuedAt + 1,
        expiresAt: message.expiresAt - 1,
        snapshot: `0x${'22'.repeat(32)}`,
        policy: `0x${'33'.repeat(32)}`,
      };
      expect(Object.keys(changes)).toEqual(Object.keys(message));
      for (const [field, value] of Object.entries(changes))
        await expect(check({ ...danger, message: { ...message, [field]: value } })).rejects.toThrow(
          'UnknownSigner',
        );
      await expect(deposit({ ...danger, message: { ...message, verdict: 1 } })).rejects.toThrow(
        'UnknownSigner',
      );
    });

    it('refuses an expired verdict, from the second of its end on', async () => {
      const verdict = await sign();
      await moveTo(verdict.message.expiresAt - 1);
      await check(verdict);
      await moveTo(verdict.message.expiresAt);
      await expect(deposit(verdict)).rejects.toThrow('Expired');
    });

    it('refuses a verdict of the future and one that lives too long, even with a valid signature', async () => {
      await check(await sign({ issuedAt: now + 60, expiresAt: now + 100 }));
      await expect(check(await sign({ issuedAt: now + 61, expiresAt: now + 100 }))).rejects.toThrow(
        'NotYetIssued',
      );
      const { message } = await sign();
      const long = { ...message, expiresAt: message.issuedAt + 901 };
      const signature = await key.sign(await verdictDigest(long, target));
      await expect(check({ message: long, signature })).rejects.toThrow('LivesTooLong');
      const huge = { ...message, expiresAt: 2n ** 64n - 1n };
      await expect(verifier.call('check', [huge, signature])).rejects.toThrow('LivesTooLong');
    });

    it('refuses the second signature that exists for each one, and other forms', async () => {
      const { message, signature } = await sign();
      const s = BigInt(`0x${signature.slice(66, 130)}`);
      const v = signature.slice(130) === '1b' ? '1c' : '1b';
      const high = `${signature.slice(0, 66)}${(ORDER - s).toString(16).padStart(64, '0')}${v}`;
      await expect(check({ message, signature: high })).rejects.toThrow('MalformedSignature');
      expect(await verdictSigner(message, target, high)).toBeNull();
      const forms = [
        '0x',
        signature.slice(0, -2),
        `${signature}00`,
        `${signature.slice(0, 130)}00`,
        `${signature.slice(0, 130)}1d`,
      ];
      for (const form of forms) {
        await expect(check({ message, signature: form })).rejects.toThrow('MalformedSignature');
        expect(await verdictSigner(message, target, form)).toBeNull();
      }
      expect(await verdictSigner(message, target, signature)).toBe(key.address);
    });

    it('refuses a signature from which no address can be recovered', async () => {
      const { message } = await sign();
      // r is 0, and r is above the order: ecrecover returns zero.
      for (const r of ['00'.repeat(32), 'ff'.repeat(32)]) {
        const signature = `0x${r}${'11'.repeat(32)}1b`;
        await expect(check({ message, signature })).rejects.toThrow('UnknownSigner');
        expect(await verdictSigner(message, target, signature)).toBeNull();
      }
      await expect(verifier.send('setSigner', [`0x${'00'.repeat(20)}`, now + 1_000])).rejects.toThrow(
        'ZeroSigner',
      );
    });

    it('refuses a signature for another contract and for another chain', async () => {
      const other = await deploy(anvil, contracts.AssayVerifier!);
      await other.send('setSigner', [key.address, now + 100_000]);
      const elsewhere = { chainId: 1, verifyingContract: other.address };
      const verdict = await sign({}, key, elsewhere);
      await other.call('check', [verdict.message, verdict.signature]);
      await expect(check(verdict)).rejects.toThrow('UnknownSigner');
      await expect(check(await sign({}, key, { ...target, chainId: 137 }))).rejects.toThrow('UnknownSigner');
    });

    it('refuses a foreign signer, an ended one and a removed one', async () => {
      await expect(check(await sign({}, testKey(77)))).rejects.toThrow('UnknownSigner');
      await verifier.send('setSigner', [key.address, now + 500]);
      const verdict = await sign();
      await moveTo(now + 499);
      await check(verdict);
      await moveTo(now + 1);
      await expect(check(verdict)).rejects.toThrow('SignerEnded');
      await verifier.send('setSigner', [key.address, 0]);
      await expect(check(verdict)).rejects.toThrow('UnknownSigner');
    });

    it('lets only the owner change signers, and replaces the owner in two steps', async () => {
      const from = STRANGER;
      await expect(verifier.send('setSigner', [STRANGER, now + 1_000], { from })).rejects.toThrow('NotOwner');
      await expect(verifier.send('offerOwnership', [STRANGER], { from })).rejects.toThrow('NotOwner');
      await verifier.send('offerOwnership', [STRANGER]);
      expect((await verifier.call('owner'))[0]).toBe(OWNER);
      await expect(verifier.send('acceptOwnership', [], { from: DEPOSITOR })).rejects.toThrow('NotNextOwner');
      await verifier.send('acceptOwnership', [], { from });
      await verifier.send('setSigner', [STRANGER, now + 1_000], { from });
      await expect(verifier.send('setSigner', [OWNER, now + 1_000])).rejects.toThrow('NotOwner');
    });
  });

  describe('SanctionsOracle', () => {
    const numbered = (number: number): string =>
      getAddress(zeroPadValue(`0x${number.toString(16).padStart(4, '0')}`, 20));
    let oracle: Deployed;

    const listed = async (): Promise<readonly string[]> => [
      ...((await oracle.call('page', [0, 1_000]))[0] as readonly string[]),
    ];
    const isSanctioned = async (address: string): Promise<unknown> =>
      (await oracle.call('isSanctioned', [address]))[0];

    beforeEach(async () => {
      oracle = await deploy(anvil, contracts.SanctionsOracle!, [PUSHER]);
    });

    it('lists and removes addresses, and skips what a batch repeats', async () => {
      const edges = [`0x${'00'.repeat(20)}`, getAddress(`0x${'ff'.repeat(20)}`)];
      const all = [...edges, ...Array.from({ length: 20 }, (_, number) => numbered(number + 1))];
      const from = PUSHER;
      expect(await isSanctioned(edges[0]!)).toBe(false);
      await oracle.send('addToSanctionsList', [[...all, all[3]]], { from });
      await oracle.send('addToSanctionsList', [all.slice(5)], { from });
      expect(await listed()).toEqual(all);
      for (const address of all) expect(await isSanctioned(address)).toBe(true);
      expect(await isSanctioned(numbered(9_999))).toBe(false);

      const gone = [all[0]!, all[21]!, all[7]!, numbered(9_999), all[7]!];
      await oracle.send('removeFromSanctionsList', [gone], { from });
      const left = all.filter((address) => !gone.includes(address));
      expect([...(await listed())].sort()).toEqual([...left].sort());
      for (const address of gone) expect(await isSanctioned(address)).toBe(false);
      for (const address of left) expect(await isSanctioned(address)).toBe(true);
      await oracle.send('removeFromSanctionsList', [left], { from });
      expect(await listed()).toEqual([]);
      expect((await oracle.call('count'))[0]).toBe(0n);
      await oracle.send('addToSanctionsList', [all], { from });
      expect(await listed()).toEqual(all);
    });

    it('returns its list in pages, also beyond the end', async () => {
      const all = Array.from({ length: 7 }, (_, number) => numbered(number + 1));
      await oracle.send('addToSanctionsList', [all], { from: PUSHER });
      expect([...((await oracle.call('page', [2, 3]))[0] as string[])]).toEqual(all.slice(2, 5));
      expect([...((await oracle.call('page', [5, 2n ** 256n - 1n]))[0] as string[])]).toEqual(all.slice(5));
      expect([...((await oracle.call('page', [7, 3]))[0] as string[])]).toEqual([]);
      expect([...((await oracle.call('page', [2n ** 256n - 1n, 3]))[0] as string[])]).toEqual([]);
    });

    it('lets only the pusher change the list, and only the owner change the pusher', async () => {
      for (const from of [OWNER, STRANGER])
        for (const name of ['addToSanctionsList', 'removeFromSanctionsList'])
          await expect(oracle.send(name, [[STRANGER]], { from })).rejects.toThrow('NotPusher');
      await expect(oracle.send('setPusher', [STRANGER], { from: PUSHER })).rejects.toThrow('NotOwner');
      await oracle.send('setPusher', [STRANGER]);
      await expect(oracle.send('addToSanctionsList', [[OWNER]], { from: PUSHER })).rejects.toThrow(
        'NotPusher',
      );
      await oracle.send('addToSanctionsList', [[OWNER]], { from: STRANGER });
    });
  });

  describe('SanctionsRoot', () => {
    const START_EPOCH = 1;
    const LAST = 2n ** 160n - 1n;
    const of = (value: bigint): string => getAddress(`0x${value.toString(16).padStart(40, '0')}`);
    const bytes = (value: bigint): Uint8Array => Buffer.from(of(value).slice(2), 'hex');
    const hex = (data: Uint8Array): string => `0x${Buffer.from(data).toString('hex')}`;
    const snapshot = `0x${'5a'.repeat(32)}`;
    let root: Deployed;
    let folder: TempFolder;

    interface Proof {
      readonly low: string | bigint;
      readonly high: string | bigint;
      readonly index: number | bigint;
      readonly path: readonly string[];
    }

    beforeEach(async () => {
      await moveTo(now + 10_000);
      folder = tempFolder();
      root = await deploy(anvil, contracts.SanctionsRoot!, [PUSHER]);
    });
    afterEach(() => folder.remove());

    const publish = (
      newRoot: string,
      size: number | bigint,
      epoch = START_EPOCH,
      life = 86_400,
    ): Promise<Mined> => root.send('publish', [newRoot, size, now + life, epoch, snapshot], { from: PUSHER });

    /** Publishes the tree of these addresses and returns a function that proves. */
    async function tree(values: readonly bigint[], epoch = START_EPOCH): Promise<(value: bigint) => Proof> {
      const facts = writeTree(folder.path, { chain: 'ETH', dataVersion: 'v1' }, values.map(bytes));
      await publish(facts.root, facts.size, epoch);
      expect((await root.call('depth'))[0]).toBe(BigInt(facts.depth));
      return (value) => {
        const file = openTree(treePath(folder.path, 'ETH', facts.root));
        const { low, high, index, path } = file.prove(bytes(value));
        file.close();
        return { low: hex(low), high: hex(high), index, path: path.map(hex) };
      };
    }

    const isListed = async (value: bigint, proof: Proof): Promise<unknown> =>
      (await root.call('isListed', [of(value), proof]))[0];
    const spread = (count: number): bigint[] =>
      Array.from({ length: count }, (_, at) => (LAST / BigInt(count + 1)) * BigInt(at + 1));

    it.each([0, 1, 2, 3, 31, 32, 33, 200])('proves addresses and gaps of %i addresses', async (count) => {
      const values = spread(count);
      const prove = await tree(values);
      const asked = [0n, 1n, LAST, ...values.slice(0, 3), ...values.slice(-2)].flatMap((value) => [
        value,
        value ^ 1n,
      ]);
      for (const value of new Set(asked)) {
        const listed = values.includes(value);
        expect(await isListed(value, prove(value))).toBe(listed);
        const required = root.call('requireNotListed', [of(value), prove(value)]);
        if (listed) await expect(required).rejects.toThrow('Listed');
        else await required;
      }
    });

    it('holds the first and the last address that exist', async () => {
      const prove = await tree([0n, LAST]);
      expect(await isListed(0n, prove(0n))).toBe(true);
      expect(await isListed(1n, prove(1n))).toBe(false);
      expect(await isListed(LAST - 1n, prove(LAST - 1n))).toBe(false);
      expect(await isListed(LAST, prove(LAST))).toBe(true);
    });

    it('refuses a proof about another address, and neighbours that are swapped, widened or equal', async () => {
      const values = spread(50);
      const prove = await tree(values);
      const listed = values[20]!;
      const clear = listed + 5n;
      const proof = prove(clear);
      // A sanctioned address needs its own leaf: those beside it do not hold it.
      await expect(isListed(listed, prove(listed - 1n))).rejects.toThrow('NotBetween');
      await expect(isListed(values[21]!, proof)).rejects.toThrow('NotBetween');
      await expect(isListed(values[30]!, proof)).rejects.toThrow('NotBetween');
      const changes: Partial<Proof>[] = [
        { low: proof.high, high: proof.low },
        { low: BigInt(proof.low) - 1n },
        { high: BigInt(proof.high) + 1n },
        { low: 0n, high: 2n ** 160n + 1n },
        { low: proof.low, high: proof.low },
        { index: Number(proof.index) ^ 1 },
        { index: 51 },
        { index: 2n ** 255n + BigInt(proof.index) },
        { path: proof.path.slice(1) },
        { path: [...proof.path, `0x${'00'.repeat(32)}`] },
        { path: [...proof.path].reverse() },
        { path: proof.path.map((hash, at) => (at === 3 ? `0x${'77'.repeat(32)}` : hash)) },
      ];
      for (const change of changes)
        await expect(isListed(clear, { ...proof, ...change })).rejects.toThrow('InvalidProof');
      expect(await isListed(clear, proof)).toBe(false);
    });

    it('refuses a node in the place of a leaf', async () => {
      const values = spread(3);
      const prove = await tree(values);
      const { path } = prove(0n);
      // Two hashes as the bounds of a leaf: another length and another first byte than a node.
      const left = BigInt(path[1]!);
      const forged = { low: left >> 88n, high: left & (2n ** 168n - 1n), index: 0, path: [path[1]!] };
      await expect(isListed(5n, forged)).rejects.toThrow('InvalidProof');
      await expect(isListed(5n, { ...forged, path: [path[0]!, path[1]!] })).rejects.toThrow('InvalidProof');
    });

    it('cannot clear an address by a leaf that repeats it, even if a publisher builds one', async () => {
      // Leaves (before, a), (a, a), (a, after): the repeated leaf lies between nothing.
      const bound = (value: bigint): string => value.toString(16).padStart(42, '0');
      const a = 1_000n;
      const leaf = (low: bigint, high: bigint): string => keccak256(`0x00${bound(low)}${bound(high)}`);
      const node = (left: string, right: string): string =>
        keccak256(`0x01${left.slice(2)}${right.slice(2)}`);
      const none = `0x${'00'.repeat(32)}`;
      const leaves = [leaf(0n, a + 1n), leaf(a + 1n, a + 1n), leaf(a + 1n, 2n ** 160n + 1n)];
      const [low, high] = [node(leaves[0]!, leaves[1]!), node(leaves[2]!, none)];
      await publish(node(low, high), 2);
      const repeated = { low: a + 1n, high: a + 1n, index: 1, path: [leaves[0]!, high] };
      expect(await isListed(a, repeated)).toBe(true);
      for (const value of [a - 1n, a + 1n])
        await expect(isListed(value, repeated)).rejects.toThrow('NotBetween');
    });

    it('refuses proofs against an earlier root, before the first root and after the end', async () => {
      const empty = { low: 0n, high: 2n ** 160n + 1n, index: 0, path: [] };
      await expect(isListed(5n, empty)).rejects.toThrow('RootExpired');
      const prove = await tree([]);
      const before = prove(5n);
      expect(await isListed(5n, before)).toBe(false);
      const next = await tree([5n], 2);
      await expect(isListed(5n, before)).rejects.toThrow('InvalidProof');
      expect(await isListed(5n, next(5n))).toBe(true);
      await moveTo(now + 86_400);
      await expect(isListed(5n, next(5n))).rejects.toThrow('RootExpired');
    });

    it('takes a root from its pusher only, in order, with an end and of a possible size', async () => {
      const value = `0x${'11'.repeat(32)}`;
      const args = (change: Record<number, unknown> = {}): unknown[] =>
        [value, 5, now + 100, 1, snapshot].map((each, at) => change[at] ?? each);
      for (const from of [OWNER, STRANGER])
        await expect(root.send('publish', args(), { from })).rejects.toThrow('NotPusher');
      const from = PUSHER;
      const refused = (change: Record<number, unknown>) =>
        expect(root.send('publish', args(change), { from })).rejects;
      await refused({ 3: 2 }).toThrow('WrongEpoch');
      await refused({ 2: now }).toThrow('WrongExpiry');
      await refused({ 2: now + 31 * 86_400 }).toThrow('WrongExpiry');
      await refused({ 1: 2n ** 32n }).toThrow('TooLarge');
      await refused({ 0: `0x${'00'.repeat(32)}` }).toThrow('EmptyRoot');
      await root.send('publish', args(), { from });
      await refused({}).toThrow('WrongEpoch');
      await expect(root.send('setPusher', [STRANGER], { from })).rejects.toThrow('NotOwner');
      await root.send('setPusher', [STRANGER]);
      await refused({ 3: 2 }).toThrow('NotPusher');
    });

    it(`proves in at most ${PROOF_GAS_MAX} gas of execution that an address is not among ten million`, async () => {
      // The path of a leaf in the middle of a tree of that depth: to the contract, siblings are any hashes.
      const size = 10_000_000;
      const index = 6_543_210;
      const bounds = boundsOf(bytes(LAST / 3n), bytes(LAST / 2n));
      const path = Array.from({ length: depthOf(size) }, (_, at) =>
        Buffer.from(keccak256(`0x${at.toString(16).padStart(2, '0')}`).slice(2), 'hex'),
      );
      expect(path).toHaveLength(24);
      await publish(hex(rootOf(bounds, index, path)), size);
      const proof = { low: hex(bounds.low), high: hex(bounds.high), index, path: path.map(hex) };
      expect(await isListed(LAST / 3n, proof)).toBe(true);
      const guard = await deploy(anvil, contracts.Guard!, [root.address]);
      const { gasUsed } = await guard.send('enter', [proof], { from: DEPOSITOR });
      const execution = Number((await guard.call('spent'))[0]);
      console.info(
        `non-membership at ten million: ${execution} gas of execution, ${gasUsed} gas of a transaction`,
      );
      expect(execution).toBeLessThanOrEqual(PROOF_GAS_MAX);
      expect(execution).toBeGreaterThan(24 * 42);
    });
  });
});

/** A guard that measures its call: what the proof costs it, with the call and the copy of the proof. */
const GUARD = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;
import {SanctionsRoot} from "./SanctionsRoot.sol";
contract Guard {
    SanctionsRoot private immutable roots;
    uint256 public spent;
    constructor(SanctionsRoot roots_) { roots = roots_; }
    function enter(SanctionsRoot.Proof calldata proof) external {
        address probe = address(uint160(5 * (uint256(type(uint160).max) / 12)));
        uint256 before = gasleft();
        roots.requireNotListed(probe, proof);
        spent = before - gasleft();
    }
}`;
