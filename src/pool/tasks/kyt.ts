/** KYT check of a transfer. */
import type { PooledJson } from '../../base/buffer-pool.ts';
import { createAttestedKyt, type KytFacts, type KytRequest } from '../../screening/kyt.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

/** A request, and what the main thread read from the chain and resolved for it. */
export interface KytMessage {
  readonly request: KytRequest;
  readonly facts: KytFacts;
}

export const kytTask = task({
  name: 'kyt',
  run(services) {
    const kyt = createAttestedKyt(services, services.assessor);
    return ({ request, facts }: KytMessage): PooledJson => {
      const { answer, evidence } = kyt(request, facts);
      return { json: jsonBytes(request.withEvidence ? { answer, evidence } : answer) };
    };
  },
  route: routeByChain<KytRequest>(),
});
