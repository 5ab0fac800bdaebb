/**
 * Whether a server under load answers what it was built from: a program that finds nothing, or that leaves out items, is faster than one that
 * works. Addresses are checked before a load, and others after it.
 */
import type { ChainId } from '../src/chains/registry.ts';
import type { EntityLabelSet, OracleAnswer } from '../src/screening/answers.ts';

/** What is read of an item. */
export type BulkItemAnswer = Pick<EntityLabelSet, 'address' | 'chain' | 'labels'>;

/** An address to ask for. */
export interface KnownAddress {
  readonly chain: ChainId;
  readonly text: string;
  /** Whether the index has a label of it that names an entity. */
  readonly isLabelled: boolean;
}

/** What an answer says about an address. */
export interface CheckedAnswer {
  readonly chain: string;
  readonly address: string;
  /** Whether it names a label or an entity. */
  readonly isLabelled: boolean;
}

const sameAddress = (one: string, other: string): boolean =>
  one === other || (one.startsWith('0x') && one.toLowerCase() === other.toLowerCase());

/**
 * Compares answers with what the addresses are, in order.
 *
 * @throws naming the first answer that is missing or wrong
 */
export function requireAnswers(
  what: string,
  asked: readonly KnownAddress[],
  answers: readonly CheckedAnswer[],
): void {
  if (answers.length !== asked.length)
    throw new Error(`${what}: ${answers.length} answers to ${asked.length} addresses.`);
  for (const [at, { chain, text, isLabelled }] of asked.entries()) {
    const answer = answers[at] as CheckedAnswer;
    if (answer.chain !== chain || !sameAddress(answer.address, text))
      throw new Error(`${what}: asked for ${chain} ${text}, answered for ${answer.chain} ${answer.address}.`);
    if (answer.isLabelled !== isLabelled)
      throw new Error(
        `${what}: ${chain} ${text} is ${isLabelled ? 'labelled' : 'not labelled'}, but its answer says the opposite.`,
      );
  }
}

async function dataOf<T>(response: Response): Promise<T> {
  const body = (await response.json()) as { readonly data?: T };
  if (response.status !== 200 || body.data === undefined)
    throw new Error(`${response.url}: ${response.status} ${JSON.stringify(body)}`);
  return body.data;
}

/** Asks the oracle for each address, and checks its answers. */
export async function checkOracle(port: number, key: string, asked: readonly KnownAddress[]): Promise<void> {
  const answers: CheckedAnswer[] = [];
  for (const { chain, text } of asked) {
    const { entity, ...answer } = await dataOf<OracleAnswer>(
      await fetch(`http://127.0.0.1:${port}/api/v1/oracle/address/${chain}/${text}`, {
        headers: { authorization: `Bearer ${key}` },
      }),
    );
    answers.push({ chain: answer.chain, address: answer.address, isLabelled: entity !== null });
  }
  requireAnswers('oracle', asked, answers);
}

/** Returns what an item of a bulk answer says. */
export const itemAnswer = ({ chain, address, labels }: BulkItemAnswer): CheckedAnswer => ({
  chain,
  address,
  isLabelled: labels.length > 0,
});

/** Sends all addresses in one bulk request, and checks its items. */
export async function checkBulk(port: number, key: string, asked: readonly KnownAddress[]): Promise<void> {
  const { results } = await dataOf<{ readonly results: readonly BulkItemAnswer[] }>(
    await fetch(`http://127.0.0.1:${port}/api/v1/screen/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ addresses: asked.map(({ chain, text }) => ({ address: text, chain })) }),
    }),
  );
  requireAnswers('bulk', asked, results.map(itemAnswer));
}
