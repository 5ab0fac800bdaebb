/** `GET /operator/status`. */
import { operation } from '../operation.ts';
import { OperatorStatus } from '../schemas/operator.ts';
import { OPERATOR_ONLY, requireOperator } from './support/operator.ts';

export const operatorStatus = operation({
  ...OPERATOR_ONLY,
  id: 'operatorStatus',
  sdk: 'operator.status',
  method: 'GET',
  path: '/operator/status',
  response: OperatorStatus,
  summary: 'State of the installation',
  description:
    'Health checks with what to do, label snapshots, sanctions lists, chains with their lag, queues and nodes, as the node of this response sees them. For owners and analysts of an operator account.',
  run({ services, call }) {
    requireOperator(call);
    return services.operator.status();
  },
});
