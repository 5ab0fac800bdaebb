/** Screening of an address. */
import { createScreening, type ScreeningRequest } from '../../screening/screen.ts';
import { jsonBytes, routeByChain, task } from '../task.ts';

export const screeningTask = task({
  name: 'screening',
  run(services) {
    const screen = createScreening(services, services.assessor);
    return (request: ScreeningRequest): Uint8Array => jsonBytes(screen(request));
  },
  route: routeByChain,
});
