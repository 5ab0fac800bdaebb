/** Writes the result of a test run as JSON: the duration of each file, and the failures. */
import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** Environment variables by which a mutation run passes paths to vitest. */
export const REPORT_VARIABLE = 'ASSAY_MUTANTS_REPORT';
export const ORDER_VARIABLE = 'ASSAY_MUTANTS_ORDER';

export interface TestReport {
  /** Milliseconds by test file, its imports included. */
  readonly milliseconds: Readonly<Record<string, number>>;
  /** `file > test` of every failure; an error outside a test has its message. */
  readonly failures: readonly string[];
}

export default class OutcomeReporter implements Reporter {
  readonly #milliseconds: Record<string, number> = {};
  readonly #failures: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.result().state === 'failed')
      this.#failures.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestModuleEnd(module: TestModule): void {
    const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
      module.diagnostic();
    this.#milliseconds[module.relativeModuleId] = Math.round(
      environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration,
    );
    for (const { message } of module.errors()) this.#failures.push(`${module.relativeModuleId}: ${message}`);
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    for (const { message } of errors) this.#failures.push(`outside a test: ${message}`);
    const path = process.env[REPORT_VARIABLE];
    const report: TestReport = { milliseconds: this.#milliseconds, failures: this.#failures };
    if (path !== undefined) writeFileSync(path, JSON.stringify(report));
  }
}
