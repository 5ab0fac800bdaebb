/** Proofs in the TypeScript and the Python client: that a receipt is in the log, and that it binds a line. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ReceiptError } from '../../sdk/typescript/src/core/errors.ts';
import { verifyLine, verifyLogProof } from '../../sdk/typescript/src/receipt-proofs.ts';
import { combine, inclusionParts, MerkleFrontier, type TreeNode } from '../../src/base/merkle.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { LineLeaves, lineSalt } from '../../src/base/salted-lines.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { type ProvedReceipt, provedReceipt } from '../receipts/proved.ts';
import { findPython, runPython } from '../setup/python.ts';
import { spawnSync } from '../support/child-process.ts';

const python = findPython();
const hasEd25519 =
  python !== null &&
  spawnSync(python.path, ['-c', 'import cryptography'], { env: { ...process.env, ...python.env } }).status ===
    0;

const SECRET = Buffer.alloc(32, 9);
const LINES =
  1 +
  Array.from({ length: 2_000 }, (_, line) => lineSalt(SECRET, line)).findIndex(
    ({ 15: last }) => last === 0x20,
  );
/** With a line whose salt ends with the byte of a space. */
const TEXTS = Array.from({ length: LINES }, (_, line) => `{"address":"0x${line}","note":"é😀\ufffd"}`);

/** Returns the proofs of all lines, and their tree. */
function provedLines() {
  const leaves = new LineLeaves();
  const hashes = new Map<string, Buffer>();
  const tree = new MerkleFrontier();
  const key = ({ level, index }: TreeNode): string => `${level}:${index}`;
  for (const [line, text] of TEXTS.entries())
    tree.append(leaves.leafOf(lineSalt(SECRET, line), Buffer.from(text)), (node, hash) =>
      hashes.set(key(node), hash),
    );
  const proofs = TEXTS.map((text, line) => ({
    line,
    text,
    salt: lineSalt(SECRET, line).toString('hex'),
    path: inclusionParts(line, TEXTS.length).map((nodes) =>
      combine(nodes.map((node) => hashes.get(key(node)) as Buffer)).toString('hex'),
    ),
  }));
  return { proofs, lines: { count: TEXTS.length, root: tree.root().toString('hex') } };
}

describe('proofs of receipts in the clients', () => {
  let proved: ProvedReceipt;
  let other: ProvedReceipt;
  const { proofs, lines } = provedLines();

  beforeAll(async () => {
    // Without another salt, both would be the same receipt if they are made in one second.
    [proved, other] = await Promise.all([provedReceipt(), provedReceipt({ salt: 'ab'.repeat(16) })]);
  });

  /** Name, proof, receipt, key of the log, and what the error says. */
  const forgedLogProofs = (): readonly (readonly [string, string, string, string, string])[] => [
    ['another receipt', proved.proof, other.jws, proved.logKey, 'not show'],
    ['another log', proved.proof, proved.jws, other.logKey, 'no valid signature'],
    ['another index', proved.proof.replace('index 300', 'index 299'), proved.jws, proved.logKey, 'not show'],
    [
      'another size',
      proved.proof.replace('\n700\n', '\n699\n'),
      proved.jws,
      proved.logKey,
      'no valid signature',
    ],
    ['no proof', 'hello', proved.jws, proved.logKey, 'tlog-proof'],
    ['a wrong key', proved.proof, proved.jws, proved.logKey.replace(/\+[0-9a-f]{8}\+/, '+00000000+'), 'key'],
  ];
  const forgedLines = (() => {
    const [first, second] = proofs;
    const [spaced, replaced] = [proofs.find(({ salt }) => salt.endsWith('20')), proofs.at(-1)];
    if (!first || !second || !spaced || !replaced) throw new Error('no lines');
    return [
      ['another text', { ...first, text: second.text }],
      ['another line', { ...first, line: 1 }],
      ['another salt', { ...first, salt: second.salt }],
      ['a short path', { ...first, path: first.path.slice(1) }],
      ['a long path', { ...first, path: [...first.path, createHash('sha256').digest('hex')] }],
      ['a line after the last', { ...first, line: TEXTS.length }],
      ['a line that is no whole number', { ...first, line: 0.5 }],
      // White space in place of the last byte of the salt, which is put before the text.
      ['a salt that is short', { ...spaced, salt: `${spaced.salt.slice(0, 30)}  `, text: ` ${spaced.text}` }],
      ['a text with a lone surrogate', { ...replaced, text: replaced.text.replace('\ufffd', '\ud800') }],
    ] as const;
  })();

  it('verify in TypeScript', async () => {
    const found = await verifyLogProof(proved.proof, proved.jws, proved.logKey);
    expect(found).toEqual({ origin: 'log.example/assay', index: 300, size: 700 });
    for (const proof of proofs) await verifyLine({ lines }, proof);
  });

  it('are refused in TypeScript', async () => {
    for (const [name, proof, jws, key, message] of forgedLogProofs()) {
      const result = verifyLogProof(proof, jws, key);
      await expect(result, name).rejects.toThrow(ReceiptError);
      await expect(result, name).rejects.toThrow(message);
    }
    for (const [name, proof] of forgedLines)
      await expect(verifyLine({ lines }, proof), name).rejects.toThrow(ReceiptError);
    await expect(verifyLine({ lines: null }, proofs[0] as (typeof proofs)[number])).rejects.toThrow(
      'binds no lines',
    );
  });

  it.skipIf(!hasEd25519)('verify and are refused in Python', async () => {
    const program = `
import json, sys
sys.path.insert(0, ${JSON.stringify(join(projectRoot, 'sdk', 'python'))})
from assay import ReceiptError, verify_line, verify_log_proof
given = json.load(open(sys.argv[1], encoding='utf-8'))
assert verify_log_proof(*given["genuine"]) == {"origin": "log.example/assay", "index": 300, "size": 700}
for proof in given["proofs"]:
    verify_line({"lines": given["lines"]}, **proof)
def refused(call, name):
    try:
        call()
    except ReceiptError:
        return
    raise SystemExit("not refused: " + name)
underscored = [given["genuine"][0].replace("index 300", "index 3_00"), *given["genuine"][1:]]
refused(lambda: verify_log_proof(*underscored), "a number with an underscore")
refused(lambda: verify_line({"lines": given["lines"]}, **{**given["proofs"][0], "path": [None]}), "a path of nothing")
for name, proof, jws, key, _ in given["forged"]:
    refused(lambda: verify_log_proof(proof, jws, key), name)
for name, proof in given["forgedLines"]:
    refused(lambda: verify_line({"lines": given["lines"]}, **proof), name)
print("done")
`;
    const given = {
      genuine: [proved.proof, proved.jws, proved.logKey],
      ...{ proofs, lines, forgedLines, forged: forgedLogProofs() },
    };
    // As a file: they are longer than an argument may be.
    const folder = tempFolder();
    writeFileSync(join(folder.path, 'given.json'), JSON.stringify(given));
    if (python !== null)
      expect(await runPython(python, ['-c', program, join(folder.path, 'given.json')])).toBe('done\n');
    folder.remove();
  });
});
