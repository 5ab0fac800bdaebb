/** One chunk of a bulk job. Chunks are routed by the scheduler of the jobs (`groupOfChunk`), and not by message. */
import { createChunkWork } from '../../jobs/bulk/chunk-work.ts';
import { createKyt } from '../../screening/kyt.ts';
import { createSanctionsCheckWriter } from '../../screening/sanctions-check.ts';
import { createScreening } from '../../screening/screen.ts';
import { task } from '../task.ts';

export const jobChunkTask = task({
  name: 'job-chunk',
  run: (services) =>
    createChunkWork({
      ...services,
      sanctionsCheck: createSanctionsCheckWriter(services),
      screening: createScreening(services, services.assessor),
      kyt: createKyt(services, services.assessor),
    }),
});
