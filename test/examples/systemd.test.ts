/** The unit for systemd: as systemd itself reads and rates it. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/config.ts';
import { debianProgram } from '../setup/debian-package.ts';
import { isMemorySetting, memorySettings } from '../setup/server-settings.ts';
import { spawnSync } from '../support/child-process.ts';

const source = join(projectRoot, 'examples', 'systemd', 'assay.service');
const unit = readFileSync(source, 'utf8');
const valuesOf = (name: string): string[] =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);
const analyze = process.platform === 'linux' ? debianProgram('systemd', 'bin/systemd-analyze') : null;

/** The highest exposure that is accepted; systemd rates 0.0 (none) to 10.0, and calls less than 2.5 "OK" or better. */
const EXPOSURE_MAX = 1.9;

describe('the unit of systemd', () => {
  it('starts the program with settings that it accepts, and the allocator of the image', () => {
    const environment = Object.fromEntries(
      valuesOf('Environment').flatMap((line) =>
        line.split(' ').map((pair) => pair.split(/=(.*)/).slice(0, 2) as [string, string]),
      ),
    );
    const assay = Object.entries(environment).filter(([name]) => name.startsWith('ASSAY_'));
    const settings = Object.fromEntries(
      assay.map(([name, value]) => [name, value.replace('%S', '/var/lib')]),
    );
    expect(loadConfig(settings)).toMatchObject({ dataDir: '/var/lib/assay', logFormat: 'json' });
    const memory = Object.entries(environment).filter(([name]) => isMemorySetting(name));
    expect(Object.fromEntries(memory)).toEqual(memorySettings('Dockerfile'));
    expect(valuesOf('ExecStart')).toEqual(['/usr/bin/node /opt/assay/dist/joined/main.cjs serve']);
    expect(valuesOf('EnvironmentFile')).toEqual(['/etc/assay/assay.env']);
    expect(valuesOf('StateDirectory')).toEqual(['assay']);
  });

  it('leaves V8 able to compile', () => {
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual(['no']);
    expect(valuesOf('SystemCallFilter').join(' ')).not.toContain('~@memlock');
  });

  describe.skipIf(analyze === null)('by systemd-analyze', () => {
    let root: string;
    let copy: string;
    beforeAll(() => {
      // A unit is verified with the programs that it names, which are not installed in the place of a real machine here.
      root = mkdtempSync(join(tmpdir(), 'assay-systemd-'));
      copy = join(root, 'assay.service');
      mkdirSync(join(root, 'opt'));
      cpSync(source, copy);
      writeFileSync(
        copy,
        unit.replace('/usr/bin/node', process.execPath).replaceAll('/opt/assay', join(root, 'opt')),
      );
    });
    afterAll(() => rmSync(root, { recursive: true, force: true }));
    const run = (...args: readonly string[]) =>
      spawnSync(analyze?.path ?? '', args, {
        encoding: 'utf8',
        env: { ...process.env, ...analyze?.env, SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
      });
    const complaints = (path: string): string[] =>
      run('verify', '--man=no', '--recursive-errors=no', path)
        .stderr.split('\n')
        .filter((line) => line.includes('assay.service'));

    it('has no unknown or invalid line', () => {
      expect(complaints(copy)).toEqual([]);
      mkdirSync(join(root, 'wrong'));
      const wrong = join(root, 'wrong', 'assay.service');
      writeFileSync(wrong, readFileSync(copy, 'utf8').replace('ProtectSystem=strict', 'ProtectSytem=strict'));
      expect(complaints(wrong).join()).toContain('ProtectSytem');
    });

    it('is rated as well protected', () => {
      const { stdout, stderr } = run('security', '--offline=true', '--no-pager', copy);
      const exposure = Number(/Overall exposure level for assay\.service: ([\d.]+)/.exec(stdout)?.[1]);
      expect(exposure, `${stdout.slice(-300)}${stderr}`).toBeLessThanOrEqual(EXPOSURE_MAX);
    });
  });
});
