/** The thread that signs many texts at a time (signatures.ts), in memory that it shares with the thread of the requests. */
import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { endBehind } from '../base/threads.ts';
import { nodeSigner, SIGNATURE_BYTES, sodiumSigner } from './ed25519.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { type GroupSizes, groupsIn } from './text-groups.ts';

/** Groups of texts, and their signatures. */
export const SIGNED_GROUPS: GroupSizes = {
  groups: RECEIPT_LIMITS.signedGroupsMax,
  texts: RECEIPT_LIMITS.signedAtOnceMax,
  textBytes: RECEIPT_LIMITS.signedAtOnceBytes,
  resultBytes: SIGNATURE_BYTES,
};

/** What the thread gets when it starts. */
export interface SigningJob {
  readonly memory: SharedArrayBuffer;
  readonly key: KeyObject;
}

/** A group of texts that are in the memory: sent to be signed, and sent back when they are. Null ends the thread. */
export type SigningMessage = { readonly group: number; readonly count: number } | null;

/** Signs until a message ends the thread. */
export function runSigningThread({ memory, key }: SigningJob): void {
  const port = parentPort;
  if (port === null) throw new Error('Signatures are made on a thread of its own.');
  const groups = groupsIn(memory, SIGNED_GROUPS);
  const signer = sodiumSigner(key) ?? nodeSigner(key);
  port.on('message', (message: SigningMessage) => {
    if (message === null) {
      signer.wipe();
      return endBehind(port);
    }
    groups[message.group]?.each(message.count, (text, signature) => signer.sign(text, signature));
    port.postMessage(message);
  });
}
