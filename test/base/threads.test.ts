import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { Slots, whenEnded } from '../../src/base/threads.ts';

/** Starts a thread that runs `code`. In the code, `slots` are those of `memory`. */
function threadOf(code: string, memory: SharedArrayBuffer): Worker {
  const module = new URL('../../dist/src/base/threads.js', import.meta.url).href;
  const source = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { Slots, idleBeforeEnd } = await import(${JSON.stringify(module)});
    const slots = new Slots(workerData);
    ${code}
  `;
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), { workerData: memory });
}

describe('slots', () => {
  const FILL = `
    let filled = 0;
    for (; slots.wait(); filled++) slots.take();
    parentPort.postMessage(filled);
  `;

  it('block the filling thread while none is free, and end its work when they are stopped', async () => {
    const slots = Slots.of(3);
    const thread = threadOf(FILL, slots.memory);
    const filled = once(thread, 'message');
    const free = new Int32Array(slots.memory);
    await expect.poll(() => Atomics.load(free, 0)).toBe(0);
    slots.give(2);
    await expect.poll(() => Atomics.load(free, 0)).toBe(0);
    expect(slots.isStopped).toBe(false);
    slots.stop();
    expect(await filled).toEqual([5]);
    await whenEnded(thread);
  });

  it('stay stopped after later calls', () => {
    const slots = Slots.of(1);
    slots.stop();
    slots.give(1_000_000);
    expect([slots.isStopped, slots.wait()]).toEqual([true, false]);
    slots.take();
    expect(slots.isStopped).toBe(true);
  });

  it('let a thread fill one more, and no other, before its first wait', () => {
    const slots = Slots.of(1);
    expect(slots.wait()).toBe(true);
    slots.take();
    expect(new Int32Array(slots.memory)[0]).toBe(0);
  });
});

describe('a thread that ends', () => {
  it('can be awaited if it has already ended or ends by an error without a listener', async () => {
    const memory = new SharedArrayBuffer(4);
    const fails = threadOf(`throw new Error('on purpose');`, memory);
    await whenEnded(fails);
    expect(fails.threadId).toBe(-1);
    await whenEnded(fails);
  });

  it('is idle for a moment before', async () => {
    const thread = threadOf(
      `
        idleBeforeEnd();
        setTimeout(() => parentPort.postMessage('still there'), 100).unref();
      `,
      new SharedArrayBuffer(4),
    );
    // If it were not idle first, a thread without work would end before this unreferenced timer.
    const said = once(thread, 'message');
    expect(await Promise.race([said, whenEnded(thread).then(() => 'ended')])).toEqual(['still there']);
    await whenEnded(thread);
  });
});
