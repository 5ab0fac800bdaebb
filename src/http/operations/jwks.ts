/** `GET /.well-known/jwks.json`. */
import { jwksOf } from '../../receipts/keys.ts';
import { RECEIPT_LIMITS } from '../../receipts/limits.ts';
import { operation } from '../operation.ts';
import { Jwks } from '../schemas/receipts.ts';

export const jwks = operation({
  id: 'jwks',
  sdk: 'receipts.jwks',
  tag: 'Receipts',
  method: 'GET',
  path: '/.well-known/jwks.json',
  mount: 'root',
  response: Jwks,
  responseHeaders: ['Cache-Control'],
  summary: 'Keys of receipts',
  description:
    'Public keys that verify receipts, retired ones included. Fetch it again if a receipt names a key that it lacks.',
  page: async ({ services }) => {
    const { keys } = services.useCases.receipts();
    // Creates the first key, so that a verifier that is set up before the first receipt has it. A node that cannot decrypt the key shows it.
    if (keys.list().length === 0) await keys.active();
    return {
      status: 200,
      contentType: 'application/json',
      lines: `\r\nCache-Control: public, max-age=${RECEIPT_LIMITS.jwksAgeSeconds}`,
      body: JSON.stringify(jwksOf(keys.list())),
    };
  },
});
