/** Creates the services of contracts: their lists and roots, and the key that signs verdicts for them. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { systemJitter, systemRandom } from '../base/random.ts';
import { CHAINS, type ChainId, isEvm } from '../chains/registry.ts';
import type {
  OraclePushRequest,
  OracleServices,
  OracleStatus,
  OracleStatusRequest,
} from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import { sanctionedAddresses } from '../receipts/oracle/accounts.ts';
import { readList, readRoot } from '../receipts/oracle/contracts.ts';
import { type PushReport, pushList, pushRoot } from '../receipts/oracle/push.ts';
import { blockNumber, type ChainRpc, chainIdOf, openChainRpc } from '../receipts/oracle/rpc.ts';
import { Sender } from '../receipts/oracle/sender.ts';
import { openTree, type TreeFacts, treePath, writeTree } from '../receipts/oracle/tree-file.ts';
import { oracleFolderOf, removeOldTrees } from '../receipts/oracle/trees.ts';
import { openVerdictKeys, verdictKeyPath } from '../receipts/verdict-key.ts';
import type { Encryption } from '../state/encryption.ts';
import type { LabelServices } from './label-services.ts';

export interface OracleServicesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly labels: LabelServices;
  readonly encryption: () => Encryption;
}

/** Lists are for the chain of the node, unless the operator names one: test networks have no list of their own. */
function chainOfNode(chainId: number, named: ChainId | undefined): ChainId {
  if (named !== undefined) return named;
  const known = CHAINS.find(({ id, caip2 }) => isEvm(id) && caip2 === `eip155:${chainId}`);
  if (known !== undefined) return known.id;
  throw new AssayError(
    'INVALID_REQUEST',
    `--chain: is missing. The node serves the chain with the id ${chainId}, which has no list of its own.`,
  );
}

/** Creates the services of `assay oracle`. */
export function createOracleServices(
  config: Config,
  { clock, log, labels, encryption }: OracleServicesDeps,
): OracleServices {
  const { dataDir } = config;
  const folder = oracleFolderOf(dataDir);
  const rpcDeps = { clock, log, jitter: systemJitter };

  async function withNode<T>(
    { rpc: url, chain: named, signal }: OracleStatusRequest,
    work: (rpc: ChainRpc, chain: ChainId, chainId: number) => Promise<T>,
  ): Promise<T> {
    const rpc = openChainRpc(url, { chain: named ?? 'ETH', signal }, rpcDeps);
    try {
      const chainId = await chainIdOf(rpc);
      return await work(rpc, chainOfNode(chainId, named), chainId);
    } finally {
      await rpc.close();
    }
  }

  function buildTree(chain: ChainId): TreeFacts {
    const reader = labels.snapshots().current;
    const facts = { chain, dataVersion: reader.meta.dataVersion };
    const tree = writeTree(folder, facts, sanctionedAddresses(reader, chain));
    removeOldTrees(folder, chain, clock.now());
    return tree;
  }

  /** Returns the addresses of a tree as the contract's list is read. */
  function addressesOf({ chain, root }: TreeFacts): ReadonlySet<string> {
    const tree = openTree(treePath(folder, chain, root));
    try {
      return new Set([...tree.addresses()].map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`));
    } finally {
      tree.close();
    }
  }

  /** A contract must not hold invented addresses, nor appear to be current if the lists are not. */
  function requireSoundLabels({ force }: OraclePushRequest): void {
    const { synthetic } = labels.snapshots().current.meta;
    if (synthetic.labels > 0)
      throw new AssayError(
        'NOT_READY',
        'The label index contains synthetic labels, which no contract may hold.',
      );
    const { staleLists } = labels.freshness();
    if (force || staleLists.length === 0) return;
    throw new AssayError(
      'NOT_READY',
      `Lists are missing or too old: ${staleLists.map(({ list }) => list).join(', ')}. Run 'assay sync', or push with --force.`,
    );
  }

  const push = (request: OraclePushRequest): Promise<PushReport> =>
    withNode(request, async (rpc, chain, chainId) => {
      const { contract, privateKey, confirmations, feeMax, signal, force, onBatch, rootSeconds, batch } =
        request;
      requireSoundLabels(request);
      const journalPath = join(folder, `push-${chainId}-${contract.toLowerCase()}.json`);
      const sender =
        privateKey === null
          ? null
          : await Sender.open(
              { chainId, privateKey, journalPath, confirmations, feeMax, signal },
              { rpc, clock },
            );
      const target = { rpc, contract, sender, force, onBatch };
      const tree = buildTree(chain);
      if (rootSeconds === null) return pushList(tree, addressesOf(tree), target, batch);
      const now = Math.floor(clock.now() / 1_000);
      return pushRoot(tree, { lifeSeconds: rootSeconds, now }, target);
    });

  const status = (request: OracleStatusRequest): Promise<OracleStatus> =>
    withNode(request, async (rpc, chain) => {
      const { contract, isRoot } = request;
      const tree = buildTree(chain);
      const block = await blockNumber(rpc);
      const facts = { chain, contract, dataVersion: tree.dataVersion, addresses: tree.size };
      if (isRoot) {
        const state = await readRoot(rpc, contract, block);
        const isExpired = clock.now() >= state.expiresAt * 1_000;
        const isCurrent = state.root === tree.root && !isExpired;
        const { root, epoch, expiresAt, size, owner, pusher } = state;
        return {
          ...{ ...facts, block, owner, pusher, onChain: size, isCurrent },
          ...{ root, presentRoot: tree.root, epoch, expiresAt },
        };
      }
      const { addresses, owner, pusher } = await readList(rpc, contract, block);
      const wanted = addressesOf(tree);
      const missing = [...wanted].filter((address) => !addresses.has(address)).length;
      const surplus = [...addresses].filter((address) => !wanted.has(address)).length;
      return {
        ...{ ...facts, block, owner, pusher, onChain: addresses.size },
        ...{ isCurrent: missing + surplus === 0, missing, surplus },
      };
    });

  return {
    pushKey: config.oracleKey,
    push,
    status,
    verdictKeys: openVerdictKeys(verdictKeyPath(dataDir), { clock, random: systemRandom, encryption }),
  };
}
