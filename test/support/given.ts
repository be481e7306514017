import { expect } from '@jest/globals';
import fc from 'fast-check';
import { Problem } from '../../src/kernel/problem.js';

export type Decision<State, Event> = (state: State | undefined) => readonly Event[];

/**
 * Tests a pure decision: given these events, when a command is decided, then it yields these events or this refusal.
 */
export function given<State, Event>(
  evolve: (state: State | undefined, event: Event) => State | undefined,
  ...history: readonly Event[]
) {
  const state = history.reduce<State | undefined>(evolve, undefined);
  return {
    state,
    /** The events of the command, or `problem: message` if it is refused. */
    when: (decide: Decision<State, Event>): readonly Event[] | string => {
      try {
        return decide(state);
      } catch (error) {
        if (error instanceof Problem) return `${error.problem}: ${error.message}`;
        throw error;
      }
    },
  };
}

/** The events after one more command. A refused command adds none. */
export function withCommand<State, Event>(
  evolve: (state: State | undefined, event: Event) => State | undefined,
  history: readonly Event[],
  decide: Decision<State, Event>,
): readonly Event[] {
  const outcome = given(evolve, ...history).when(decide);
  return typeof outcome === 'string' ? history : [...history, ...outcome];
}

/** Checks a law of every decision: a command that is repeated at once records no event. */
export function expectRepetitionsToRecordNothing<State, Event>(
  evolve: (state: State | undefined, event: Event) => State | undefined,
  decisions: fc.Arbitrary<Decision<State, Event>>,
): void {
  fc.assert(
    fc.property(fc.array(decisions, { maxLength: 8 }), decisions, (commands, last) => {
      const once = [...commands, last].reduce<readonly Event[]>((h, decide) => withCommand(evolve, h, decide), []);
      expect(withCommand(evolve, once, last)).toEqual(once);
    }),
  );
}
