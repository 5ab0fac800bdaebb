import { describe, expect, it } from 'vitest';
import {
  allocateSharedCounters,
  SharedPlaces,
  SharedUnits,
  SharedWindow,
} from '../../src/accounts/shared-counters.ts';

const memory = allocateSharedCounters();
const STATE = { stored: 100, limit: 1_000, endMs: 1_000, low: 5, isWanted: false };

describe('leased units', () => {
  it('keep what another thread gives back while the owner has collected the rest', () => {
    const place = new SharedPlaces(memory.units, 'units').assign();
    if (place === null) throw new Error('No place.');
    const owner = new SharedUnits(memory.units, place);
    const other = new SharedUnits(memory.units, place);
    owner.publish({ ...STATE, left: 50 });
    expect(other.take(20, 0)).not.toBeNull();
    const collected = owner.collect();
    expect(collected).toBe(30);
    expect(other.give(20, 0)).toBe(true);
    owner.publish({ ...STATE, left: collected });
    expect(owner.collect()).toBe(50);
  });
});

describe('a window', () => {
  it('is freed only if it is unused under its lock', () => {
    const places = new SharedPlaces(memory.windows, 'windows');
    const place = places.assign();
    if (place === null) throw new Error('No place.');
    const window = new SharedWindow(memory.windows, place);
    window.total = 1;
    const isUnused = (): boolean => window.total === 0;
    expect(places.free(place, isUnused)).toBe(false);
    expect(window.lock()).toBe(true);
    window.total = 0;
    window.unlock();
    expect(places.free(place, isUnused)).toBe(true);
    expect(window.lock()).toBe(false);
    expect(places.assign()?.at).toBe(place.at);
  });
});
