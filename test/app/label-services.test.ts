import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createLabelServices } from '../../src/app/label-services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createOpenedOnce } from '../../src/base/opened-once.ts';
import { loadConfig } from '../../src/config/config.ts';
import { tempFolder } from '../accounts/temp-folder.ts';

it('names the setting of a file of own links that cannot be read', () => {
  const { path } = tempFolder();
  const config = loadConfig({ ASSAY_DATA_DIR: path, ASSAY_ENTITY_PARTIES: join(path, 'missing.json') });
  const { once } = createOpenedOnce();
  expect(() => createLabelServices(config, { once, clock: systemClock, log: silentLogger })).toThrow(
    expect.objectContaining({
      code: 'INVALID_CONFIG',
      message: expect.stringMatching(/^ASSAY_ENTITY_PARTIES: missing\.json: cannot be read as JSON: ENOENT/),
    }),
  );
});
