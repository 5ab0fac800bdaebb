/** Times of files are in UTC, whatever the time zone of the machine. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { utcTimeOf } from '../../src/base/iso-times.ts';
import { timeOf } from '../../src/graph/ingest/transfer-fields.ts';
import { parseCheckDate } from '../../src/labels/attest.ts';
import { normalPublication } from '../../src/labels/sanctions.ts';

const zoneBefore = process.env.TZ;

describe.each(['UTC', 'America/New_York', 'Asia/Tokyo'])('on a machine in the zone %s', (zone) => {
  beforeAll(() => {
    process.env.TZ = zone;
  });
  afterAll(() => {
    if (zoneBefore === undefined) delete process.env.TZ;
    else process.env.TZ = zoneBefore;
  });

  it.each([
    ['2025-12-31', '2025-12-31T00:00:00.000Z'],
    ['2025-12', '2025-12-01T00:00:00.000Z'],
    ['2025-12-31T23:30', '2025-12-31T23:30:00.000Z'],
    ['2025-12-31T23:30:00', '2025-12-31T23:30:00.000Z'],
    // An hour that the daylight change of New York leaves out.
    ['2025-03-09T02:30:00.123456', '2025-03-09T02:30:00.123Z'],
    ['2025-12-31 23:30', '2025-12-31T23:30:00.000Z'],
    ['Dec 31 2025 11:30 PM', '2025-12-31T23:30:00.000Z'],
    ['12/31/2025', '2025-12-31T00:00:00.000Z'],
    ['2025-12-31T23:30:00Z', '2025-12-31T23:30:00.000Z'],
    ['2025-12-31T23:30:00-05:00', '2026-01-01T04:30:00.000Z'],
    ['2025-12-31 23:30:00+00', '2025-12-31T23:30:00.000Z'],
    ['2025-12-31 23:30:00 EST', '2026-01-01T04:30:00.000Z'],
    ['Wed Dec 31 2025 23:30:00 GMT+0100 (Central European Standard Time)', '2025-12-31T22:30:00.000Z'],
    ['Wed, 31 Dec 2025 23:30:00 GMT', '2025-12-31T23:30:00.000Z'],
  ])('reads %s', (text, iso) => {
    expect(isoTime(utcTimeOf(text))).toBe(iso);
  });

  it('rejects a text that is no time', () => {
    for (const text of ['', 'today', '2025-13-01', '2025-12-31T25:00'])
      expect(utcTimeOf(text), text).toBeNaN();
  });

  it('gives a transfer the same time', () => {
    for (const timestamp of ['2025-12-31T23:30:00', '2025-12-31 23:30:00', '2025-12-31 23:30'])
      expect(timeOf({ timestamp }, 'timestamp', 'milliseconds'), timestamp).toBe(
        Date.UTC(2025, 11, 31, 23, 30),
      );
  });

  it('gives a publication and a check of a list the same time', () => {
    const now = Date.UTC(2026, 0, 1);
    expect(normalPublication('2025-12-31T23:30:00')).toBe('2025-12-31T23:30:00.000Z');
    expect(parseCheckDate('2025-12-31T23:30:00', now)).toBe('2025-12-31T23:30:00.000Z');
  });
});
