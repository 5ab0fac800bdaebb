/**
 * Fits the weights of the name matcher to pairs with known answers and to OFAC's own scores, writes data/names/model.json, and prints the
 * in-sample and out-of-sample quality of the model. Run: node dist/scripts/fit-name-weights.js PAIRS.csv OFAC_SCORES.csv [--dry-run]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { areaUnderCurve, aroundNine, f1At } from '../bench/name-figures.ts';
import {
  crossValidate,
  fitModel,
  judgePairs,
  readAnsweredPairs,
  readScoredPairs,
} from '../bench/name-fit.ts';
import { projectRoot, shippedData } from '../src/base/paths.ts';

const FOLDS = 10;
const [pairsPath, scoresPath, option] = process.argv.slice(2);
if (pairsPath === undefined || scoresPath === undefined) {
  process.stderr.write('fit-name-weights: name the CSV of pairs and the CSV of OFAC scores.\n');
  process.exit(2);
}

const pairs = readAnsweredPairs(pairsPath);
const scored = readScoredPairs(scoresPath);
const fitted = fitModel(pairs, scored);
const held = crossValidate(pairs, scored, FOLDS);
const share = (value: number): number => Math.round(value * 1000) / 1000;
const figures = (
  judged: readonly { right: boolean; score: number }[],
  correlation: number,
): Record<string, number> => ({
  f1: share(f1At(judged, 0.7)),
  auc: share(areaUnderCurve(judged)),
  rightAround09: share(aroundNine(judged).right),
  ofacRankCorrelation: share(correlation),
});
const report = {
  inSample: figures(judgePairs(pairs, fitted.model), fitted.correlation),
  outOfFold: figures(held.pairs, held.correlation),
};
process.stdout.write(`${JSON.stringify({ model: fitted.model, ...report }, null, 2)}\n`);

if (option !== '--dry-run') {
  const path = shippedData('names', 'model.json');
  const { about } = JSON.parse(readFileSync(path, 'utf8')) as { about: string };
  const written = {
    about,
    pairs: pairs.length,
    scores: scored.length,
    ...report,
    model: fitted.model,
  };
  writeFileSync(path, `${JSON.stringify(written, null, 2)}\n`);
  process.stdout.write(`${path.slice(projectRoot.length + 1)} written\n`);
}
