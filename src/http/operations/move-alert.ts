/** `PATCH /monitoring/alerts/{id}`. */
import { Type } from 'typebox';
import { alertAnswer } from '../../monitoring/answers.ts';
import { callerOf, operation } from '../operation.ts';
import { idText } from '../schemas/common.ts';
import { AlertStatusSchema, OneAlert } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND } from './support/monitoring.ts';

export const moveAlert = operation({
  ...MONITORING,
  id: 'moveAlert',
  method: 'PATCH',
  path: '/monitoring/alerts/{id}',
  pathParameters: { id: idText('Id of an alert of the account.') },
  body: Type.Object({ status: AlertStatusSchema }, { title: 'AlertPatch' }),
  response: OneAlert,
  statuses: NOT_FOUND,
  summary: 'Set the status of an alert',
  description: 'Between any two of the four states; the history of the alert has every change.',
  async run({ services, call, path, body }) {
    const { accountId, id } = callerOf(call);
    const alert = await services.useCases.monitoring().moveAlert(accountId, path.id, body.status, id);
    return { alert: alertAnswer(alert) };
  },
});
