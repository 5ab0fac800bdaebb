/** Both clients send a request again as its operation declares. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pythonPath } from '../../scripts/sdk-python.ts';
import { Assay, type Transport } from '../../sdk/typescript/src/index.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';

const called = OPERATIONS.flatMap(({ id, sdk, retry, method }) =>
  sdk === null ? [] : [{ id, sdk, retry, method }],
);

/** An argument that is an id, and also an object with the parameters of operations that take them together. */
const argument = (): object =>
  Object.assign(new String('id'), {
    chain: 'ETH',
    address: '0x1',
    hash: '0x2',
    name: 'a.csv',
    type: 'text/csv',
  });

/** Calls a method of the TypeScript client, of which every response is an error of the server, and returns its requests. */
async function requestsOf(sdk: string, body: object = argument()): Promise<readonly { hasKey: boolean }[]> {
  const seen: { hasKey: boolean }[] = [];
  const transport: Transport = async ({ headers }) => {
    seen.push({ hasKey: headers['idempotency-key'] !== undefined });
    return {
      status: 503,
      header: (name) => (name === 'retry-after' ? '0' : null),
      text: async () => '{}',
      body: async function* () {},
      cancel() {},
    };
  };
  const assay = new Assay({ baseUrl: 'http://localhost', apiKey: 'key', session: 'session', transport });
  const [resource = '', method = ''] = sdk.split('.');
  type Methods = Readonly<Record<string, (...given: readonly object[]) => Promise<unknown>>>;
  const methods = (assay as unknown as Readonly<Record<string, Methods>>)[resource];
  await expect(methods?.[method]?.(argument(), body)).rejects.toMatchObject({ status: 503 });
  return seen;
}

describe('a request whose outcome is unknown', () => {
  // Streams reconnect instead.
  const plain = called.filter(({ id }) => !id.endsWith('Stream'));

  it.each(plain)('is repeated by the TypeScript client as $id declares', async ({ sdk, retry }) => {
    const seen = await requestsOf(sdk);
    expect(seen).toHaveLength(retry === 'unsafe' ? 1 : 3);
    expect(seen.every(({ hasKey }) => hasKey === (retry === 'keyed'))).toBe(true);
  });

  it('is repeated by the Python client as its operation declares', () => {
    const constants = readFileSync(pythonPath, 'utf8').matchAll(
      /= _Operation\(\s*"(\w+)",\s*"\w+",\s*"[^"]+",\s*\w+,\s*"\w+",\s*"(\w+)"/g,
    );
    const retries = Object.fromEntries([...constants].map(([, id, retry]) => [id, retry]));
    expect(retries).toEqual(Object.fromEntries(called.map(({ id, retry }) => [id, retry])));
  });

  it('is not repeated if it has a version, which the first execution has changed', async () => {
    expect(await requestsOf('cases.update', { title: 'Deposit' })).toHaveLength(3);
    expect(await requestsOf('cases.update', { title: 'Deposit', version: 3 })).toHaveLength(1);
  });
});

describe('an operation', () => {
  const retryOf = (id: string) => called.find((one) => one.id === id)?.retry;

  it('that honours a key is keyed, and others follow their method unless they declare it', () => {
    expect(['kyt', 'sendJob', 'createCase'].map(retryOf)).toEqual(['keyed', 'keyed', 'keyed']);
    expect(['oracle', 'changeWallet', 'removeWallet'].map(retryOf)).toEqual(['safe', 'safe', 'safe']);
    expect(['createKey', 'login', 'webhookSecret'].map(retryOf)).toEqual(['unsafe', 'unsafe', 'unsafe']);
    expect(['reportLabel', 'logout', 'cancelJob'].map(retryOf)).toEqual(['safe', 'safe', 'unsafe']);
  });
});
