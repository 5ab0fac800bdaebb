/** Screening of an address. */
import { createScreening, type ScreeningFacts, type ScreeningRequest } from '../../screening/screen.ts';
import { chosenSections } from '../../screening/sections.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

/** A request, and what the main thread read from the chain for it. */
export interface ScreeningMessage {
  readonly request: ScreeningRequest;
  readonly facts: ScreeningFacts;
}

export const screeningTask = task({
  name: 'screening',
  run(services) {
    const screen = createScreening(services, services.assessor);
    return ({ request, facts }: ScreeningMessage): Uint8Array =>
      jsonBytes(chosenSections(screen(request, facts), request));
  },
  route: routeByChain<ScreeningRequest>(),
});
