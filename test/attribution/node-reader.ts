/** The part of an adapter that reads creations of contracts and proxies. */
import type { CreationReader } from '../../src/attribution/contracts/creations.ts';
import type { ProxyReader } from '../../src/attribution/contracts/proxies.ts';
import type { ChainAdapter } from '../../src/chains/families/port.ts';

/** @throws if the adapter is not that of an EVM chain */
export function nodeReaderOf(adapter: ChainAdapter): CreationReader & ProxyReader {
  const { logs, header, creations, code, storage, callContract } = adapter;
  if (logs === undefined || header === undefined || creations === undefined)
    throw new Error('The adapter reads no logs.');
  if (code === undefined || storage === undefined || callContract === undefined)
    throw new Error('The adapter reads no state.');
  return { logs, header, creations, code, storage, callContract, head: (call) => adapter.head(call) };
}
