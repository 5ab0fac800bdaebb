/** Quality figures of a score: area under the curve, F1, rank correlation, and calibration around 0.9. */

export interface Judged {
  readonly right: boolean;
  readonly score: number;
}

/** Probability that a correct pair scores above a wrong one. A tie counts half. */
export function areaUnderCurve(judged: readonly Judged[]): number {
  const wrong = judged.filter((each) => !each.right);
  const right = judged.filter((each) => each.right);
  let above = 0;
  for (const yes of right) {
    for (const no of wrong) above += yes.score > no.score ? 1 : yes.score === no.score ? 0.5 : 0;
  }
  return above / (right.length * wrong.length);
}

/** F1 if all pairs that score at least `threshold` count as matches. */
export function f1At(judged: readonly Judged[], threshold: number): number {
  let hits = 0;
  let faults = 0;
  for (const { right, score } of judged) {
    const said = score >= threshold;
    if (right && said) hits++;
    else if (right !== said) faults++;
  }
  return (2 * hits) / (2 * hits + faults);
}

/** The pairs that score 0.85 to 0.95, and the share of correct ones among them. */
export function aroundNine(judged: readonly Judged[]): { readonly count: number; readonly right: number } {
  const near = judged.filter(({ score }) => score >= 0.85 && score <= 0.95);
  return { count: near.length, right: near.filter(({ right }) => right).length / Math.max(1, near.length) };
}

/** Spearman's rank correlation: Pearson's correlation of ranks, with ties at their mean rank. */
export function rankCorrelation(left: readonly number[], right: readonly number[]): number {
  const [x, y] = [ranks(left), ranks(right)];
  const mean = (left.length - 1) / 2;
  let both = 0;
  let a = 0;
  let b = 0;
  for (let at = 0; at < left.length; at++) {
    const p = (x[at] as number) - mean;
    const q = (y[at] as number) - mean;
    both += p * q;
    a += p * p;
    b += q * q;
  }
  return both / Math.sqrt(a * b);
}

function ranks(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((a, b) => (values[a] as number) - (values[b] as number));
  const out: number[] = [];
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && values[order[to] as number] === values[order[from] as number]) to++;
    for (let at = from; at < to; at++) out[order[at] as number] = (from + to - 1) / 2;
    from = to;
  }
  return out;
}
