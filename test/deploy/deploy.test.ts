/** The files for containers, checked against the program as far as is possible without a container engine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { projectRoot } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/config.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { ROLES } from '../../src/nodes/roles.ts';
import { debianProgram } from '../setup/debian-package.ts';
import { freePort } from '../setup/free-port.ts';
import { isMemorySetting } from '../setup/server-settings.ts';
import { spawnSync } from '../support/child-process.ts';

const read = (...parts: string[]): string => readFileSync(join(projectRoot, ...parts), 'utf8');

const known = new Set<string>(Object.values(SETTINGS).map((row) => row.variable));

// --- the Dockerfile -----------------------------------------------------------------------------------------------------

interface Instruction {
  readonly word: string;
  readonly text: string;
}

/** Parses the instructions in order, without comments. If a line ends with a backslash, it continues on the next one. */
function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.split('\n').filter((line) => !line.trimStart().startsWith('#'));
  return lines
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [word = ''] = line.split(/\s/, 1);
      return { word: word.toUpperCase(), text: line.slice(word.length).trim() };
    });
}

const instructions = instructionsOf(read('Dockerfile'));
const lastFrom = instructions.map(({ word }) => word).lastIndexOf('FROM');
const image = instructions.slice(lastFrom);
const textsOf = (word: string, among: readonly Instruction[] = image): string[] =>
  among.filter((one) => one.word === word).map(({ text }) => text);

/** Whether a path of the context is sent to the engine: the last matching pattern decides. */
function isSent(path: string): boolean {
  let sent = true;
  for (const line of read('.dockerignore').split('\n')) {
    const pattern = line.trim();
    if (pattern === '' || pattern.startsWith('#')) continue;
    const name = pattern.replace(/^!/, '');
    if (name === '*' || path === name || path.startsWith(`${name}/`)) sent = pattern.startsWith('!');
  }
  return sent;
}

