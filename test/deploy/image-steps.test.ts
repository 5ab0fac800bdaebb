/** The steps of the Dockerfile, run without an engine: stages in folders, packages from the registry. It takes long and needs a network. */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

const isLong = process.env.ASSAY_TEST_LONG === '1';
const MINUTES = 60_000;

interface Stage {
  readonly folder: string;
  copied: number;
}

describe.skipIf(!isLong)('the steps of the Dockerfile', () => {
  const root = mkdtempSync(join(tmpdir(), 'assay-image-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it(
    'make an image that serves',
    () => {
      const stages = new Map<string, Stage>();
      let stage: Stage = { folder: '', copied: 0 };
      const text = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8').replace(/\\\n/g, ' ');
      for (const line of text.split('\n')) {
        const [word = '', ...words] = line.trim().split(/\s+/);
        if (word === 'FROM') {
          const name = words[1] === 'AS' ? (words[2] ?? '') : 'image';
          stage = { folder: join(root, name), copied: 0 };
          mkdirSync(stage.folder);
          stages.set(name, stage);
        } else if (word === 'COPY') {
          const from = words[0]?.startsWith('--from=') ? stages.get(words[0].slice(7)) : undefined;
          const [to = '', ...sources] = words.filter((one) => !one.startsWith('--')).reverse();
          for (const source of sources) {
            const path = from === undefined ? join(projectRoot, source) : source.replace('/app', from.folder);
            const target = to === './' ? source : to;
            cpSync(path, join(stage.folder, target), {
              recursive: true,
              filter: (one) => !one.startsWith(join(projectRoot, 'data', 'store')),
            });
            stage.copied++;
          }
        } else if (word === 'RUN' && words[0] === 'npm') {
          execFileSync('npm', words.slice(1), { cwd: stage.folder, stdio: 'ignore' });
        }
      }
      expect([...stages.keys()]).toEqual(['packages', 'build', 'image']);
    },
    10 * MINUTES,
  );

  it(
    'make one whose health check passes, that holds nothing to test with',
    async () => {
      const app = join(root, 'image');
      for (const name of ['vitest', 's3rver', '@biomejs/biome'])
        expect(() => readFileSync(join(app, 'node_modules', name, 'package.json'))).toThrow();
      const child = spawn(process.execPath, [join(app, 'dist', 'src', 'main.js'), 'serve'], {
        cwd: '/',
        env: {
          PATH: process.env.PATH,
          ASSAY_DATA_DIR: join(root, 'state'),
          ASSAY_PORT: '0',
          ASSAY_SYNC: 'off',
        },
      });
      try {
        const url = await new Promise<string>((resolve, reject) => {
          let out = '';
          child.stdout.setEncoding('utf8').on('data', (more: string) => {
            out += more;
            const found = /^Assay answers on (\S+) /m.exec(out)?.[1];
            if (found !== undefined) resolve(found);
          });
          child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
        });
        const words = /^HEALTHCHECK .*?CMD (\[.*\])$/m.exec(
          readFileSync(join(projectRoot, 'Dockerfile'), 'utf8').replace(/\\\n/g, ' '),
        )?.[1];
        const [, ...args] = JSON.parse(words ?? '[]') as string[];
        const { port } = new URL(url);
        execFileSync(process.execPath, args, { env: { ASSAY_PORT: port } });
        expect(() => execFileSync(process.execPath, args, { env: { ASSAY_PORT: '1' } })).toThrow();
      } finally {
        child.kill('SIGKILL');
      }
    },
    2 * MINUTES,
  );
});
