/** KYT check of a transfer. */
import { createKyt, type KytRequest } from '../../screening/kyt.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

export const kytTask = task({
  name: 'kyt',
  run(services) {
    const kyt = createKyt(services, services.assessor);
    return (request: KytRequest): Uint8Array => jsonBytes(kyt(request));
  },
  route: routeByChain,
});
