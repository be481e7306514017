import { messageOf } from '../../kernel/error-message.js';
import type { WorkInTurns } from '../../kernel/in-turns.js';
import type { Address } from '../ip-rules/address.js';
import { type Bindings, bindingsOf, celEnvironment, TIMESTAMP } from './cel.js';
import { type Running, registerFunctions, useOwnFunctions } from './cel-functions.js';
import { ExpressionReader, ExpressionRefused } from './expression-steps.js';
import type { PolicyCounts } from './policy-counts.js';
import { timeText } from './time-fields.js';
import { shortened, UnreadablePolicy } from './unreadable-policy.js';

/** The most characters of an expression, which is read in one turn. */
const MAX_EXPRESSION_LENGTH = 16_384;
/** The most expressions of a policy and the most characters of them all, which bound the time to read it. */
const MAX_EXPRESSIONS = 2_000;
const MAX_CHARACTERS = 65_536;
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

const SAMPLE: Scene = {
  bindings: bindingsOf({
    clientIp: '192.0.2.7',
    clientPort: 49_152,
    serverIp: '192.0.2.1',
    serverPort: 22,
    startedAt: new Date(0),
    endpointId: '',
    now: '1970-01-01T00:00:00Z',
  }),
  addresses: new Map(),
};

/** Of the expression that is being evaluated. */
const running: Running = { readings: { networks: new Map(), patterns: new Map() }, addresses: new Map() };
/** Of the expressions of all policies, since an environment takes 50 KiB. */
const environment = celEnvironment();
registerFunctions(environment, running);
/** Parses first. cel-js never forgets a name that it has looked for, so after a refusal another one takes its place. */
let firstParser = celEnvironment();

/** The expressions of one policy, which share what they have read. */
export class Expressions {
  private readonly reader: ExpressionReader;
  private warmUpSteps = 0;

  constructor(
    readonly turns: WorkInTurns,
    readonly counts: PolicyCounts,
  ) {
    this.reader = new ExpressionReader(counts);
  }

  /** States of patterns. */
  get states(): number {
    return this.reader.states;
  }

  /** An expression that is true or false. Throws UnreadablePolicy. */
  condition(text: string, place: string): Promise<Expression> {
    return this.compile(text, place, ['bool'], 'true or false');
  }

  /** An expression whose value is given as a text. Throws UnreadablePolicy. */
  async shown(text: string, place: string): Promise<Expression> {
    const { evaluate, ...read } = await this.compile(text, place, SHOWN, 'a text, a number, true or false, or a time');
    return { ...read, evaluate: (scene) => shownText(evaluate(scene)) };
  }

  private async compile(text: string, place: string, types: readonly string[], described: string): Promise<Expression> {
    await this.turns.step();
    if (text.length > MAX_EXPRESSION_LENGTH) {
      const limit = `the maximum is ${MAX_EXPRESSION_LENGTH}; use restrict-ips for long lists`;
      throw new UnreadablePolicy(place, `is ${text.length} characters long; ${limit}.`);
    }
    this.count(text, place);
    const steps =
      orUnreadable(place, () => this.reader.stepsOf(text, firstParser.parse(text).ast)) + STEPS_OF_EVALUATION;
    if (steps > MAX_STEPS) {
      throw new UnreadablePolicy(place, `takes up to ${Math.ceil(steps)} steps; the maximum is ${MAX_STEPS}.`);
    }
    await this.turns.step();
    const parsed = environment.parse(text);
    useOwnFunctions(parsed.ast);
    await this.turns.step();
    const { valid, type, error } = parsed.check();
    if (!valid) throw new UnreadablePolicy(place, `is not valid: ${summaryOf(error)}.`);
    if (!types.includes(type ?? '')) throw new UnreadablePolicy(place, `must be ${described}, and is ${type}.`);
    const { readings } = this.reader;
    const evaluate = ({ bindings, addresses }: Scene): unknown => {
      running.readings = readings;
      running.addresses = addresses;
      return parsed(bindings);
    };
    await this.turns.step();
    this.warmUp(evaluate, steps);
    return { place, steps, evaluate };
  }

  private count({ length }: string, place: string): void {
    this.counts.expressions += 1;
    this.counts.characters += length;
    const { expressions, characters } = this.counts;
    if (expressions > MAX_EXPRESSIONS) {
      const limit = `more than ${MAX_EXPRESSIONS} expressions, those in \${ } included`;
      throw new UnreadablePolicy(place, `makes the policy have ${limit}; compare with a list, as in x in ['a', 'b'].`);
    }
    if (characters > MAX_CHARACTERS) {
      const limit = `more than ${MAX_CHARACTERS} characters of expressions`;
      throw new UnreadablePolicy(place, `makes the policy have ${limit}; use restrict-ips for long lists.`);
    }
  }

  /** The first evaluation takes twice as long as the next ones, so no connection has to be the first. */
  private warmUp(evaluate: Expression['evaluate'], steps: number): void {
    this.warmUpSteps += steps;
    if (this.warmUpSteps > MAX_STEPS) return;
    try {
      evaluate(SAMPLE);
    } catch {
      // It may fail for any connection, and says so then.
    }
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
