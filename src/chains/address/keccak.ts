/**
 * Keccak-256 with the padding of Ethereum and Monero (FIPS 202, section 3, with the suffix of the original submission) for messages of
 * one block. The 25 lanes are 50 local halves, which V8 keeps in registers and on the stack instead of the heap.
 */

const ROUND_HIGH = Uint32Array.of(
  0x0,
  0x0,
  0x80000000,
  0x80000000,
  0x0,
  0x0,
  0x80000000,
  0x80000000,
  0x0,
  0x0,
  0x0,
  0x0,
  0x0,
  0x80000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x0,
  0x80000000,
  0x80000000,
  0x80000000,
  0x0,
  0x80000000,
);
const ROUND_LOW = Uint32Array.of(
  0x1,
  0x8082,
  0x808a,
  0x80008000,
  0x808b,
  0x80000001,
  0x80008081,
  0x8009,
  0x8a,
  0x88,
  0x80008009,
  0x8000000a,
  0x8000808b,
  0x8b,
  0x8089,
  0x8003,
  0x8002,
  0x80,
  0x800a,
  0x8000000a,
  0x80008081,
  0x8080,
  0x80000001,
  0x80008008,
);

const RATE_BYTES = 136;
/** The longest message that fits one block. */
export const ONE_BLOCK_MAX = RATE_BYTES - 1;

const lanes = new Int32Array(RATE_BYTES / 4 + 16);
/** The 32 bytes of the last digest. */
export const digest = new Uint8Array(32);

/** Hashes `bytes[start, start + length)`, at most `ONE_BLOCK_MAX` bytes, into `digest`. */
export function keccak256Block(bytes: Uint8Array, start: number, length: number): void {
  lanes.fill(0);
  for (let i = 0; i < length; i++) {
    lanes[i >> 2] = (lanes[i >> 2] as number) | ((bytes[start + i] as number) << (8 * (i & 3)));
  }
  lanes[length >> 2] = (lanes[length >> 2] as number) ^ (1 << (8 * (length & 3)));
  lanes[33] = (lanes[33] as number) ^ 0x80000000;
  permute();
  for (let i = 0; i < 32; i++) digest[i] = (lanes[i >> 2] as number) >>> (8 * (i & 3));
}

/**
 * Keccak-f[1600]; writes back only the first four lanes. It is unrolled arithmetic and exempt from the limit on the length of functions:
 * calls and arrays would cost more than the permutation.
 */
