/** `GET /oracle/proof/{chain}/{address}`. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { addressText, chainText } from '../schemas/fields.ts';
import { OracleProofData, RootText } from '../schemas/oracle.ts';

export const oracleProof = operation({
  id: 'oracleProof',
  sdk: 'oracle.proof',
  tag: 'Labels',
  method: 'GET',
  path: '/oracle/proof/{chain}/{address}',
  permission: 'oracle',
  rateClass: 'oracle',
  quota: { meter: 'oracle', per: 'request' },
  pathParameters: { chain: chainText('An EVM chain.'), address: addressText('The address.') },
  query: { root: Type.Optional(RootText) },
  response: OracleProofData,
  responseHeaders: ['X-Quota-Remaining'],
  statuses: { 404: { description: 'No tree with this root is kept.', schema: ErrorBody } },
  summary: 'Proof that an address is sanctioned, or that it is not',
  description:
    'A Merkle proof for the contract SanctionsRoot. The leaves are sorted and each holds two neighbours, so one path also proves that an address is not in the tree. It says nothing about risk: for a verdict, use `GET /oracle/address/{chain}/{address}`.',
  run({ services, call, path, query }) {
    call.shownQuota = call.quota;
    return services.useCases.oracleTrees.proof(path.chain, path.address, query.root);
  },
});
