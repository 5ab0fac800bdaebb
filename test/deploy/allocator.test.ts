/** The allocator of a server is configured before the process starts: the image and `npm start` must use the same settings. */
import { expect, it } from 'vitest';
import { allocatorSettings } from '../setup/server-settings.ts';

it('has the same value in the image and in npm start', () => {
  const image = allocatorSettings('Dockerfile');
  expect(Object.keys(image).sort()).toEqual([
    'MALLOC_ARENA_MAX',
    'MALLOC_MMAP_THRESHOLD_',
    'MALLOC_TRIM_THRESHOLD_',
  ]);
  expect(allocatorSettings('scripts/bootstrap.mjs')).toEqual(image);
});