function permute(): void {
  let a0l = lanes[0] as number;
  let a0h = lanes[1] as number;
  let a1l = lanes[2] as number;
  let a1h = lanes[3] as number;
  let a2l = lanes[4] as number;
  let a2h = lanes[5] as number;
  let a3l = lanes[6] as number;
  let a3h = lanes[7] as number;
  let a4l = lanes[8] as number;
  let a4h = lanes[9] as number;
  let a5l = lanes[10] as number;
  let a5h = lanes[11] as number;
  let a6l = lanes[12] as number;
  let a6h = lanes[13] as number;
  let a7l = lanes[14] as number;
  let a7h = lanes[15] as number;
  let a8l = lanes[16] as number;
  let a8h = lanes[17] as number;
  let a9l = lanes[18] as number;
  let a9h = lanes[19] as number;
  let a10l = lanes[20] as number;
  let a10h = lanes[21] as number;
  let a11l = lanes[22] as number;
  let a11h = lanes[23] as number;
  let a12l = lanes[24] as number;
  let a12h = lanes[25] as number;
  let a13l = lanes[26] as number;
  let a13h = lanes[27] as number;
  let a14l = lanes[28] as number;
  let a14h = lanes[29] as number;
  let a15l = lanes[30] as number;
  let a15h = lanes[31] as number;
  let a16l = lanes[32] as number;
  let a16h = lanes[33] as number;
  let a17l = lanes[34] as number;
  let a17h = lanes[35] as number;
  let a18l = lanes[36] as number;
  let a18h = lanes[37] as number;
  let a19l = lanes[38] as number;
  let a19h = lanes[39] as number;
  let a20l = lanes[40] as number;
  let a20h = lanes[41] as number;
  let a21l = lanes[42] as number;
  let a21h = lanes[43] as number;
  let a22l = lanes[44] as number;
  let a22h = lanes[45] as number;
  let a23l = lanes[46] as number;
  let a23h = lanes[47] as number;
  let a24l = lanes[48] as number;
  let a24h = lanes[49] as number;
  for (let round = 0; round < 24; round++) {
    // Theta: the parity of each column.
    const c0h = a0h ^ a5h ^ a10h ^ a15h ^ a20h;
    const c0l = a0l ^ a5l ^ a10l ^ a15l ^ a20l;
    const c1h = a1h ^ a6h ^ a11h ^ a16h ^ a21h;
    const c1l = a1l ^ a6l ^ a11l ^ a16l ^ a21l;
    const c2h = a2h ^ a7h ^ a12h ^ a17h ^ a22h;
    const c2l = a2l ^ a7l ^ a12l ^ a17l ^ a22l;
    const c3h = a3h ^ a8h ^ a13h ^ a18h ^ a23h;
    const c3l = a3l ^ a8l ^ a13l ^ a18l ^ a23l;
    const c4h = a4h ^ a9h ^ a14h ^ a19h ^ a24h;
    const c4l = a4l ^ a9l ^ a14l ^ a19l ^ a24l;
    const d0h = c4h ^ ((c1h << 1) | (c1l >>> 31));
    const d0l = c4l ^ ((c1l << 1) | (c1h >>> 31));
    const d1h = c0h ^ ((c2h << 1) | (c2l >>> 31));
    const d1l = c0l ^ ((c2l << 1) | (c2h >>> 31));
    const d2h = c1h ^ ((c3h << 1) | (c3l >>> 31));
    const d2l = c1l ^ ((c3l << 1) | (c3h >>> 31));
    const d3h = c2h ^ ((c4h << 1) | (c4l >>> 31));
    const d3l = c2l ^ ((c4l << 1) | (c4h >>> 31));
    const d4h = c3h ^ ((c0h << 1) | (c0l >>> 31));
    const d4l = c3l ^ ((c0l << 1) | (c0h >>> 31));
    // Apply theta, then rho and pi: each lane is rotated and moved to another position.
    a0h ^= d0h;
    a0l ^= d0l;
    const b0h = a0h;
    const b0l = a0l;
    a5h ^= d0h;
    a5l ^= d0l;
    const b16h = (a5l << 4) | (a5h >>> 28);
    const b16l = (a5h << 4) | (a5l >>> 28);
    a10h ^= d0h;
    a10l ^= d0l;
    const b7h = (a10h << 3) | (a10l >>> 29);
    const b7l = (a10l << 3) | (a10h >>> 29);
    a15h ^= d0h;
    a15l ^= d0l;
    const b23h = (a15l << 9) | (a15h >>> 23);
    const b23l = (a15h << 9) | (a15l >>> 23);
    a20h ^= d0h;
    a20l ^= d0l;
    const b14h = (a20h << 18) | (a20l >>> 14);
    const b14l = (a20l << 18) | (a20h >>> 14);
    a1h ^= d1h;
    a1l ^= d1l;
    const b10h = (a1h << 1) | (a1l >>> 31);
    const b10l = (a1l << 1) | (a1h >>> 31);
    a6h ^= d1h;
    a6l ^= d1l;
    const b1h = (a6l << 12) | (a6h >>> 20);
    const b1l = (a6h << 12) | (a6l >>> 20);
    a11h ^= d1h;
    a11l ^= d1l;
    const b17h = (a11h << 10) | (a11l >>> 22);
    const b17l = (a11l << 10) | (a11h >>> 22);
    a16h ^= d1h;
    a16l ^= d1l;
    const b8h = (a16l << 13) | (a16h >>> 19);
    const b8l = (a16h << 13) | (a16l >>> 19);
    a21h ^= d1h;
    a21l ^= d1l;
    const b24h = (a21h << 2) | (a21l >>> 30);
    const b24l = (a21l << 2) | (a21h >>> 30);
    a2h ^= d2h;
    a2l ^= d2l;
    const b20h = (a2l << 30) | (a2h >>> 2);
    const b20l = (a2h << 30) | (a2l >>> 2);
    a7h ^= d2h;
    a7l ^= d2l;
    const b11h = (a7h << 6) | (a7l >>> 26);
    const b11l = (a7l << 6) | (a7h >>> 26);
    a12h ^= d2h;
    a12l ^= d2l;
    const b2h = (a12l << 11) | (a12h >>> 21);
    const b2l = (a12h << 11) | (a12l >>> 21);
    a17h ^= d2h;
    a17l ^= d2l;
    const b18h = (a17h << 15) | (a17l >>> 17);
    const b18l = (a17l << 15) | (a17h >>> 17);
    a22h ^= d2h;
    a22l ^= d2l;
    const b9h = (a22l << 29) | (a22h >>> 3);
    const b9l = (a22h << 29) | (a22l >>> 3);
    a3h ^= d3h;
    a3l ^= d3l;
    const b5h = (a3h << 28) | (a3l >>> 4);
    const b5l = (a3l << 28) | (a3h >>> 4);
    a8h ^= d3h;
    a8l ^= d3l;
    const b21h = (a8l << 23) | (a8h >>> 9);
    const b21l = (a8h << 23) | (a8l >>> 9);
    a13h ^= d3h;
    a13l ^= d3l;
    const b12h = (a13h << 25) | (a13l >>> 7);
    const b12l = (a13l << 25) | (a13h >>> 7);
    a18h ^= d3h;
    a18l ^= d3l;
    const b3h = (a18h << 21) | (a18l >>> 11);
    const b3l = (a18l << 21) | (a18h >>> 11);
    a23h ^= d3h;
    a23l ^= d3l;
    const b19h = (a23l << 24) | (a23h >>> 8);
    const b19l = (a23h << 24) | (a23l >>> 8);
    a4h ^= d4h;
    a4l ^= d4l;
    const b15h = (a4h << 27) | (a4l >>> 5);
    const b15l = (a4l << 27) | (a4h >>> 5);
    a9h ^= d4h;
    a9l ^= d4l;
    const b6h = (a9h << 20) | (a9l >>> 12);
    const b6l = (a9l << 20) | (a9h >>> 12);
    a14h ^= d4h;
    a14l ^= d4l;
    const b22h = (a14l << 7) | (a14h >>> 25);
    const b22l = (a14h << 7) | (a14l >>> 25);
    a19h ^= d4h;
    a19l ^= d4l;
    const b13h = (a19h << 8) | (a19l >>> 24);
    const b13l = (a19l << 8) | (a19h >>> 24);
    a24h ^= d4h;
    a24l ^= d4l;
    const b4h = (a24h << 14) | (a24l >>> 18);
    const b4l = (a24l << 14) | (a24h >>> 18);
    // Chi: the only non-linear step.
    a0h = b0h ^ (~b1h & b2h);
    a0l = b0l ^ (~b1l & b2l);
    a1h = b1h ^ (~b2h & b3h);
    a1l = b1l ^ (~b2l & b3l);
    a2h = b2h ^ (~b3h & b4h);
    a2l = b2l ^ (~b3l & b4l);
    a3h = b3h ^ (~b4h & b0h);
    a3l = b3l ^ (~b4l & b0l);
    a4h = b4h ^ (~b0h & b1h);
    a4l = b4l ^ (~b0l & b1l);
    a5h = b5h ^ (~b6h & b7h);
    a5l = b5l ^ (~b6l & b7l);
    a6h = b6h ^ (~b7h & b8h);
    a6l = b6l ^ (~b7l & b8l);
    a7h = b7h ^ (~b8h & b9h);
    a7l = b7l ^ (~b8l & b9l);
    a8h = b8h ^ (~b9h & b5h);
    a8l = b8l ^ (~b9l & b5l);
    a9h = b9h ^ (~b5h & b6h);
    a9l = b9l ^ (~b5l & b6l);
    a10h = b10h ^ (~b11h & b12h);
    a10l = b10l ^ (~b11l & b12l);
    a11h = b11h ^ (~b12h & b13h);
    a11l = b11l ^ (~b12l & b13l);
    a12h = b12h ^ (~b13h & b14h);
    a12l = b12l ^ (~b13l & b14l);
    a13h = b13h ^ (~b14h & b10h);
    a13l = b13l ^ (~b14l & b10l);
    a14h = b14h ^ (~b10h & b11h);
    a14l = b14l ^ (~b10l & b11l);
    a15h = b15h ^ (~b16h & b17h);
    a15l = b15l ^ (~b16l & b17l);
    a16h = b16h ^ (~b17h & b18h);
    a16l = b16l ^ (~b17l & b18l);
    a17h = b17h ^ (~b18h & b19h);
    a17l = b17l ^ (~b18l & b19l);
    a18h = b18h ^ (~b19h & b15h);
    a18l = b18l ^ (~b19l & b15l);
    a19h = b19h ^ (~b15h & b16h);
    a19l = b19l ^ (~b15l & b16l);
    a20h = b20h ^ (~b21h & b22h);
    a20l = b20l ^ (~b21l & b22l);
    a21h = b21h ^ (~b22h & b23h);
    a21l = b21l ^ (~b22l & b23l);
    a22h = b22h ^ (~b23h & b24h);
    a22l = b22l ^ (~b23l & b24l);
    a23h = b23h ^ (~b24h & b20h);
    a23l = b23l ^ (~b24l & b20l);
    a24h = b24h ^ (~b20h & b21h);
    a24l = b24l ^ (~b20l & b21l);
    // Iota.
    a0h ^= ROUND_HIGH[round] as number;
    a0l ^= ROUND_LOW[round] as number;
  }
  lanes[0] = a0l;
  lanes[1] = a0h;
  lanes[2] = a1l;
  lanes[3] = a1h;
  lanes[4] = a2l;
  lanes[5] = a2h;
  lanes[6] = a3l;
  lanes[7] = a3h;
}
