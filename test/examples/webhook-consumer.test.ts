/** The webhook consumer with real deliveries of the built program, and the workflow for n8n with the same bytes. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { newWorld, type RunningServer, until, type World } from '../e2e/program.ts';
import { mountSmallDisk, type SmallDisk } from '../setup/small-disk.ts';
import { copyExample, type Example, type RunningExample } from './example.ts';

interface Passed {
  readonly key: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

let example: Example;
let tool: Server;
let toolUrl: string;
/** Requests to the tool, which answers with `toolStatus`. */
const passed: Passed[] = [];
let toolStatus = 200;
const disk = mountSmallDisk('tmpfs', 1);
let filled = 0;

beforeAll(async () => {
  example = copyExample('webhook-consumer', null);
  tool = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const key = request.headers['idempotency-key'] as string | undefined;
      passed.push({ key, body: JSON.parse(Buffer.concat(parts).toString()) });
      response.writeHead(toolStatus).end();
    });
  });
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve));
  toolUrl = `http://127.0.0.1:${(tool.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  await example?.remove();
  tool?.closeAllConnections();
  tool?.close();
  if (typeof disk !== 'string') disk.remove();
});

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** Signs a message as Assay does. */
function signed(
  id: string,
  message: object,
  at = new Date(),
): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(message);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRET).sign(id, at, body),
  };
  return { headers, body };
}

const alert = (severity: string): object => ({
  type: 'alert.created',
  timestamp: '2026-11-21T10:32:23.496Z',
  data: { alert: { id: 'a1', severity, title: 'Received from “Some Mixer”' } },
});

describe('the webhook consumer', () => {
  let at = 0;
  /** Starts it with an inbox of its own, or with the given one. */
  const start = (inbox = `inbox-${at++}.ndjson`, more: Readonly<Record<string, string>> = {}) =>
    example.serve('server.js', {
      ASSAY_WEBHOOK_SECRET: SECRET,
      INBOX_FILE: inbox,
      FORWARD_URL: toolUrl,
      ...more,
    });
  const post = async (consumer: RunningExample, headers: Record<string, string>, body: string | Buffer) =>
    (await fetch(`${consumer.url}/assay`, { method: 'POST', headers, body })).status;
  const passedOf = (id: string) => passed.filter(({ key }) => key === id);

  it('passes each message of Assay on once, also one that is sent again', async () => {
    const world: World = newWorld();
    try {
      const server: RunningServer = await world.serve({ ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1' });
      // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
      const ask = async (method: string, path: string, body?: object): Promise<any> => {
        const response = await fetch(`${server.url}/api/v1/monitoring${path}`, {
          method,
          headers: { authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        expect(response.status, `${method} ${path}`).toBe(200);
        return ((await response.json()) as { data: unknown }).data;
      };
      const { secret } = await ask('POST', '/webhook-secret');
      const consumer = await start(undefined, { ASSAY_WEBHOOK_SECRET: secret });
      const { wallet } = await ask('POST', '/wallets', {
        chain: 'ETH',
        walletAddress: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed',
        customWebhookUrl: `${consumer.url}/assay`,
      });
      await ask('POST', `/wallets/${wallet.id}/test`);
      await until(() => passed.length > 0);
      const [{ key: id = '' } = { key: '' }] = passed;
      expect(passed).toMatchObject([{ key: id, body: { id } }]);
      await ask('POST', `/deliveries/${id}/replay`);
      const ignored = () => consumer.log().filter(({ message }) => message === 'repeated message ignored');
      await until(() => ignored().length > 0);
      expect(ignored()).toMatchObject([{ id }]);
      expect(passed).toHaveLength(1);
      await consumer.stop();
    } finally {
      await world.end();
    }
  });

  it('rejects what is not signed, signed for other bytes, or old, and passes none of it on', async () => {
    const consumer = await start();
    const { headers, body } = signed('m-forged', alert('HIGH'));
    const { 'webhook-signature': signature = '', ...unsigned } = headers;
    for (const [each, text] of [
      [unsigned, body],
      [headers, body.replace('HIGH', 'LOW')],
      [{ ...headers, 'webhook-id': 'm-other' }, body],
      [{ ...headers, 'webhook-signature': signature.replace('v1,', 'v2,') }, body],
      [{ ...headers, 'webhook-signature': 'v1,' }, body],
      [{ ...headers, 'webhook-timestamp': 'now' }, body],
      [signed('m-forged', alert('HIGH'), new Date(Date.now() - 10 * 60_000)).headers, body],
    ] as const)
      expect(await post(consumer, each, text)).toBe(401);
    expect(await post(consumer, headers, Buffer.alloc(1024 * 1024 + 1))).toBe(413);
    expect((await fetch(`${consumer.url}/other`)).status).toBe(404);
    // One of several signatures is enough, as after a rotation of the secret.
    expect(await post(consumer, { ...headers, 'webhook-signature': `v1,AAAA ${signature}` }, body)).toBe(204);
    await until(() => passedOf('m-forged').length > 0);
    await consumer.stop();
  });

  it('answers while the tool is down, and passes the message on when it is back', async () => {
    const consumer = await start();
    toolStatus = 500;
    const { headers, body } = signed('m-down', alert('HIGH'));
    expect(await post(consumer, headers, body)).toBe(204);
    expect(await post(consumer, headers, body)).toBe(204);
    await until(() => passedOf('m-down').length > 0);
    toolStatus = 200;
    await until(() => consumer.log().some(({ message }) => message === 'message handled'));
    const attempts = passedOf('m-down').length;
    expect(await post(consumer, headers, body)).toBe(204);
    await until(
      () => consumer.log().filter(({ message }) => message === 'repeated message ignored').length === 2,
    );
    expect(passedOf('m-down')).toHaveLength(attempts);
    await consumer.stop();
  });

  it('keeps messages over a kill: it passes on what waits, and knows what was handled', async () => {
    const inbox = 'killed.ndjson';
    const first = await start(inbox);
    await post(first, signed('m-handled', alert('HIGH')).headers, signed('m-handled', alert('HIGH')).body);
    await until(() => first.log().some(({ message }) => message === 'message handled'));
    toolStatus = 500;
    const { headers, body } = signed('m-waits', alert('LOW'));
    expect(await post(first, headers, body)).toBe(204);
    await first.stop('SIGKILL');
    // A line that the crash cut off.
    appendFileSync(join(example.folder, inbox), '{"id":"m-cut","at":1,"mess');
    toolStatus = 200;
    const second = await start(inbox);
    await until(() =>
      second.log().some(({ message, id }) => message === 'message handled' && id === 'm-waits'),
    );
    const again = signed('m-handled', alert('HIGH'));
    expect(await post(second, again.headers, again.body)).toBe(204);
    expect(passedOf('m-handled')).toHaveLength(1);
    expect(passedOf('m-cut')).toEqual([]);
    await second.stop();
  });

  it.skipIf(typeof disk === 'string')(
    'does not accept a message while the disk is full, and accepts it afterwards',
    async () => {
      const { path, fill, free } = disk as SmallDisk;
      const consumer = await start(join(path, 'inbox.ndjson'));
      const { headers, body } = signed('m-full', alert('HIGH'));
      fill();
      // The first bytes of a page may still fit.
      await until(async () => {
        const other = signed(`m-fills-${filled++}`, alert('HIGH'));
        return (await post(consumer, other.headers, other.body)) === 503;
      });
      expect(await post(consumer, headers, body)).toBe(503);
      expect(passedOf('m-full')).toEqual([]);
      free();
      expect(await post(consumer, headers, body)).toBe(204);
      await until(() => passedOf('m-full').length > 0);
      await consumer.stop();
    },
  );

  it('forgets a handled message after the time in which Assay can send it again', async () => {
    const { openInbox } = await example.load('inbox.js');
    const path = join(example.folder, 'forgets.ndjson');
    let nowMs = 0;
    const reopen = () => openInbox(path, () => nowMs);
    const inbox = reopen();
    expect([inbox.add('a', {}), inbox.add('a', {}), inbox.add('b', {})]).toEqual([true, false, true]);
    inbox.done('a');
    inbox.close();
    expect(reopen().add('a', {})).toBe(false);
    nowMs = 32 * 24 * 3_600_000;
    const later = reopen();
    // A message that was never handled is not forgotten.
    expect(later.pending().map(({ id }: { id: string }) => id)).toEqual(['b']);
    expect(later.add('a', {})).toBe(true);
    appendFileSync(path, 'not JSON\n');
    expect(reopen).toThrow(`${path}: line 3 is not JSON.`);
  });

  it('names a secret that is none', async () => {
    const { code, err } = await example.run('server.js', [], { ASSAY_WEBHOOK_SECRET: 'whsec_short' });
    expect(code).not.toBe(0);
    expect(err).toContain('secret: must be the text that POST /monitoring/webhook-secret returned');
  });
});

interface WorkflowNode {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly typeVersion: number;
  readonly position: readonly number[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly name: string;
  readonly active: boolean;
  readonly nodes: readonly WorkflowNode[];
  readonly connections: Readonly<
    Record<
      string,
      { readonly main: readonly (readonly { readonly node: string; readonly type: string }[])[] }
    >
  >;
}

describe('the workflow for n8n', () => {
  const workflow = JSON.parse(
    readFileSync(join(projectRoot, 'examples', 'webhook-consumer', 'n8n-workflow.json'), 'utf8'),
  ) as Workflow;
  const codeNode = workflow.nodes.find(({ type }) => type === 'n8n-nodes-base.code');

  it('has the structure that n8n imports: known nodes, all of them connected, and not active', () => {
    const { nodes, connections } = workflow;
    expect(workflow.active).toBe(false);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(nodes.length);
    expect(new Set(nodes.map(({ name }) => name)).size).toBe(nodes.length);
    for (const { name, type, typeVersion, position, parameters } of nodes) {
      expect(type, name).toMatch(/^n8n-nodes-base\.(webhook|code|if|httpRequest)$/);
      expect([typeVersion, ...position].every(Number.isFinite), name).toBe(true);
      expect(parameters, name).toBeTypeOf('object');
    }
    const names = new Set(nodes.map(({ name }) => name));
    const targets = Object.entries(connections).flatMap(([from, { main }]) => {
      expect(names).toContain(from);
      return main.flat();
    });
    for (const { node, type } of targets) {
      expect(names).toContain(node);
      expect(type).toBe('main');
    }
    // Every node but the trigger has an input.
    const [trigger, ...rest] = nodes;
    expect(new Set(targets.map(({ node }) => node))).toEqual(new Set(rest.map(({ name }) => name)));
    // The answer does not wait for the workflow, and the signature is over the bytes as received.
    expect(trigger).toMatchObject({
      type: 'n8n-nodes-base.webhook',
      parameters: { httpMethod: 'POST', responseMode: 'onReceived', options: { rawBody: true } },
    });
  });

  it('has code that passes a genuine delivery once, and throws for a forged one', async () => {
    const memory: Record<string, unknown> = {};
    const AsyncFunction = (async () => {}).constructor as new (
      ...parts: string[]
    ) => (...values: unknown[]) => Promise<unknown[]>;
    const code = new AsyncFunction(
      '$input',
      '$env',
      '$getWorkflowStaticData',
      'require',
      String(codeNode?.parameters.jsCode),
    );
    const run = ({ headers, body }: { headers: IncomingHttpHeaders; body: string }, secret = SECRET) =>
      code.call(
        { helpers: { getBinaryDataBuffer: async () => Buffer.from(body) } },
        { first: () => ({ json: { headers } }) },
        { ASSAY_WEBHOOK_SECRET: secret },
        () => memory,
        createRequire(import.meta.url),
      );
    const genuine = signed('m1', alert('HIGH'));
    expect(await run(genuine)).toMatchObject([
      { json: { id: 'm1', type: 'alert.created', alert: { severity: 'HIGH' } } },
    ]);
    expect(await run(genuine)).toEqual([]);
    expect(await run(signed('m2', alert('LOW')))).toHaveLength(1);
    await expect(run({ ...genuine, body: genuine.body.replace('HIGH', 'LOW') })).rejects.toThrow('signature');
    await expect(run(signed('m3', alert('LOW'), new Date(0)))).rejects.toThrow('too old');
    await expect(run({ headers: {}, body: '{}' })).rejects.toThrow('Not a delivery');
    await expect(run(genuine, '')).rejects.toThrow('ASSAY_WEBHOOK_SECRET');
  });
});
