/** Screening of an address. */
import type { PooledJson } from '../../base/buffer-pool.ts';
import { createKeptAnswers } from '../../screening/kept-answers.ts';
import {
  createAttestedScreening,
  type ScreeningFacts,
  type ScreeningRequest,
} from '../../screening/screen.ts';
import { chosenSections } from '../../screening/sections.ts';
import { createJsonWriter, routeByChain, task } from '../task.ts';

/** A request, and what the main thread read from the chain for it. */
export interface ScreeningMessage {
  readonly request: ScreeningRequest;
  readonly facts: ScreeningFacts;
}

export const screeningTask = task({
  name: 'screening',
  run(services) {
    const screen = createAttestedScreening(services, services.assessor);
    const kept = createKeptAnswers(services, services.assessor);
    const writeJson = createJsonWriter();
    return ({ request, facts }: ScreeningMessage): PooledJson => ({
      json: kept.answer(request, facts, () => {
        const { answer, evidence } = screen(request, facts);
        const chosen = chosenSections(answer, request);
        return writeJson(request.withEvidence ? { answer: chosen, evidence } : chosen);
      }),
    });
  },
  route: routeByChain<ScreeningRequest>(),
});
