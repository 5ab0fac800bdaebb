/** Labels of many addresses. The message is the body of the request, so that only one thread parses it. */
import { createBulk } from '../../screening/bulk.ts';
import { task } from '../task.ts';

export const bulkLabelsTask = task({
  name: 'bulk-labels',
  // The thread packs a result before it runs the next task.
  run: (services) => createBulk(services, { asView: true }),
});
