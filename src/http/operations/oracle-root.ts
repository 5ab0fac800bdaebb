/** `GET /oracle/root/{chain}`. */
import { operation } from '../operation.ts';
import { chainText } from '../schemas/fields.ts';
import { OracleRootData } from '../schemas/oracle.ts';

export const oracleRoot = operation({
  id: 'oracleRoot',
  sdk: 'oracle.root',
  tag: 'Labels',
  method: 'GET',
  path: '/oracle/root/{chain}',
  permission: 'oracle',
  rateClass: 'oracle',
  pathParameters: { chain: chainText('An EVM chain.') },
  response: OracleRootData,
  summary: 'Root of the sanctioned addresses of a chain',
  description:
    'Merkle root of all sanctioned addresses of an EVM chain, for the contract SanctionsRoot. The set is that of `GET /sanctions/check`.',
  run: ({ services, path }) => services.useCases.oracleTrees.root(path.chain),
});
