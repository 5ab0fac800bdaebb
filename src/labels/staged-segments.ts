/** The segments that an import writes before its dataset is published. */
import { join } from 'node:path';
import { createSegmentWriter, type SegmentStats, type SegmentWriter } from './index/segment.ts';
import type { When } from './map.ts';

export interface ClosedSegment {
  readonly name: string;
  readonly when: When;
  readonly stats: SegmentStats;
}

/** The segments of a dataset: one for every condition under which its labels count. */
export class StagedSegments {
  private readonly folder: string;
  private readonly open = new Map<string, { readonly when: When; readonly writer: SegmentWriter }>();

  constructor(folder: string) {
    this.folder = folder;
  }

  of(when: When): SegmentWriter {
    const name = segmentName(when);
    const known = this.open.get(name);
    if (known) return known.writer;
    const writer = createSegmentWriter(join(this.folder, name));
    this.open.set(name, { when, writer });
    return writer;
  }

  async close(): Promise<ClosedSegment[]> {
    const closed: ClosedSegment[] = [];
    for (const [name, { when, writer }] of this.open)
      closed.push({ name, when, stats: await writer.close() });
    return closed;
  }

  abort(): void {
    for (const { writer } of this.open.values()) writer.abort();
  }
}

const segmentName = (when: When): string =>
  when === 'always' ? 'always' : 'unless' in when ? `unless-${when.unless}` : `once-${when.once}`;
