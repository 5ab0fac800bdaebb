/** The memory of a server is configured before the process starts: the image and `npm start` must use the same settings. */
import { expect, it } from 'vitest';
import { memorySettings } from '../setup/server-settings.ts';

it('has the same value in the image and in npm start', () => {
  const image = memorySettings('Dockerfile');
  expect(Object.keys(image).sort()).toEqual([
    'MALLOC_ARENA_MAX',
    'MALLOC_MMAP_THRESHOLD_',
    'MALLOC_TRIM_THRESHOLD_',
    'NODE_OPTIONS',
  ]);
  expect(memorySettings('scripts/bootstrap.mjs')).toEqual(image);
});
