/** The trees of a server: the present one of each chain, built on demand, and those of earlier roots that contracts may still have. */
import { createHash } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { AssayError, isMissingFile } from '../../base/errors.ts';
import { parseAddress } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import { parseEvmChain } from './accounts.ts';
import { ORACLE_LIMITS } from './limits.ts';
import { isDraftName, openTree, type TreeFacts, type TreeFile, treePath } from './tree-file.ts';

/** Behind the chain and the kind of an EVM key. */
const ADDRESS_AT = 2;
const ROOT = /^0x[0-9a-f]{64}$/;

/** The root of a chain, as `SanctionsRoot.publish` takes it. */
export interface OracleRoot extends TreeFacts {
  /** SHA-256 of the data version, `0x` and hexadecimal. */
  readonly snapshot: string;
}

/** A proof as `SanctionsRoot.isListed` takes it. Byte fields are `0x` and hexadecimal. */
export interface OracleProof extends OracleRoot {
  readonly address: string;
  readonly sanctioned: boolean;
  readonly low: string;
  readonly high: string;
  readonly index: number;
  readonly path: readonly string[];
}

export interface OracleTreesDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Version of the labels in force. */
  readonly dataVersion: () => string;
  /** Builds the tree of the labels in force as a file of the folder, away from the main thread. */
  readonly build: (chain: ChainId) => Promise<TreeFacts>;
}

/** Returns the folder of the trees. It is rebuilt from the labels, and therefore not part of a backup. */
export const oracleFolderOf = (dataDir: string): string => join(dataDir, 'oracle');

/** Returns `snapshot` of a data version in roots and verdicts. */
export const snapshotHash = (dataVersion: string): string =>
  `0x${createHash('sha256').update(dataVersion).digest('hex')}`;

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

/**
 * Removes the oldest trees of a chain, beyond those that are kept, and the drafts of builds that were killed.
 *
 * @param now - milliseconds since the epoch
 */
export function removeOldTrees(folder: string, chain: ChainId, now: number): void {
  const names = readdirSync(folder);
  const files = (isMeant: (name: string) => boolean) =>
    names.filter(isMeant).flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? [] : [{ path, at: found.mtimeMs }];
    });
  const trees = files((name) => name.startsWith(`${chain}-`) && name.endsWith('.tree'));
  const tooMany = trees.sort((a, b) => b.at - a.at).slice(ORACLE_LIMITS.treesKept);
  const stale = files(isDraftName).filter(({ at }) => at < now - ORACLE_LIMITS.draftMs);
  for (const { path } of [...tooMany, ...stale]) rmSync(path, { force: true });
}

export class OracleTrees {
  readonly #folder: string;
  readonly #deps: OracleTreesDeps;
  /** The newest tree by chain, with the version of the labels that asked for it. */
  readonly #newest = new Map<ChainId, { readonly version: string; readonly facts: Promise<TreeFacts> }>();
  /** Ends with the newest build. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: string, deps: OracleTreesDeps) {
    this.#folder = folder;
    this.#deps = deps;
  }

  /**
   * Returns the root of the labels in force.
   *
   * @throws UNKNOWN_CHAIN, INVALID_REQUEST if the chain is not an EVM chain
   */
  async root(chainText: string): Promise<OracleRoot> {
    const facts = await this.#current(parseEvmChain(chainText));
    return { ...facts, snapshot: snapshotHash(facts.dataVersion) };
  }

  /**
   * Returns the proof that an address is in the tree or not.
   *
   * @param root - that a contract has, of the labels in force or an earlier tree. Default: that of the labels in force
   * @throws UNKNOWN_CHAIN, INVALID_ADDRESS, INVALID_REQUEST; NOT_FOUND if it is not the present root and no tree with it is kept
   */
  async proof(chainText: string, addressText: string, root?: string): Promise<OracleProof> {
    const chain = parseEvmChain(chainText);
    const { key, canonical } = parseAddress(chain, addressText);
    const tree = root === undefined ? await this.#openCurrent(chain) : await this.#openNamed(chain, root);
    try {
      const { isListed, low, high, index, path } = tree.prove(key.subarray(ADDRESS_AT));
      return {
        address: canonical.toLowerCase(),
        sanctioned: isListed,
        ...tree.facts,
        snapshot: snapshotHash(tree.facts.dataVersion),
        low: hex(low),
        high: hex(high),
        index,
        path: path.map(hex),
      };
    } finally {
      tree.close();
    }
  }

  #current(chain: ChainId): Promise<TreeFacts> {
    const version = this.#deps.dataVersion();
    const known = this.#newest.get(chain);
    if (known?.version === version) return known.facts;
    const facts = this.#build(chain);
    this.#newest.set(chain, { version, facts });
    void facts.then(
      ({ dataVersion }) => {
        // A thread may have the labels before these, and after a wait later ones.
        if (this.#newest.get(chain)?.facts === facts)
          this.#newest.set(chain, { version: dataVersion, facts });
      },
      () => this.#forget(chain, facts),
    );
    return facts;
  }

  /** Forgets a tree, unless a later build has taken its place. */
  #forget(chain: ChainId, facts: Promise<TreeFacts>): void {
    if (this.#newest.get(chain)?.facts === facts) this.#newest.delete(chain);
  }

  /** Builds a tree after those that were asked for before: each build reads the whole snapshot. */
  #build(chain: ChainId): Promise<TreeFacts> {
    const facts = this.#last.then(async () => {
      const built = await this.#deps.build(chain);
      removeOldTrees(this.#folder, chain, this.#deps.clock.now());
      return built;
    });
    this.#last = facts.catch(() => undefined);
    return facts;
  }

  async #openCurrent(chain: ChainId): Promise<TreeFile> {
    const newest = this.#current(chain);
    const kept = this.#openKept(chain, (await newest).root);
    if (kept !== null) return kept;
    // The file was removed since it was built. Of all requests that find this, the first starts a build.
    this.#forget(chain, newest);
    const built = await this.#current(chain);
    return openTree(treePath(this.#folder, chain, built.root));
  }

  async #openNamed(chain: ChainId, root: string): Promise<TreeFile> {
    if (!ROOT.test(root))
      throw new AssayError('INVALID_REQUEST', 'root: must be 0x and 64 lower-case hexadecimal digits.', {
        field: 'root',
      });
    const kept = this.#openKept(chain, root);
    if (kept !== null) return kept;
    // After a start, or on another node, the present tree is built by the first request.
    const current = await this.#openCurrent(chain);
    if (current.facts.root === root) return current;
    current.close();
    throw new AssayError(
      'NOT_FOUND',
      `root: no tree of ${chain} with this root is kept here. Publish the present root.`,
      { field: 'root' },
    );
  }

  /** Opens the tree with a root, or returns null if there is no file of it. */
  #openKept(chain: ChainId, root: string): TreeFile | null {
    try {
      return openTree(treePath(this.#folder, chain, root));
    } catch (error) {
      if (isMissingFile(error)) return null;
      throw error;
    }
  }
}
