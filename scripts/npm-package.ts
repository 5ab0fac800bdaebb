/** Fetches published npm packages into a temporary folder, for the generators of data/: neither a clone nor a run needs them. */
import { spawnSync } from 'node:child_process';
import { createReadStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

/** Licences that permit copying the addresses. */
export const PERMISSIVE: ReadonlySet<string> = new Set(['MIT', 'Apache-2.0', 'ISC', 'BSD-3-Clause']);

export interface PackageRelease {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
}

export interface FetchedPackage {
  readonly folder: string;
  /** ISO date on which the version was published. */
  readonly date: string;
}

/** `npm pack --json` lists every file of a package. */
const NPM_OUTPUT_MAX = 64 * 1024 * 1024;

function npm(folder: string, ...parameters: string[]): string {
  const done = spawnSync('npm', parameters, { cwd: folder, encoding: 'utf8', maxBuffer: NPM_OUTPUT_MAX });
  if (done.status !== 0) throw new Error(`npm ${parameters.join(' ')} failed: ${done.stderr}`);
  return done.stdout;
}

async function unpack(work: string, { name, version }: PackageRelease): Promise<string> {
  const [packed] = JSON.parse(npm(work, 'pack', '--json', `${name}@${version}`)) as { filename: string }[];
  if (!packed) throw new Error(`npm pack gave nothing for ${name}.`);
  const target = join(work, name.replace(/[@/]/g, '_'));
  const entries = createReadStream(join(work, packed.filename)).pipe(createGunzip()).pipe(extract());
  for await (const entry of entries) {
    const path = resolve(target, entry.header.name);
    const chunks: Uint8Array[] = [];
    for await (const chunk of entry as AsyncIterable<Uint8Array>) chunks.push(chunk);
    if (entry.header.type !== 'file' || !path.startsWith(`${target}/`)) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.concat(chunks));
  }
  return join(target, 'package');
}

/** Fetches and unpacks a release without running any of it. Throws if its licence is not the expected one. */
export async function fetchPackage(work: string, release: PackageRelease): Promise<FetchedPackage> {
  const { name, version, licence } = release;
  const folder = await unpack(work, release);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license?: string };
  if (manifest.license !== licence || !PERMISSIVE.has(licence)) {
    throw new Error(`${name}@${version} is licensed ${String(manifest.license)}, not ${licence}.`);
  }
  const times = JSON.parse(npm(work, 'view', name, 'time', '--json')) as Record<string, string>;
  const date = times[version]?.slice(0, 10);
  if (date === undefined) throw new Error(`The registry does not say when ${name}@${version} was published.`);
  return { folder, date };
}
