/** The server of the benchmark of registers: the complete program on a state folder, with a key and a rate limit that is out of reach. */
import { createServices } from '../src/app/services.ts';
import { loadConfig } from '../src/config/config.ts';

export interface RegisterServerReady {
  readonly port: number;
  readonly key: string;
}

async function serve(folder: string): Promise<void> {
  const config = loadConfig({
    ASSAY_DATA_DIR: folder,
    ASSAY_PORT: '0',
    ASSAY_SYNC: 'off',
    ASSAY_LOG_LEVEL: 'warn',
  });
  const parts = createServices(config, 'bench');
  await parts.prepare();
  const { apiKey } = await parts
    .keys()
    .create({ name: 'bench', rateLimits: { 'exchange-status': 900_000_000 } });
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
