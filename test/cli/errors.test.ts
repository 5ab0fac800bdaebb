/** Errors of the command line: one format, one table of exit codes, no stack traces without `--debug`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommanderError } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { loadTokenList } from '../../src/chains/tokens.ts';
import { EXIT, exitCodeOf, Interruption } from '../../src/cli/exit-codes.ts';
import { runCommand } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-errors-'));
const dataDir = join(folder, 'store');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('exit codes', () => {
  it.each([
    [new CommanderError(1, 'commander.unknownOption', 'x'), EXIT.usage],
    [new CommanderError(0, 'commander.helpDisplayed', 'x'), EXIT.done],
    [new AssayError('INVALID_REQUEST', 'x'), EXIT.usage],
    [new AssayError('INVALID_ADDRESS', 'x'), EXIT.usage],
    [new AssayError('INVALID_REQUEST', 'x', { field: 'ASSAY_REDIS_URL' }), EXIT.failed],
    [new AssayError('INVALID_FILE', 'x'), EXIT.failed],
    [new AssayError('INVALID_CONFIG', 'x'), EXIT.failed],
    [new AssayError('INVALID_CONFIG', 'x', { field: 'ASSAY_ROLES' }), EXIT.failed],
    [new AssayError('INVALID_CONFIG', 'x', { field: '--role' }), EXIT.usage],
    [new Error('x'), EXIT.failed],
    ['thrown text', EXIT.failed],
    [new Interruption('Interrupted.'), EXIT.interrupted],
    [AbortSignal.abort().reason, EXIT.interrupted],
  ])('%s is %d', (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });
});

const UK_LIST = join(folder, 'uk.csv');

describe('a wrong command line', () => {
  beforeAll(async () => {
    writeFileSync(UK_LIST, '');
    // Commands of stored records require that there are some.
    await runCommand(dataDir, ['keys', 'create', '--name', 'first']);
  });

  it.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['sync', '--nope'], "unknown option '--nope'"],
    [['monitor', 'alert'], "unknown command 'alert'. Did you mean alerts\\? Use --help"],
    [['watch'], "missing required argument 'chain'"],
    [['keys', 'list', 'extra'], "too many arguments for 'list'"],
    [['ingest', 'ndjson', 'x'], "required option '--chain <chain>' not specified"],
    [['audit', 'show', '--limit', 'x'], '--limit: must be a whole number from 1 to 99999'],
    [['audit', 'show', '--limit', '0'], '--limit: must be a whole number from 1 to 99999'],
    [['credits', 'adjust', 'local', 'five', '--reason', 'x'], 'credits: must be a whole number'],
    [['lists', 'attest', 'UN', '--checked', '2026-01-01', '--by', ''], '--by: must have 1 to 80 characters'],
    [['graph', 'push', 'ETH', '--every', '0'], '--every: must be a whole number from 1 to 86400'],
    [['bulk', '--remote', 'http://127.0.0.1:1', '--chain', 'ETH'], '--key-file: --remote needs an API key'],
    [['bulk', '--remote', 'http://127.0.0.1:1', '--key-file', '/nowhere/key'], '--key-file: cannot be read'],
    [
      ['cluster', 'BTC', '--labels-only', '--no-labels'],
      '--labels-only: cannot be combined with --no-labels',
    ],
    [['snapshot', 'pull', '--from', ''], '--from: must not be empty'],
    [['watch', 'NOCHAIN'], 'chain: must be one of'],
    [['serve', '--role', 'foo'], '--role: must be a comma-separated list'],
    [['serve', '--role', ''], '--role: must be a comma-separated list'],
    ...['garbage', 'ftp://x', 'http://user:secret@x', 's3://b/x', 's3://'].map((from): [string[], string] => [
      ['snapshot', 'pull', '--from', from],
      '--from: must be an? ',
    ]),
    ...['soon', '2999-01-01'].map((day): [string[], string] => [
      ['import', 'uk', UK_LIST, '--published', day],
      'published: ',
    ]),
    [['import', 'people', UK_LIST, '--published', 'soon'], 'published: '],
    [['import', 'registers', UK_LIST, '--published', 'soon'], 'published: '],
    [['sync', '--from', 'garbage'], '--from: '],
    [['sync', 'nosource'], 'source: '],
    [['import', 'nosource', UK_LIST], 'source: '],
    [['import', 'own', UK_LIST, '--map', 'x'], '--map: '],
    [['import', 'own', UK_LIST, '--map', 'nofield=x'], '--map: |mapping'],
    [['keys', 'create', '--name', 'x', '--permissions', 'all,none'], '--permissions: '],
    [['plan', 'set', 'local', 'NOPLAN'], 'plan: '],
    [['exposure', 'build', 'NOCHAIN'], 'chain: '],
  ])('%j is one line that begins with the field', async (args, message) => {
    const { code, out, err } = await runCommand(dataDir, args);
    expect({ code, out }).toEqual({ code: EXIT.usage, out: '' });
    expect(err).toMatch(/^assay: [^\n]+\n$/);
    expect(err).toMatch(new RegExp(`^assay: (?:${message})`));
    expect(err).not.toContain('..');
  });
});

it.each(['https://secret@x', 'https://x/?token=secret', 'ftp://secret:secret@x'])(
  'the error of --from does not repeat the secret of %s',
  async (from) => {
    expect((await runCommand(dataDir, ['snapshot', 'pull', '--from', from])).err).not.toContain('secret');
  },
);

describe('stack traces', () => {
  const command = ['import', 'own', '/nowhere/own.csv'];

  it('are not printed', async () => {
    const { err } = await runCommand(dataDir, command);
    expect(err).toMatch(/^assay: [^\n]+\n$/);
  });

  it.each([[['--debug', ...command]], [[...command, '--debug']]])('are printed by %j', async (args) => {
    const { code, err } = await runCommand(dataDir, args);
    expect(code).toBe(EXIT.failed);
    expect(err).toMatch(/^assay: [^\n]+\n {2}AssayError: [^\n]+\n {6}at /);
  });
});

describe('settings', () => {
  const tokens = (text: string): string => {
    const path = join(folder, 'tokens.csv');
    writeFileSync(path, text);
    return path;
  };

  it.each([
    ['a missing file', () => '/nowhere/tokens.csv', 'ASSAY_TOKENS_FILE: /nowhere/tokens.csv is not a file.'],
    ['a folder', () => folder, `ASSAY_TOKENS_FILE: ${folder} is not a file.`],
    ['foreign columns', () => tokens('a,b\n'), "line 1: the column 'chain' is missing."],
    ['a bad row', () => tokens('chain,asset\nETH,0x12\n'), 'line 2: asset: not a valid Ethereum address'],
  ])('ASSAY_TOKENS_FILE with %s names the setting', (_, path, message) => {
    const load = () => loadTokenList({ ownFile: path() });
    expect(load).toThrow(/^ASSAY_TOKENS_FILE: /);
    expect(load).toThrow(message);
  });

  it.each(['secret', 'whsec_', 'whsec_short', 'whsec_with a space'])(
    'ASSAY_STRIPE_SECRET=%s is refused by name, and not repeated',
    async (secret) => {
      const { code, err } = await runCommand(dataDir, ['keys', 'list'], { ASSAY_STRIPE_SECRET: secret });
      expect(code).toBe(EXIT.failed);
      expect(err).toBe(
        'assay: ASSAY_STRIPE_SECRET: must be whsec_ and at least 8 further printable characters, without spaces.\n',
      );
    },
  );
});

describe('assay monitor tail --url', () => {
  let server: Server;
  let url = '';
  let reply: { readonly status: number; readonly body: string };
  beforeAll(async () => {
    server = createServer((_, response) => {
      response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  it.each([
    [401, '{"error":"The API key is invalid."}', 'The API key is invalid.'],
    [503, '{"error":"Starting."}', 'Starting.'],
    [403, '{"error":"a\\u202eb\\u001b[2Jc\\nd"}', 'a\\u202eb\\u001b[2Jc d'],
    [404, '<html>nginx</html>', '<html>nginx</html>'],
  ])('prints the error of a response %d, not its JSON', async (status, body, message) => {
    reply = { status, body };
    const { code, out, err } = await runCommand(dataDir, ['monitor', 'tail', '--url', url, '--key', 'k']);
    expect({ code, out }).toEqual({ code: EXIT.failed, out: '' });
    expect(err).toBe(`assay: ${url} answered ${status}: ${message}\n`);
  });
});
