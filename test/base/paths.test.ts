/** Files of the program that are read at run time. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { luaScript, projectRoot } from '../../src/base/paths.ts';

describe('Redis scripts', () => {
  const scripts = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.lua'),
  );

  it('are read from src/', () => {
    expect(scripts.length).toBeGreaterThan(0);
    for (const name of scripts) expect(luaScript(name.replace(/\.lua$/, ''))).toMatch(/^-- .+\n/);
  });

  it('are copied into the image', () => {
    const dockerfile = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8');
    for (const folder of new Set(scripts.map((name) => dirname(name))))
      expect(dockerfile).toContain(`COPY src/${folder} ./src/${folder}\n`);
  });
});
