/** Opens a case from another page, or adds what the page shows to a case. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';
import { AttemptKey } from '../../api/repeat-key.ts';
import { queries } from '../../api/session.ts';
import { PATHS } from '../../paths.ts';
import { refreshCase } from './use-case.ts';

export type NewCase = Schemas['CaseBody'];
export type NewLink = Schemas['CaseLinkBody'];

/** Bytes of an answer that a case keeps (`CaseLinkBody`). */
const ANSWER_BYTES_MAX = 512 * 1024;

/** Whether a case can keep an answer: a larger one stays out of the link. */
export const isKeepable = (answer: object): boolean =>
  new TextEncoder().encode(JSON.stringify(answer)).length <= ANSWER_BYTES_MAX;

/** Opens a case and shows it. */
export function useOpenCase() {
  const navigate = useNavigate();
  const [key] = useState(() => new AttemptKey());
  return useMutation({
    mutationFn: async (body: NewCase) =>
      (await call('post', '/cases', { body, idempotencyKey: key.of(body) })).case,
    onSuccess({ id }) {
      key.end();
      void queries.invalidateQueries({ queryKey: ['cases'] });
      void navigate({ to: PATHS.case, params: { id } });
    },
  });
}

export interface AddedLinks {
  readonly caseId: string;
  readonly links: readonly NewLink[];
  /** The same for another attempt: links that were added by the first one are not added again. */
  readonly attemptKey: string;
}

/** Adds links to a case, and shows it. */
export function useAddToCase() {
  const navigate = useNavigate();
  return useMutation({
    async mutationFn({ caseId: id, links, attemptKey }: AddedLinks) {
      for (const [at, link] of links.entries())
        await patiently(() =>
          call('post', '/cases/{id}/events', {
            path: { id },
            body: { type: 'LINK', link },
            idempotencyKey: `${attemptKey}-${id}-${at}`,
          }),
        );
      return id;
    },
    onSuccess: (id) => void navigate({ to: PATHS.case, params: { id } }),
    onSettled: (_, _error, { caseId }) => refreshCase(caseId),
  });
}
