/** Ends the run with one line for people and scripts: how many tests ran, and how they ended. */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a reporter
export default class ClosingLineReporter {
  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    // A file that cannot even be loaded runs no test; it must not look like a pass.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
    // Printed at exit, since Jest prints its own summary after all reporters.
    process.once('exit', () => process.stderr.write(`\n${line}\n`));
  }
}
