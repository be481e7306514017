import { Problem } from '../../src/kernel/problem.js';

/** The Problem that a call throws. */
export function problemOf(call: () => unknown): Problem {
  try {
    call();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('expected a Problem, but the call did not throw');
}
