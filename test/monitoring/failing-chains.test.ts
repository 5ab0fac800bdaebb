/** The chains that a node leaves to other nodes, by the time for which it could not follow them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FailingChains } from '../../src/monitoring/failing-chains.ts';

describe('a chain that cannot be followed', () => {
  let at = 0;
  let published: string[];
  let chains: FailingChains;
  beforeEach(() => {
    at = 1_000;
    published = [];
    chains = new FailingChains({ now: () => 0, monotonic: () => at }, (named) => {
      published.push(named.join());
    });
  });
  /** Notes the chain once a second for some seconds. */
  function pass(seconds: number, state: 'broken' | 'beginning' | 'read' | 'elsewhere'): void {
    for (let i = 0; i < seconds; i++, at += 1_000) {
      if (state !== 'elsewhere')
        chains.note('ETH', { isFollowing: state !== 'broken', isReading: state === 'read' });
      chains.publish();
    }
  }

  it('is named after 15 seconds, and not before', () => {
    pass(15, 'broken');
    expect(published).toEqual([]);
    pass(1, 'broken');
    expect(published).toEqual(['ETH']);
  });

  it('is not named if it is followed in between', () => {
    pass(10, 'broken');
    pass(1, 'read');
    pass(14, 'broken');
    expect(published).toEqual([]);
  });

  it('is taken again after a minute, and if it fails again, after two', () => {
    pass(16, 'broken');
    pass(59, 'elsewhere');
    expect(published).toEqual(['ETH']);
    pass(1, 'elsewhere');
    expect(published).toEqual(['ETH', '']);
    pass(5, 'beginning');
    pass(16, 'broken');
    expect(published).toEqual(['ETH', '', 'ETH']);
    pass(119, 'elsewhere');
    expect(published).toHaveLength(3);
    pass(1, 'elsewhere');
    expect(published).toEqual(['ETH', '', 'ETH', '']);
  });

  it('is not named any more at once if no other node took it, and it is followed again', () => {
    pass(20, 'broken');
    pass(1, 'read');
    expect(published).toEqual(['ETH', '']);
  });
});
