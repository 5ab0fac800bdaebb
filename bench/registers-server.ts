/** The server of the benchmarks of registers and tools: the complete program on a state folder, with a key and rate limits that are out of reach. */
import { RATE_CLASSES } from '../src/accounts/plans.ts';
import { createServices } from '../src/app/services.ts';
import { loadConfig } from '../src/config/config.ts';

export interface RegisterServerReady {
  readonly port: number;
  readonly key: string;
}

/** Requests a minute. */
const OUT_OF_REACH = 900_000_000;

async function serve(folder: string): Promise<void> {
  const config = loadConfig({
    ASSAY_DATA_DIR: folder,
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    ASSAY_LOG_LEVEL: 'warn',
  });
  const parts = createServices(config, 'bench');
  await parts.prepare();
  const { apiKey } = await parts.keys().create({
    name: 'bench',
    rateLimits: Object.fromEntries(RATE_CLASSES.map((each) => [each, OUT_OF_REACH])),
  });
  const { url } = await parts.serve();
  process.send?.({ port: Number(new URL(url).port), key: apiKey } satisfies RegisterServerReady);
}

process.once('message', (folder) => {
  serve(folder as string).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));
