/** `POST /namescreen/cleared`. */
import { AssayError } from '../../base/errors.ts';
import type { NamesAnswer } from '../../names/screen-names.ts';
import { callerOf, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { ClearBody, ClearedAnswer } from '../schemas/names.ts';
import { clearedView, nameQuery } from './support/names.ts';

export const clear = operation({
  id: 'clear',
  sdk: 'names.clear',
  retry: 'safe',
  tag: 'Names',
  method: 'POST',
  path: '/namescreen/cleared',
  permission: 'screening',
  rateClass: 'names',
  body: ClearBody,
  response: ClearedAnswer,
  statuses: { 404: { description: 'The entity is not among the matches of the name.', schema: ErrorBody } },
  examples: [
    {
      summary: 'A match of an earlier screening',
      body: {
        name: 'Владимир Путин',
        source: '<source of the match>',
        entityId: '<entityId of the match>',
      },
    },
  ],
  summary: 'Clear a match of a name',
  description:
    'Later responses have the match with `cleared: true`, until the entity changes. Only a current match of the name can be cleared.',
  async run({ services: { useCases }, call, body }) {
    const { source, entityId, note = null } = body;
    const { accountId } = callerOf(call);
    const query = nameQuery(body, '');
    // Only a current match of the name can be cleared, with its current version.
    const answer = JSON.parse(Buffer.from(await useCases.names.screen([query])).toString()) as NamesAnswer;
    const match = answer.results[0]?.topMatches.find(
      (one) => one.source === source && one.entityId === entityId,
    );
    if (match === undefined) {
      throw new AssayError(
        'NOT_FOUND',
        `entityId: '${entityId.slice(0, 64)}' of '${source.slice(0, 64)}' is not among the matches of this name.`,
        { field: 'entityId' },
      );
    }
    const cleared = await useCases.names.cleared().clear(accountId, {
      name: query.name,
      list: source,
      entityId,
      entityName: match.name,
      entityVersion: match.entityVersion,
      note,
    });
    return { cleared: clearedView(cleared) };
  },
});
