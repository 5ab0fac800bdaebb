/**
 * Changes one instruction of the installed binaries of lmdb, so that a process that opens a store does not set back the number of the last
 * transaction while another process writes (docs/decisions/lmdb-open.md).
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { hashOf, readTable } from './binaries.mjs';

/** Returns the folder of the binaries' packages: beside the package that loads them, wherever npm has put it. Null if it is not installed. */
function binariesFolder(folder) {
  let path;
  try {
    path = createRequire(join(folder, 'package.json')).resolve('lmdb');
  } catch {
    return null;
  }
  while (basename(path) !== 'node_modules') path = dirname(path);
  const packages = join(path, '@lmdb');
  return existsSync(packages) ? packages : null;
}

/**
 * Changes the binaries that the program in `folder` loads. A binary that is changed already stays as it is.
 *
 * @returns a sentence for each binary of a recorded platform that is not a recorded file or cannot be changed, and one if there is none of
 * such a platform
 */
export function changeLmdb(folder) {
  const packages = binariesFolder(folder);
  if (packages === null) return [];
  const { files } = readTable(folder).lmdb;
  const known = Object.keys(files).map((name) => dirname(name));
  const installed = readdirSync(packages).filter((name) => known.includes(name));
  if (installed.length === 0)
    return [
      'lmdb has no recorded binary for this platform: on it, a command beside a running server may lose a write of the server (docs/decisions/lmdb-open.md).',
    ];
  return installed.flatMap((name) =>
    readdirSync(join(packages, name))
      .filter((file) => file.endsWith('.node'))
      .flatMap((file) => changeOne(join(packages, name, file), files[`${name}/${file}`])),
  );
}

/** Changes one binary. Returns a sentence if it is not the recorded file, or cannot be changed. */
function changeOne(path, recorded) {
  try {
    return change(path, recorded);
  } catch (error) {
    return [
      `${path} cannot be changed (${error.message}): run npm ci as the user who owns it. Until then a command beside a running server may lose a write of the server (docs/decisions/lmdb-open.md).`,
    ];
  }
}

function change(path, recorded) {
  const hash = hashOf(path);
  if (hash === recorded?.changed) return [];
  if (hash !== recorded?.sha256)
    return [`${basename(path)} of lmdb is not the recorded file: its SHA-256 is ${hash}.`];
  const bytes = readFileSync(path);
  bytes.set(Buffer.from(recorded.to, 'hex'), recorded.at);
  // Another installation may share the file by a link, and a process that runs has it mapped.
  const partial = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(partial, bytes, { mode: statSync(path).mode, flush: true });
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
  return [];
}
