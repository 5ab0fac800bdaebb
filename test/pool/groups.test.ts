import { describe, expect, it } from 'vitest';
import { TaskGroups } from '../../src/pool/groups.ts';

interface Sent {
  readonly messages: readonly number[];
  answer(): Promise<void>;
  fail(): Promise<void>;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Groups that a test answers, with the text of each message. */
function groupsOf(threads: number): {
  readonly groups: TaskGroups<number, string>;
  readonly sent: Sent[];
  readonly failures: string[];
} {
  const sent: Sent[] = [];
  const failures: string[] = [];
  const onFailed = (error: unknown): void => void failures.push((error as Error).message);
  const send = (messages: readonly number[]): Promise<readonly string[]> =>
    new Promise((resolve, reject) => {
      sent.push({
        messages,
        answer: () => {
          resolve(messages.map(String));
          return turn();
        },
        fail: () => {
          reject(new Error('died'));
          return turn();
        },
      });
    });
  return { groups: new TaskGroups({ threads, send, onFailed }), sent, failures };
}

const ask = (groups: TaskGroups<number, string>, from: number, to: number): Promise<string>[] =>
  Array.from({ length: to - from }, (_, at) => groups.run(from + at));

describe('the groups of short tasks', () => {
  it('send a lone task alone, in the same turn of the event loop', async () => {
    const { groups, sent } = groupsOf(2);
    const answer = groups.run(7);
    await turn();
    expect(sent.map(({ messages }) => messages)).toEqual([[7]]);
    await sent[0]?.answer();
    await expect(answer).resolves.toBe('7');
  });

  it('send the tasks of one turn in one message, spread over the threads', async () => {
    const { groups, sent } = groupsOf(2);
    const answers = ask(groups, 0, 5);
    expect(sent).toEqual([]);
    await turn();
    expect(sent.map(({ messages }) => messages)).toEqual([
      [0, 1, 2],
      [3, 4],
    ]);
    for (const group of sent) await group.answer();
    await expect(Promise.all(answers)).resolves.toEqual(['0', '1', '2', '3', '4']);
  });

  it('keep what arrives while each thread has two groups, in its order, and send eight at a time', async () => {
    const { groups, sent } = groupsOf(1);
    const answers = ask(groups, 0, 40);
    await turn();
    expect(sent.map(({ messages }) => messages)).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [8, 9, 10, 11, 12, 13, 14, 15],
    ]);
    answers.push(groups.run(40));
    await turn();
    expect(sent).toHaveLength(2);
    for (let at = 0; at < sent.length; at++) await sent[at]?.answer();
    expect(sent.flatMap(({ messages }) => messages)).toEqual(Array.from({ length: 41 }, (_, at) => at));
    expect(Math.max(...sent.map(({ messages }) => messages.length))).toBe(8);
    await expect(Promise.all(answers)).resolves.toHaveLength(41);
  });

  it('send the tasks of a message that fails again, one by one, and fail only one that fails alone', async () => {
    const { groups, sent, failures } = groupsOf(1);
    const answers = ask(groups, 0, 20).map((answer) => answer.catch(({ message }: Error) => message));
    await turn();
    await sent[0]?.fail();
    expect(failures).toEqual(['died']);
    for (let at = 1; at < sent.length; at++) {
      const one = sent[at] as Sent;
      await (one.messages.join() === '3' ? one.fail() : one.answer());
    }
    await expect(Promise.all(answers)).resolves.toEqual(
      Array.from({ length: 20 }, (_, at) => (at === 3 ? 'died' : String(at))),
    );
    expect(failures).toEqual(['died']);
    const alone = sent.filter(({ messages }) => messages.length === 1).map(({ messages }) => messages[0]);
    expect(alone).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
