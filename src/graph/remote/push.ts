/**
 * Fills the remote store of a chain from its LMDB. A full push writes everything as a new generation beside the current one. A push of
 * changes writes the records that changed since the last push as a new version. One write at the end makes it visible to readers.
 */
import { AssayError } from '../../base/errors.ts';
import { type ChainStore, openChainStore } from '../store/chain-store.ts';
import { LostWrites } from './bucket-writer.ts';
import { pushChanges } from './push-changes.ts';
import { removeOld } from './push-removal.ts';
import { type PushDeps, type PushOptions, type PushReport, PushSession } from './push-session.ts';
import { pushWhole } from './push-whole.ts';
import { Snapshot } from './snapshot.ts';

/** How often a push restarts after servers lost confirmed writes. */
const RESTARTS = 5;

/**
 * Pushes a chain. A push that was interrupted is resumed.
 *
 * @throws NOT_READY if the store is empty or servers stay unavailable
 * @throws INVALID_REQUEST if the remote store was filled from another LMDB
 * @throws STORE_BUSY if another push is under way
 * @throws INVALID_CONFIG if the servers may drop data
 */
export async function pushChain(options: PushOptions, deps: PushDeps): Promise<PushReport> {
  const store = openChainStore(options.path, options.chain, true);
  if (store === null)
    throw new AssayError('NOT_READY', `No transfer of ${options.chain} is stored in ${options.path} yet.`);
  try {
    const session = new PushSession(options, deps);
    await session.checkServers();
    const report = await leased(session, store);
    // Runs after the lease is released: the next push need not wait for readers of an old generation.
    await removeOld(session);
    return report;
  } finally {
    await store.root.close();
  }
}

async function leased(session: PushSession, store: ChainStore): Promise<PushReport> {
  await session.lease();
  try {
    await session.fence();
    return await untilKept(() => attempt(session, store));
  } finally {
    await session.release();
  }
}

/** Restarts the push if servers lost confirmed writes. */
async function untilKept(push: () => Promise<PushReport>): Promise<PushReport> {
  for (let restarts = 0; ; restarts++) {
    try {
      return await push();
    } catch (error) {
      if (!(error instanceof LostWrites)) throw error;
      if (restarts === RESTARTS)
        throw new AssayError(
          'NOT_READY',
          'The servers repeatedly lost acknowledged writes. Check their replication, then push again.',
        );
    }
  }
}

async function attempt(session: PushSession, store: ChainStore): Promise<PushReport> {
  const head = await session.readHead();
  const snapshot = new Snapshot(store, head?.buckets ?? session.buckets);
  try {
    if (head === null || session.options.isFull) return await pushWhole(session, store, head);
    return await pushChanges(session, head, snapshot);
  } finally {
    snapshot.close();
  }
}
