/** `.env.example` has every setting, and what it shows is what the program uses. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { envExample, envExamplePath } from '../../scripts/env-example.ts';
import { referencePath } from '../../scripts/reference.ts';
import { loadConfig } from '../../src/config/config.ts';
import { SETTINGS } from '../../src/config/settings.ts';

const text = readFileSync(envExamplePath, 'utf8');
const rows = [...text.matchAll(/^#(ASSAY_\w+)=(.*)$/gm)].map(
  ([, name = '', value = '']) => [name, value] as const,
);

describe('.env.example', () => {
  it('is up to date', () => {
    expect(text, 'run `npm run reference`').toBe(envExample());
  });

  it('has each setting of the reference once, all commented out', () => {
    const page = readFileSync(referencePath('configuration.md'), 'utf8');
    const documented = [...page.matchAll(/^\| `(ASSAY_[A-Z0-9_<>]+)` /gm)].map(([, name = '']) =>
      name.replace('<CHAIN>', 'ETH'),
    );
    expect(documented.length).toBeGreaterThan(40);
    expect(rows.map(([name]) => name)).toEqual(documented);
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([]);
  });

  it('shows the defaults: the settings that it has a default for change nothing if all of them are uncommented', () => {
    const examples = new Set([
      'ASSAY_DATA_DIR',
      'ASSAY_WORKERS',
      'ASSAY_RPC_ETH',
      'ASSAY_HISTORY_ETH',
      'ASSAY_GRAPH_STORE_ETH',
    ]);
    const defaults = Object.fromEntries(rows.filter(([name]) => !examples.has(name)));
    expect(Object.keys(defaults)).toHaveLength(Object.keys(SETTINGS).length - 2 - chainVariables());
    expect(loadConfig(defaults)).toEqual(loadConfig({}));
  });

  it('has examples that the program accepts', () => {
    expect(loadConfig(Object.fromEntries(rows))).toMatchObject({
      dataDir: '/var/lib/assay',
      workers: 1,
      chains: { endpoints: { rpc: { ETH: 'http://127.0.0.1:8545,ws://127.0.0.1:8546' } } },
    });
  });
});

/** Settings whose variable ends in the name of a chain. */
function chainVariables(): number {
  return Object.values(SETTINGS).filter(({ variable }) => variable.includes('<CHAIN>')).length;
}
