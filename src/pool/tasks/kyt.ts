/** KYT check of a transfer. */
import { createKyt, type KytFacts, type KytRequest } from '../../screening/kyt.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

/** A request, and what the main thread read from the chain and resolved for it. */
export interface KytMessage {
  readonly request: KytRequest;
  readonly facts: KytFacts;
}

export const kytTask = task({
  name: 'kyt',
  run(services) {
    const kyt = createKyt(services, services.assessor);
    return ({ request, facts }: KytMessage): Uint8Array => jsonBytes(kyt(request, facts));
  },
  route: routeByChain<KytRequest>(),
});
