/**
 * Filling the remote store of a chain from its LMDB: whole, as a generation of its own beside what is read, or what changed since the
 * last push, as a new version of the records that changed. Readers see it by one write at the end.
 */
import { AssayError } from '../../base/errors.ts';
import { type ChainStore, openChainStore } from '../store/chain-store.ts';
import { LostWrites } from './bucket-writer.ts';
import { pushChanges } from './push-changes.ts';
import { removeOld } from './push-removal.ts';
import { type PushDeps, type PushOptions, type PushReport, PushSession } from './push-session.ts';
import { pushWhole } from './push-whole.ts';
import { Snapshot } from './snapshot.ts';

/** Times that a push begins again after servers lost confirmed writes. */
const RESTARTS = 5;

/**
 * Pushes a chain. A push that was interrupted is taken up where it stopped. Throws NOT_READY for an empty store, or where servers
 * stay away; INVALID_REQUEST where the remote store was filled from another LMDB; STORE_BUSY where another push is under way;
 * INVALID_CONFIG where the servers may drop what they are told to keep.
 */
export async function pushChain(options: PushOptions, deps: PushDeps): Promise<PushReport> {
  const store = openChainStore(options.path, options.chain, true);
  if (store === null)
    throw new AssayError('NOT_READY', `No transfer of ${options.chain} is stored in ${options.path} yet.`);
  try {
    const session = new PushSession(options, deps);
    await session.checkServers();
    const report = await leased(session, store);
    // Behind the lease: what is pushed next need not wait for readers of a generation that goes.
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

/** Begins again where servers lost what they had confirmed. */
async function untilKept(push: () => Promise<PushReport>): Promise<PushReport> {
  for (let restarts = 0; ; restarts++) {
    try {
      return await push();
    } catch (error) {
      if (!(error instanceof LostWrites)) throw error;
      if (restarts === RESTARTS)
        throw new AssayError(
          'NOT_READY',
          'The servers keep losing writes that they confirmed; look at their replication, then push again.',
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
