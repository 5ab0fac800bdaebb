/** A publisher changes its list: after `sync`, a running server finds added parties and no longer finds removed ones. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NamesAnswer } from '../../src/names/screen-names.ts';
import { type ListServer, serve, startListServer } from '../setup/list-server.ts';
import { newWorld, type RunningServer } from './program.ts';

const list = (date: string, names: Readonly<Record<string, string>>, program = 'CYBER2'): string =>
  `<?xml version="1.0" encoding="utf-8"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>${date}</Publish_Date><Record_Count>${Object.keys(names).length}</Record_Count></publshInformation>
  ${Object.entries(names)
    .map(
      ([uid, name]) => `<sdnEntry><uid>${uid}</uid><lastName>${name}</lastName><sdnType>Entity</sdnType>
    <programList><program>${program}</program></programList></sdnEntry>`,
    )
    .join('\n')}
</sdnList>`;

const STAYS = { 101: 'Zebulon Quaternion Works', 102: 'Marmaduke Isotherm Mills' };
const CONS = list('03/04/2025', { 201: 'Bartholomew Gneiss Foundry' }, 'NS-PLC');

const world = newWorld();
let mirror: ListServer;
let server: RunningServer;
beforeAll(async () => {
  mirror = await startListServer();
  mirror.paths.set('/CONS_ADVANCED.ZIP', serve(CONS));
});
afterAll(async () => {
  await mirror.close();
  await world.end();
});

async function sync(sdn: string): Promise<{ namesRebuilt: boolean }> {
  mirror.paths.set('/SDN_ADVANCED.ZIP', serve(sdn));
  const { out, err, code } = await world.run(['sync', 'ofac', '--from', mirror.url, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as { namesRebuilt: boolean };
}

async function foundIds(name: string): Promise<readonly string[]> {
  const response = await fetch(`${server.url}/api/v1/namescreen/bulk`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.firstKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ names: [{ name }] }),
  });
  expect(response.status).toBe(200);
  const { results } = (await response.json()) as NamesAnswer;
  return (results[0]?.topMatches ?? []).map((match) => match.entityId);
}

it('rebuilds the names by sync, and a running server uses them', async () => {
  const first = list('03/04/2025', { ...STAYS, 103: 'Peregrine Basalt Trading' });
  expect(await sync(first)).toMatchObject({ namesRebuilt: true });
  server = await world.serve();
  const granted = await world.run(['credits', 'grant', 'local', '1000', '--reason', 'tests']);
  expect(granted.code).toBe(0);
  expect(await foundIds('Peregrine Basalt Trading')).toEqual(['103']);
  expect(await foundIds('Ludovica Feldspar Shipping')).toEqual([]);
  expect(await sync(first)).toMatchObject({ namesRebuilt: false });

  const second = list('03/05/2025', { ...STAYS, 104: 'Ludovica Feldspar Shipping' });
  expect(await sync(second)).toMatchObject({ namesRebuilt: true });
  await expect.poll(() => foundIds('Ludovica Feldspar Shipping'), { interval: 250 }).toEqual(['104']);
  expect(await foundIds('Peregrine Basalt Trading')).toEqual([]);
  expect(await foundIds('Zebulon Quaternion Works')).toEqual(['101']);
});