describe('the Dockerfile', () => {
  it('has only known instructions, on one image with a recent glibc', () => {
    const words = new Set(
      'ARG FROM WORKDIR COPY RUN LABEL ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD'.split(
        ' ',
      ),
    );
    expect(instructions.filter(({ word }) => !words.has(word))).toEqual([]);
    // trixie has glibc 2.41.
    expect(textsOf('ARG', instructions)).toEqual([
      expect.stringMatching(/^NODE_IMAGE=node:\d+-trixie(-slim)?$/),
      'BASE_IMAGE=debian:trixie-slim',
    ]);
    const stages = textsOf('FROM', instructions);
    // Node comes from its own image, without npm and headers; the last stage is the system alone.
    expect(stages.pop()).toBe(`${'$'}{BASE_IMAGE}`);
    expect(textsOf('COPY')).toContain('--from=packages /usr/local/bin/node /usr/local/bin/node');
    expect(stages.every((text) => text.startsWith(`${'$'}{NODE_IMAGE}`))).toBe(true);
    const major = Number(/node:(\d+)/.exec(read('Dockerfile'))?.[1]);
    const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
    expect(major).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)?.[0]));
  });

  it('copies only files that exist and are sent to the engine', () => {
    const stages = textsOf('FROM', instructions).flatMap((text) => / AS (\S+)$/.exec(text)?.[1] ?? []);
    for (const text of textsOf('COPY', instructions)) {
      const from = /^--from=(\S+)\s+/.exec(text)?.[1];
      const sources = text
        .replace(/^--\S+\s+/, '')
        .split(/\s+/)
        .slice(0, -1);
      expect(sources.length).toBeGreaterThan(0);
      if (from !== undefined) {
        expect(stages).toContain(from);
        continue;
      }
      for (const source of sources) {
        expect(existsSync(join(projectRoot, source)), source).toBe(true);
        expect(isSent(source), source).toBe(true);
      }
    }
    for (const path of [
      '.git',
      'node_modules',
      'dist',
      'data/store',
      'data/store/accounts',
      'test',
      '.npmrc',
      '.env',
    ])
      expect(isSent(path), path).toBe(false);
  });

  it('installs from the lockfile without install scripts, and builds by a script that exists', () => {
    const runs = textsOf('RUN', instructions);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const run of runs.filter((text) => text.startsWith('npm'))) {
      const script = /^npm run (\S+)$/.exec(run)?.[1];
      if (script === undefined) expect(run).toMatch(/^npm ci .*--ignore-scripts/);
      else expect(scripts).toHaveProperty(script);
    }
    expect(runs.filter((text) => text.includes('--omit=dev'))).toHaveLength(1);
    // `--ignore-scripts` also skips Assay's own step after an installation, which refuses changed binaries.
    const install = runs.findIndex((text) => text.includes('--omit=dev'));
    expect(runs[install + 1]).toBe('node scripts/supply/after-install.mjs --production');
    expect(image.some(({ word, text }) => word === 'COPY' && text.startsWith('--from=packages'))).toBe(true);
  });

  it('runs without root, keeps state in a volume, and has a health check', () => {
    const [user = 'root'] = textsOf('USER').slice(-1);
    expect(['root', '0']).not.toContain(user.split(':')[0]);
    const at = (word: string): number => image.findIndex((one) => one.word === word);
    // Files that belong to root are created before USER.
    expect(image.slice(at('USER')).some(({ word }) => word === 'RUN' || word === 'COPY')).toBe(false);
    const [volumes = '[]'] = textsOf('VOLUME');
    const settings = Object.fromEntries(
      textsOf('ENV').flatMap((text) =>
        [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
      ),
    ) as Record<string, string>;
    expect(JSON.parse(volumes)).toContain(settings.ASSAY_DATA_DIR);
    const { NODE_ENV, ...assay } = settings;
    expect(NODE_ENV).toBe('production');
    // The memory settings have a test of their own (memory-settings.test.ts).
    const own = Object.entries(assay).filter(([name]) => !isMemorySetting(name));
    expect(own.filter(([name]) => !known.has(name))).toEqual([]);
    expect(loadConfig(Object.fromEntries(own))).toMatchObject({
      host: '0.0.0.0',
      dataDir: '/data',
      port: 8080,
    });
    expect(textsOf('EXPOSE').join()).toContain('8080');
    expect(textsOf('HEALTHCHECK').join()).toContain('/health');
  });

  it('starts an existing command from a file that the build creates', () => {
    const [entry = '[]'] = textsOf('ENTRYPOINT');
    const [command = '[]'] = textsOf('CMD');
    const [node, file = ''] = JSON.parse(entry) as string[];
    expect(node).toBe('node');
    expect(file.startsWith('/app/dist/')).toBe(true);
    expect(statSync(join(projectRoot, file.slice('/app/'.length))).isFile()).toBe(true);
    const [word = ''] = JSON.parse(command) as string[];
    expect(read('src', 'cli', 'serve.ts')).toContain(`.command('${word}')`);
  });

  it('has a health check that can be executed', () => {
    const [text = ''] = textsOf('HEALTHCHECK');
    const words = JSON.parse(text.slice(text.indexOf('['))) as string[];
    expect(words.slice(0, 2)).toEqual(['node', '-e']);
    expect(() => new Function(words[2] ?? '(')).not.toThrow();
  });

  it.each(['http', 'https'] as const)('checks the health of a server that speaks %s', async (scheme) => {
    const [text = ''] = textsOf('HEALTHCHECK');
    const [, ...args] = JSON.parse(text.slice(text.indexOf('['))) as string[];
    const [key = '', cert = ''] = ['key', 'cert'].map((name) =>
      join(projectRoot, 'test', 'http', 'tls', `${name}.pem`),
    );
    const answer = ({ url }: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(url === '/health' ? 200 : 404).end();
    };
    const server =
      scheme === 'http'
        ? createServer(answer)
        : createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const tls = scheme === 'http' ? {} : { ASSAY_TLS_KEY: key, ASSAY_TLS_CERT: cert };
    const code = async (): Promise<number | null> => {
      const env = { PATH: process.env.PATH ?? '', ASSAY_PORT: String(port), ...tls };
      const [exitCode] = await once(spawn(process.execPath, args, { env, stdio: 'ignore' }), 'exit');
      return exitCode as number | null;
    };
    expect(await code()).toBe(0);
    server.close();
    server.closeAllConnections();
    expect(await code()).toBe(1);
  });

  it('has the command of the documentation on its path', () => {
    const { bin } = JSON.parse(read('package.json')) as { bin: { assay: string } };
    expect(textsOf('RUN').join('\n')).toContain(`ln -s /app/${bin.assay} /usr/local/bin/assay`);
  });
});

// --- the compose file ---------------------------------------------------------------------------------------------------

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: unknown;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly tmpfs?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
}

const compose = parse(read('deploy', 'compose.yaml'), { merge: true }) as Compose;
const { redis = {}, ...nodes } = compose.services;
const redisServer = debianProgram('redis-server', 'bin/redis-server');
const redisClient = debianProgram('redis-server', 'bin/redis-cli');

/** Fills in variables as compose does. */
const filled = (text: string): string => text.replace(/\$\{\w+:\?[^}]*\}/g, 'a-value-that-somebody-chose');

const configOf = (service: Service): ReturnType<typeof loadConfig> =>
  loadConfig(
    Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, text]) => [name, filled(text)])),
  );

