/** Names every test that passed only at its second try, with its first error, so that no flaky test goes unnoticed. */
import type { Reporter, TestCase } from 'vitest/node';

export default class SecondTries implements Reporter {
  readonly #found: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#found.push(test);
  }

  onTestRunEnd(): void {
    if (this.#found.length === 0) return;
    console.log('Passed at the second try:');
    for (const test of this.#found) {
      console.log(`  ${test.module.relativeModuleId} > ${test.fullName}`);
      for (const { message } of test.result().errors ?? []) console.log(`    ${message}`);
    }
  }
}
