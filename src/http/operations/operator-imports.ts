/** `GET /operator/imports`. */
import { operation } from '../operation.ts';
import { OperatorImports } from '../schemas/operator.ts';
import { OPERATOR_ONLY, requireOperator } from './support/operator.ts';

export const operatorImports = operation({
  ...OPERATOR_ONLY,
  id: 'operatorImports',
  sdk: 'operator.imports',
  method: 'GET',
  path: '/operator/imports',
  response: OperatorImports,
  summary: 'Imports and syncs',
  description:
    'Imported labels, lists, names and registers with their counts, and the last imports, syncs and builds of an index on this machine with their errors. For owners and analysts of an operator account.',
  run({ services, call }) {
    requireOperator(call);
    return services.operator.imports();
  },
});