describe('the compose file', () => {
  it('gives every node valid settings, and every role to a node', () => {
    const roles = Object.values(nodes).flatMap((service) => configOf(service).roles);
    expect([...roles].sort()).toEqual([...ROLES].sort());
    for (const service of Object.values(nodes)) {
      expect(configOf(service).redis?.place).toMatchObject({
        kind: 'single',
        nodes: [{ host: 'redis', port: 6379 }],
      });
      expect(Object.keys(service.environment ?? {}).filter((name) => !known.has(name))).toEqual([]);
    }
  });

  it('has no secret in it', () => {
    const text = read('deploy', 'compose.yaml');
    for (const name of ['ASSAY_REDIS_PASSWORD', 'ASSAY_CLUSTER_SECRET']) {
      expect(text).toContain(`${'$'}{${name}:?`);
      expect(text).not.toMatch(new RegExp(`${name}: [\\w"']`));
    }
  });

  it('makes Redis durable, and has its password in no argument', () => {
    expect(redis.command?.slice(0, 2)).toEqual(['sh', '-c']);
    expect(redis.command?.join(' ')).not.toMatch(/\$\{?ASSAY/);
    expect(filled(redis.environment?.REDISCLI_AUTH ?? '')).toBe('a-value-that-somebody-chose');
    expect(redis.volumes).toContain('redis:/data');
    expect(redis.healthcheck).toBeDefined();
    expect(redis.ports).toBeUndefined();
  });

  it.skipIf(redisServer === null || redisClient === null)(
    'starts a Redis that evicts nothing, keeps everything, and asks for the password',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'assay-deploy-redis-'));
      const port = String(await freePort());
      const env = { ...process.env, ...redisServer?.env, REDISCLI_AUTH: 'c0ffee' };
      const script = (redis.command?.[2] ?? '')
        .replaceAll('$$', '$')
        .replace('redis-server -', `${redisServer?.path} - --port ${port} --bind 127.0.0.1 --dir ${folder}`);
      const server = spawn('sh', ['-c', script], { stdio: 'ignore', env });
      const ask = (password: string, ...words: readonly string[]): string =>
        spawnSync(redisClient?.path ?? '', ['-p', port, ...words], {
          encoding: 'utf8',
          env: { ...process.env, ...redisClient?.env, REDISCLI_AUTH: password },
        }).stdout;
      try {
        await expect.poll(() => ask('c0ffee', 'ping')).toBe('PONG\n');
        expect(ask('c0ffee', 'config', 'get', 'maxmemory-policy')).toContain('noeviction');
        expect(ask('c0ffee', 'config', 'get', 'appendonly')).toContain('yes');
        expect(ask('', 'ping')).toContain('NOAUTH');
        // The command line that other users see in the list of processes; and a signal to this process reaches Redis itself.
        expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).toMatch(/^(?!.*c0ffee).*redis-server/s);
      } finally {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGTERM');
        await ended;
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  it('runs nodes that can write only to their volumes', () => {
    for (const [name, service] of Object.entries(nodes)) {
      expect(service.read_only, name).toBe(true);
      expect(service.cap_drop, name).toEqual(['ALL']);
      expect(service.tmpfs, name).toEqual(['/tmp']);
      const own = (service.volumes ?? []).find((volume) => volume.endsWith(':/data'));
      expect(own, name).toBe(`${name}:/data`);
    }
  });

  it('names only services and volumes that exist', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const volume of service.volumes ?? [])
        expect(compose.volumes).toHaveProperty(volume.split(':')[0] ?? '');
      for (const network of service.networks ?? []) expect(compose.networks, name).toHaveProperty(network);
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(compose.services).toHaveProperty(other);
        // The image of the nodes has its own check.
        const isChecked =
          compose.services[other]?.healthcheck !== undefined || compose.services[other]?.image === 'assay';
        expect(condition === 'service_healthy' && isChecked, `${name} on ${other}`).toBe(true);
      }
    }
    const builds = Object.values(compose.services).flatMap(({ build }) =>
      build === undefined ? [] : [build],
    );
    expect(builds).toHaveLength(1);
    for (const { context, dockerfile } of builds)
      expect(existsSync(join(projectRoot, 'deploy', context, dockerfile))).toBe(true);
  });

  it('lets the other nodes pull from the builder, and shares jobs between the nodes that need them', () => {
    const publishing = Object.entries(nodes).filter(
      ([, service]) => configOf(service).snapshots.listen !== null,
    );
    expect(publishing.map(([name]) => name)).toEqual(['api']);
    const port = configOf(nodes.api ?? {}).snapshots.listen?.port;
    for (const [name, service] of Object.entries(nodes)) {
      const { snapshots, roles, jobsDir } = configOf(service);
      if (name !== 'api') expect(snapshots.from).toEqual({ kind: 'http', url: `http://api:${port}/` });
      if (roles.includes('api') || roles.includes('worker'))
        expect(service.volumes).toContain(`jobs:${jobsDir}`);
      // Only the API is reachable from the machine.
      expect(service.ports).toEqual(name === 'api' ? ['127.0.0.1:8080:8080'] : undefined);
      expect(service.networks).toContain('inside');
    }
    expect(compose.networks.inside).toEqual({ internal: true });
  });
});
