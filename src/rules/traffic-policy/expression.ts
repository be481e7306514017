import { messageOf } from '../../kernel/error-message.js';
import { quoted } from '../../kernel/problem.js';
import type { Address } from '../ip-rules/address.js';
import { type Bindings, celEnvironment, TIMESTAMP } from './cel.js';
import { type Running, registerFunctions, useOwnFunctions } from './cel-functions.js';
import { ExpressionReader, ExpressionRefused } from './expression-steps.js';
import { timeText } from './time-fields.js';
import { shortened, UnreadablePolicy } from './unreadable-policy.js';

/** The most expressions of a policy. */
const MAX_EXPRESSIONS = 100;
/** The most steps of a decision, and so of an expression. */
export const MAX_STEPS = 25_000;
/** What an evaluation takes beside the nodes of the expression. */
const STEPS_OF_EVALUATION = 3;
/** The types of values that a text can show. */
const SHOWN = ['string', 'int', 'uint', 'double', 'bool', TIMESTAMP];

/** An expression of CEL that was read, checked and bounded. */
export interface Expression {
  /** Where it stands, such as `on_tcp_connect[2].expressions[0]`. */
  readonly place: string;
  /** An evaluation takes no more steps. */
  readonly steps: number;
  /** Throws if it fails: a value that is absent, an overflow, a text that is no number or time. */
  readonly evaluate: (scene: Scene) => unknown;
}

/** What expressions see of a connection. */
export interface Scene {
  readonly bindings: Bindings;
  /** The addresses of the connection, by their texts. */
  readonly addresses: ReadonlyMap<string, Address>;
}

/** Of the expression that is being evaluated. */
const running: Running = { readings: { networks: new Map(), patterns: new Map() }, addresses: new Map() };
/** Of the expressions of all policies, since an environment takes 50 KiB. */
const environment = celEnvironment();
registerFunctions(environment, running);
/** Parses first. cel-js never forgets a name that it has looked for, so after a refusal another one takes its place. */
let firstParser = celEnvironment();

/** What there is in all of one policy, counted while it is read. */
export interface PolicyCounts {
  expressions: number;
  /** Networks in actions of `restrict-ips`. */
  networks: number;
}

/** The expressions of one policy, which share what they have read. */
export class Expressions {
  readonly counts: PolicyCounts = { expressions: 0, networks: 0 };
  /** Sentences about what can never decide. */
  readonly notes: string[] = [];
  private readonly reader = new ExpressionReader();

  /** States of patterns, and nodes of expressions. */
  get sizes(): Pick<ExpressionReader, 'states' | 'nodes'> {
    return this.reader;
  }

  /** An expression that is true or false. Throws UnreadablePolicy. */
  condition(text: string, place: string): Expression {
    return this.compile(text, place, ['bool'], 'true or false');
  }

  /** An expression whose value is given as a text. Throws UnreadablePolicy. */
  shown(text: string, place: string): Expression {
    const { evaluate, ...read } = this.compile(text, place, SHOWN, 'a text, a number, true or false, or a time');
    return { ...read, evaluate: (scene) => shownText(evaluate(scene)) };
  }

  private compile(text: string, place: string, types: readonly string[], described: string): Expression {
    this.counts.expressions += 1;
    if (this.counts.expressions > MAX_EXPRESSIONS) {
      const limit = `more than ${MAX_EXPRESSIONS} expressions, those in \${ } included`;
      throw new UnreadablePolicy(place, `makes the policy have ${limit}; compare with a list, as in x in ['a', 'b'].`);
    }
    const steps =
      orUnreadable(place, () => this.reader.stepsOf(text, firstParser.parse(text).ast)) + STEPS_OF_EVALUATION;
    for (const { text: address, written } of this.reader.misspelled)
      this.notes.push(`${place} compares with ${quoted(address)}, which no connection has; write '${written}'.`);
    if (steps > MAX_STEPS) {
      throw new UnreadablePolicy(place, `takes up to ${Math.ceil(steps)} steps; the maximum is ${MAX_STEPS}.`);
    }
    const parsed = environment.parse(text);
    useOwnFunctions(parsed.ast);
    const { valid, type, error } = parsed.check();
    if (!valid) throw new UnreadablePolicy(place, `is not valid: ${summaryOf(error)}.`);
    if (!types.includes(type ?? '')) throw new UnreadablePolicy(place, `must be ${described}, and is ${type}.`);
    const { readings } = this.reader;
    const evaluate = ({ bindings, addresses }: Scene): unknown => {
      running.readings = readings;
      running.addresses = addresses;
      return parsed(bindings);
    };
    return { place, steps, evaluate };
  }
}

/** Throws for a time that is out of range. */
const shownText = (value: unknown): string => (value instanceof Date ? timeText(value) : String(value));

function orUnreadable<Result>(place: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    firstParser = celEnvironment();
    if (error instanceof ExpressionRefused) throw new UnreadablePolicy(place, `${error.message}.`);
    throw new UnreadablePolicy(place, `is not an expression: ${summaryOf(error)}.`);
  }
}

/** The message of an error of cel-js, without the line that it quotes and with the public names of functions. */
export function summaryOf(error: unknown): string {
  if (error instanceof RangeError && error.message.includes('call stack')) return 'it is nested too deep';
  const [summary = ''] = messageOf(error).split('\n', 1);
  return shortened(summary.replace(/_\(/g, '('));
}
