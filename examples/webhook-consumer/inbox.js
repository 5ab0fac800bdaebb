/**
 * A file of received messages. A message is on disk before its sender gets an answer, and is in the file once, however often it is sent. It is
 * for one process; with several, use a table with the id as its primary key.
 *
 * Each line is `{"id", "at", "message"}` for a message, or `{"done": id, "at"}` when it was handled.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';

/** How long the id of a handled message is remembered: Assay can send a message again for 30 days. */
const KEPT_MS = 31 * 24 * 3_600_000;

/** Returns the rows of the file. A last line that was cut off by a crash is left out: its sender got no answer. */
function readRows(path) {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line, at) => {
      try {
        return JSON.parse(line);
      } catch {
        throw new Error(
          `${path}: line ${at + 1} is not JSON. Restore the file, or move it away and start empty.`,
        );
      }
    });
}

/** Replaces the file. The old one remains if this fails. */
function rewrite(path, rows) {
  const next = `${path}.new`;
  const handle = openSync(next, 'w', 0o600);
  try {
    writeFileSync(handle, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(next, path);
}

/**
 * Opens the file, and drops the messages that were handled long ago.
 *
 * @param {string} path
 */
export function openInbox(path, now = Date.now) {
  /** Messages that are not handled, by id, oldest first. */
  const waiting = new Map();
  /** When each handled message was handled, by id. */
  const handled = new Map();
  for (const row of readRows(path)) {
    if (row.done === undefined) waiting.set(row.id, row);
    else {
      waiting.delete(row.done);
      if (row.at >= now() - KEPT_MS) handled.set(row.done, row.at);
    }
  }

  const rewriteAll = () =>
    rewrite(path, [...[...handled].map(([done, at]) => ({ done, at })), ...waiting.values()]);
  rewriteAll();
  let handle = openSync(path, 'a', 0o600);

  function append(row) {
    // After a failed write the file may end in half a line. It is written anew before the next one.
    if (handle === null) {
      rewriteAll();
      handle = openSync(path, 'a', 0o600);
    }
    try {
      const bytes = Buffer.from(`${JSON.stringify(row)}\n`);
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      fsyncSync(handle);
    } catch (error) {
      const failed = handle;
      handle = null;
      closeSync(failed);
      throw error;
    }
  }

  return {
    /** Stores a message. Returns false if its id was received before. Throws if it cannot be written. */
    add(id, message) {
      if (waiting.has(id) || handled.has(id)) return false;
      const row = { id, at: now(), message };
      append(row);
      waiting.set(id, row);
      return true;
    },
    /** Records that a message was handled. */
    done(id) {
      const at = now();
      append({ done: id, at });
      waiting.delete(id);
      handled.set(id, at);
    },
    /** Messages that are not handled, oldest first. */
    pending: () => [...waiting.values()],
    close() {
      if (handle !== null) closeSync(handle);
    },
  };
}
