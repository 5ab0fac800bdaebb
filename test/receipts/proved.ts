/** A signed receipt that is in a transparency log, with everything that its verifiers need. */
import { generateKeyPairSync } from 'node:crypto';
import type { ReceiptJwk } from '../../src/receipts/jws.ts';
import { thumbprintOf } from '../../src/receipts/keys.ts';
import { receiptHash } from '../../src/receipts/receipt.ts';
import type { Receipt } from '../../src/receipts/receipt-schema.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { entriesOf, openLog } from './log/world.ts';
import { receiptWith, signedJws } from './world.ts';

export interface ProvedReceipt {
  readonly receipt: Receipt;
  readonly jws: string;
  readonly jwks: { readonly keys: readonly ReceiptJwk[] };
  readonly proof: string;
  readonly logKey: string;
  /** Signs another receipt with the same key. */
  readonly sign: (receipt: Receipt) => Promise<string>;
}

/** Returns a receipt of now, as entry 300 of a log of 700. */
export async function provedReceipt(change: Partial<Receipt> = {}): Promise<ProvedReceipt> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const now = Math.floor(Date.now() / 1_000);
  const kid = thumbprintOf(x);
  const key: ReceiptJwk = {
    ...{ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'Ed25519', use: 'sig' },
    iat: now - 1_000,
  };
  const receipt = receiptWith({ issuedAt: now, expiresAt: now + 900, ...change });
  const jwsOf = async (of: Receipt): Promise<string> => signedJws(of, kid, privateKey);
  const folder = tempFolder();
  const { log, close } = await openLog(folder.path, { checkpointMs: 0 });
  await log.append(entriesOf(0, 300));
  await log.append([{ id: receipt.id, hash: receiptHash(receipt) }]);
  await log.append(entriesOf(301, 700));
  await log.close();
  const proof = (await log.proof(receipt.id)) ?? '';
  await close();
  folder.remove();
  return {
    ...{ receipt, jws: await jwsOf(receipt), jwks: { keys: [key] }, proof, logKey: log.verifier.vkey },
    sign: jwsOf,
  };
}
