/**
 * A contract that gives fixed answers: EVM bytecode, assembled here, that compares its calldata and returns the matching bytes. Tests put
 * it at an address of a real node (`anvil_setCode`), so that calls go through a node's own EVM.
 */
import { AbiCoder, id } from 'ethers';

export interface FixedAnswer {
  /** Like `getPool(address,address,uint24)`. */
  readonly signature: string;
  /** If given, only a call with exactly these arguments gets this answer. */
  readonly args?: readonly unknown[];
  /** Types of the result. */
  readonly returns: readonly string[];
  readonly values: readonly unknown[];
}

interface Entry {
  readonly selector: string;
  /** The words of the arguments that are compared; if empty, only the selector is compared. */
  readonly words: readonly string[];
  readonly data: string;
}

const coder = AbiCoder.defaultAbiCoder();
const hex = (value: number, bytes: number): string => value.toString(16).padStart(bytes * 2, '0');
const typesOf = (signature: string): string[] =>
  signature
    .slice(signature.indexOf('(') + 1, -1)
    .split(',')
    .filter((type) => type !== '');

/** Assembles the code before the data. Its length does not depend on `places`, because every operand has a fixed width. */
function assemble(entries: readonly Entry[], places: readonly number[]): string {
  let code = '';
  for (const [number, { selector, words, data }] of entries.entries()) {
    // CALLDATALOAD(0) >> 224 == selector
    let compare = `60003560e01c63${selector}14`;
    // … AND CALLDATALOAD(4 + 32 i) == word
    for (const [index, word] of words.entries()) compare += `61${hex(4 + 32 * index, 2)}357f${word}1416`;
    const length = hex(data.length / 2, 2);
    // CODECOPY(0, place, length), RETURN(0, length)
    const answer = `61${length}61${hex(places[number] ?? 0, 2)}60003961${length}6000f3`;
    // ISZERO, PUSH2 end, JUMPI before the answer; JUMPDEST at the end.
    const end = (code.length + compare.length + answer.length) / 2 + 5;
    code += `${compare}1561${hex(end, 2)}57${answer}5b`;
  }
  // REVERT(0, 0)
  return `${code}60006000fd`;
}

/**
 * Assembles the runtime code of a contract that gives the answers, and reverts for any other call.
 *
 * @returns hex for `anvil_setCode`
 */
export function answeringContract(answers: readonly FixedAnswer[]): string {
  const entries = answers.map(({ signature, args, returns, values }): Entry => {
    const encoded = args === undefined ? '' : coder.encode(typesOf(signature), [...args]).slice(2);
    return {
      selector: id(signature).slice(2, 10),
      words: encoded.match(/.{64}/g) ?? [],
      data: coder.encode([...returns], [...values]).slice(2),
    };
  });
  let next = assemble(entries, []).length / 2;
  const places = entries.map(({ data }) => {
    const place = next;
    next += data.length / 2;
    return place;
  });
  return `0x${assemble(entries, places)}${entries.map(({ data }) => data).join('')}`;
}
