/** `PATCH /monitoring/alerts/{id}`. */
import { alertAnswer } from '../../monitoring/answers.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { idText } from '../schemas/fields.ts';
import { AlertPatch, OneAlert } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND } from './support/monitoring.ts';

export const moveAlert = operation({
  ...MONITORING,
  principal: 'session or key',
  id: 'moveAlert',
  sdk: 'alerts.setStatus',
  method: 'PATCH',
  path: '/monitoring/alerts/{id}',
  pathParameters: { id: idText('Id of an alert of the account.') },
  body: AlertPatch,
  response: OneAlert,
  statuses: NOT_FOUND,
  summary: 'Change an alert',
  description:
    'Its status (between any two of the four states), its assignee, and a note. The history of the alert has every change.',
  async run({ services, call, path, body }) {
    const principal = principalOf(call);
    const { actor } = principal;
    const accountId = accountOf(principal);
    const alert = await services.useCases.monitoring().changeAlert(accountId, path.id, body, actor.who);
    await services.access.audit().write({
      ...actor,
      action: 'alert.change',
      accountId,
      subject: alert.id,
      detail: Object.keys(body).join(','),
    });
    return { alert: alertAnswer(alert) };
  },
});
