/** The image, made by the steps of the Dockerfile without an engine: how big it is, and that it serves. It needs a registry. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

const MINUTES = 60_000;
const MEGABYTE = 1_000_000;
/** Packages that the joined program requires at their first use. */
const REQUIRED = [
  '@modelcontextprotocol/server',
  '@modelcontextprotocol/server/stdio',
  '@solana/web3.js',
  'bitcoinjs-lib',
  'bullmq',
  'ethers',
  'nodemailer',
  'stripe',
  'tronweb',
];

const root = mkdtempSync(join(tmpdir(), 'assay-image-'));
const stages = join(root, 'stages');
const app = join(stages, 'image');
afterAll(() => rmSync(root, { recursive: true, force: true }));

it(
  'is not bigger than 250 MB, and its packages not bigger than 150 MB',
  () => {
    const output = execFileSync(process.execPath, ['scripts/supply/size.mjs', '--json', '--keep', stages], {
      cwd: projectRoot,
      encoding: 'utf8',
    });
    const sizes = JSON.parse(output) as { packages: number; app: number; image: number };
    console.log(sizes);
    expect(sizes.app).toBeGreaterThan(sizes.packages);
    expect(sizes.packages).toBeLessThan(150 * MEGABYTE);
    expect(sizes.image).toBeLessThan(250 * MEGABYTE);
    expect(readdirSync(stages).sort()).toEqual(['build', 'image', 'packages']);
  },
  30 * MINUTES,
);

it('holds nothing to test or to compile with, and one binary of uWebSockets.js', () => {
  for (const name of ['vitest', 's3rver', '@biomejs/biome', 'typescript', '@types'])
    expect(existsSync(join(app, 'node_modules', name)), name).toBe(false);
  const names = readdirSync(join(app, 'node_modules', 'uWebSockets.js'));
  expect(names.filter((name) => name.endsWith('.node'))).toHaveLength(1);
});

it(
  'requires every package of the program, serves, and passes its health check',
  async () => {
    const requiring = createRequire(join(app, 'dist', 'joined', 'main.cjs'));
    for (const name of REQUIRED)
      execFileSync(process.execPath, ['-e', `require(${JSON.stringify(requiring.resolve(name))})`]);
    const child = spawn(process.execPath, [join(app, 'dist', 'joined', 'main.cjs'), 'serve'], {
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
      expect(() =>
        execFileSync(process.execPath, args, { env: { ASSAY_PORT: '1' }, stdio: 'ignore' }),
      ).toThrow();
    } finally {
      child.kill('SIGKILL');
    }
  },
  5 * MINUTES,
);
