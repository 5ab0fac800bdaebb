/** The bytes of steps: what a script in Redis reads in them, and replies of doubles. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packSteps, type StepValue, unpackReply } from '../../../src/accounts/redis/step-codec.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { RedisStore, Script } from '../../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis } from '../../setup/redis.ts';
import { openAt } from './world.ts';

/** Replies with the values of each step, numbers as their digits. */
const ECHO = `
local packed, at, steps = ARGV[1], 1, {}
while at <= #packed do
  local format, first = struct.unpack('<Hc0', packed, at)
  local values = {struct.unpack(format, packed, first)}
  at = table.remove(values)
  for position, value in ipairs(values) do
    if type(value) == 'number' then values[position] = string.format('%.17g', value) end
  end
  steps[#steps + 1] = values
end
return steps`;

describe.skipIf(!hasRedis)('a script in Redis', () => {
  let server: RedisServer;
  let redis: RedisStore;
  let echo: Script;
  beforeAll(async () => {
    server = await startRedis();
    redis = openAt(server.url, 'codec');
    echo = redis.script('echo', ECHO, { binary: true });
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });

  /** Returns the values that the script read, as Base64, which is compared faster than bytes. */
  const read = async (steps: readonly (readonly StepValue[])[]) => {
    const replies = (await echo([], [packSteps(steps)])) as readonly (readonly Buffer[])[];
    return replies.map((values) => values.map((value) => value.toString('base64')));
  };
  const expected = (steps: readonly (readonly StepValue[])[]) =>
    steps.map((values) =>
      values.map((value) =>
        (typeof value === 'object' ? Buffer.from(value) : Buffer.from(String(value))).toString('base64'),
      ),
    );

  it('reads texts of all lengths, bytes and numbers', async () => {
    const lengths = [0, 1, 63, 64, 65, 84, 85, 86, 255, 256, 257, 65_535, 65_536, 200_000];
    const steps: StepValue[][] = [
      lengths.map((length) => 'x'.repeat(length)),
      lengths.map((length) => 'ü€😀'.repeat(Math.ceil(length / 3))),
      lengths.map((length) => systemRandom.bytes(length)),
      [0, 1, -1, 1e9, 2 ** 53 - 1, 1_795_934_509_123, 0.5],
      ['admit', '', 'acme', 3, Buffer.alloc(0), 'a\0b'],
    ];
    expect(await read(steps)).toEqual(expected(steps));
  });

  it('reads random steps', async () => {
    const [bytes, steps] = [systemRandom.bytes(20_000), [] as StepValue[][]];
    for (let at = 0; at < bytes.length; ) {
      const values: StepValue[] = [];
      for (let count = (bytes[at++] ?? 0) % 40; count >= 0; count--) {
        const length = bytes[at++] ?? 0;
        const part = bytes.subarray(at, at + length);
        values.push(
          length % 3 === 0 ? length * 1e9 : length % 3 === 1 ? Buffer.from(part).toString('hex') : part,
        );
        at += length % 17;
      }
      steps.push(values);
    }
    expect(await read(steps)).toEqual(expected(steps));
  });
});

it('reads the doubles of a reply, and leaves a list as it is', () => {
  const doubles = Buffer.alloc(24);
  for (const [at, number] of [0, -7, 2 ** 53 - 1].entries()) doubles.writeDoubleLE(number, 8 * at);
  expect(unpackReply(doubles)).toEqual([0, -7, 2 ** 53 - 1]);
  expect(unpackReply([1, Buffer.from('a')])).toEqual([1, Buffer.from('a')]);
});
