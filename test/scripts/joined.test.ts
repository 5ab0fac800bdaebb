import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NODE_SETTINGS } from '../../scripts/joined/join.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const inJoined = (name: string): string => join(projectRoot, 'dist', 'joined', name);

/** Code that runs before the loader: names the thread that compiles, and whether V8 refused the kept code, and ends it. */
const NAMING = `
  const vm = require('node:vm');
  const { isMainThread } = require('node:worker_threads');
  vm.Script = class extends vm.Script {
    constructor(source, options) {
      super(source, options);
      const kept = options.cachedData === undefined ? 'none' : this.cachedDataRejected ? 'refused' : 'used';
      process._rawDebug((isMainThread ? 'main ' : 'thread ') + kept);
      process.exit();
    }
  };`;

describe('the joined program', () => {
  it('starts the threads of bulk files from a file of their own', () => {
    expect(readFileSync(inJoined('workers/bulk-file.cjs'), 'utf8')).toContain("'bulk-file.cjs'");
    expect(statSync(inJoined('bulk-file.cjs')).size).toBeLessThan(
      statSync(inJoined('program.cjs')).size / 10,
    );
  });

  it.skipIf(process.platform === 'win32')('is a command that a shell executes by a link to it', () => {
    const { bin, version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
      bin: { assay: string };
      version: string;
    };
    const folder = mkdtempSync(join(tmpdir(), 'assay-joined-test-'));
    try {
      const link = join(folder, 'assay');
      symlinkSync(join(projectRoot, bin.assay), link);
      const { stdout, status } = spawnSync(link, ['--version'], { encoding: 'utf8' });
      expect([stdout.trim(), status]).toEqual([version, 0]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('has the modules of that file in one scope, not in functions that load them', () => {
    expect(readFileSync(inJoined('bulk-file.cjs'), 'utf8')).not.toContain('__esm(');
  });

  it.each(['scripts/bootstrap.mjs', 'Dockerfile', 'examples/systemd/assay.service'])(
    'keeps compiled code for the settings of Node in %s',
    (path) => {
      const settings = readFileSync(join(projectRoot, path), 'utf8').match(/NODE_OPTIONS(?:=|: ')[^\s']+/g);
      expect(settings).not.toBeNull();
      for (const one of settings ?? [])
        expect(NODE_SETTINGS).toContain(one.replace(/^NODE_OPTIONS(?:=|: ')/, ''));
    },
  );

  describe.skipIf(process.env.ASSAY_TEST_COMPILED === 'no')(
    'starts with compiled code that V8 accepts',
    () => {
      let folder: string;
      beforeAll(() => {
        folder = mkdtempSync(join(tmpdir(), 'assay-joined-test-'));
        writeFileSync(join(folder, 'naming.cjs'), NAMING);
      });
      afterAll(() => rmSync(folder, { recursive: true }));
      describe.each(NODE_SETTINGS.map((settings) => [settings]))('with NODE_OPTIONS=%s', (settings) => {
        const compiling = (...args: readonly string[]): string =>
          spawnSync(process.execPath, ['--require', join(folder, 'naming.cjs'), ...args], {
            encoding: 'utf8',
            env: { ...process.env, NODE_OPTIONS: settings },
          }).stderr.trim();

        it.each([['serve'], ['keys', 'list'], ['lookup', 'ETH', '0x']])('in a process: %s', (...args) => {
          expect(compiling(inJoined('main.cjs'), ...args)).toBe('main used');
        });

        it.each(['pool', 'exposure', 'bulk-file', 'acceptor'])('in a thread: %s', (name) => {
          const path = JSON.stringify(inJoined(`workers/${name}.cjs`));
          expect(compiling('--eval', `new (require('node:worker_threads').Worker)(${path})`)).toBe(
            'thread used',
          );
        });
      });

      it('in each kind of thread that runs at a first start', () => {
        for (const name of ['pool', 'exposure'])
          expect(
            readdirSync(inJoined('')).filter((file) => file.startsWith(`workers-${name}.`)),
          ).toHaveLength(NODE_SETTINGS.length);
      });
    },
  );
});
