import { quoted } from '../../kernel/problem.js';
import { addressText, parseAddress } from '../ip-rules/address.js';
import { networkAround } from '../ip-rules/network.js';
import { type CelNode, VARIABLES } from './cel.js';
import {
  type Bound,
  FUNCTIONS,
  isAddress,
  type KnownFunction,
  METHODS,
  type Readings,
  weightOf,
} from './cel-functions.js';
import { compilePattern, PatternRefused } from './pattern.js';
import { timeZone } from './time-fields.js';
import { quotedName } from './unreadable-policy.js';

/** An expression that this library does not evaluate. `message` completes the sentence "the expression ...". */
export class ExpressionRefused extends Error {}

/** What a part of an expression costs at most, and what comes out. */
interface Cost {
  readonly steps: number;
  readonly value: Bound;
  readonly mayFail: boolean;
}

/** cel-js goes down as deep as the expression; its stack overflows at some ten times this depth. */
const MAX_DEPTH = 200;
/** The most states of patterns and time zones of all expressions of a policy, which bound its memory. */
const MAX_STATES = 2_048;
const MAX_ZONES = 8;
/** cel-js never forgets a type that it has seen, such as a list of lists of int. */
const MAX_LEVELS = 3;
/** What cel-js drops from a map, since JavaScript means something else by it. */
const DROPPED_KEYS = ['__proto__', 'constructor', 'prototype'];
const SCALAR: Bound = { size: 0 };
const QUANTIFIERS = ['all', 'exists', 'exists_one'];
/** An error that another part of the expression absorbs: cel-js gathers a stack and looks for the line. */
const errorSteps = (text: string): number => 100 + text.length / 8;

type Scope = ReadonlyMap<string, Bound>;

/**
 * Reads the parsed expressions of one policy before cel-js evaluates them: refuses what is not known here, and finds the
 * most steps that an evaluation can take. A step takes about 0.1 µs at most. The bound holds for every connection, since
 * sizes come from the policy alone: lists stand in it, and the texts of variables are short.
 */
export class ExpressionReader {
  /** States of patterns, and nodes of expressions. */
  states = 0;
  nodes = 0;
  private text = '';
  private readonly zones = new Set<string>();
  readonly readings: Readings = { networks: new Map(), patterns: new Map() };
  /** Addresses of the expression that no connection has, since its addresses are spelled as in `written`. */
  misspelled: { readonly text: string; readonly written: string }[] = [];

  /** The most steps of an evaluation, and of showing its value as a text. Throws ExpressionRefused. */
  stepsOf(text: string, root: CelNode): number {
    this.text = text;
    this.misspelled = [];
    const { steps, value, mayFail } = this.visit(root, new Map(), 1);
    return steps + weightOf(value) + (mayFail ? errorSteps(text) : 0);
  }

  private visit(node: CelNode, scope: Scope, depth: number): Cost {
    const cost = this.costOf(node, scope, depth);
    if (levelsOf(cost.value) <= MAX_LEVELS) return cost;
    throw new ExpressionRefused(`has lists or maps in each other more than ${MAX_LEVELS} deep`);
  }

  private costOf(node: CelNode, scope: Scope, depth: number): Cost {
    if (depth > MAX_DEPTH) {
      throw new ExpressionRefused(`is nested more than ${MAX_DEPTH} deep; write a list with in, or more expressions`);
    }
    this.nodes += 1;
    switch (node.op) {
      case 'value':
        return this.literal(node.args);
      case 'id':
      case '.':
        return this.name(node, scope, depth);
      case 'list':
        return this.list(node.args, scope, depth);
      case 'map':
        return this.map(node.args, scope, depth);
      case 'call':
        return this.call(node, scope, depth);
      case 'rcall':
        return this.method(node, scope, depth);
      case '[]':
        return this.element(node.args, scope, depth);
      case '?:':
        return this.ternary(node.args, scope, depth);
      case '&&':
      case '||':
        return this.logical(node.args, scope, depth);
      case '!_':
      case '-_':
        return sum(0.5, SCALAR, [this.visit(node.args, scope, depth + 1)]);
      case '.?':
      case '[?]':
        throw new ExpressionRefused(`uses ${node.op}, which is not known here`);
      default:
        return this.binary(node.op, node.args, scope, depth);
    }
  }

  private literal(value: unknown): Cost {
    if (value instanceof Uint8Array) throw new ExpressionRefused('uses bytes, which are not known here');
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) {
      throw new ExpressionRefused('has an integer of more than 64 bits');
    }
    if (typeof value !== 'string') return { steps: 0.2, value: SCALAR, mayFail: false };
    const { networks } = this.readings;
    const network = networks.get(value) ?? (value.includes('/') ? networkAround(value) : undefined);
    if (network !== undefined) networks.set(value, network);
    const read = network === undefined ? undefined : 'network';
    return { steps: 0.2, value: { size: value.length, read }, mayFail: false };
  }

  private name(node: CelNode, scope: Scope, depth: number): Cost {
    const path = pathOf(node);
    const local = path?.length === 1 ? scope.get(path[0] ?? '') : undefined;
    if (local !== undefined) return { steps: 0.5 + scope.size * 0.2, value: local, mayFail: false };
    if (path !== undefined && !scope.has(path[0] ?? '')) return variable(path.join('.'));
    if (node.op !== '.') throw new ExpressionRefused('has a name that is not known here');
    const map = this.visit(node.args[0], scope, depth + 1);
    return { ...sum(1, map.value.item ?? SCALAR, [map]), mayFail: true };
  }

  private list(items: readonly CelNode[], scope: Scope, depth: number): Cost {
    const costs = items.map((item) => this.visit(item, scope, depth + 1));
    return sum(0.5, { size: items.length, item: anyOf(costs.map(({ value }) => value)) }, costs);
  }

  private map(entries: readonly (readonly [CelNode, CelNode])[], scope: Scope, depth: number): Cost {
    const costs = entries.flatMap(([key, value]) => {
      if (key.op !== 'value' || typeof key.args !== 'string' || DROPPED_KEYS.includes(key.args)) {
        throw new ExpressionRefused('has a map with a key that is not a plain text');
      }
      return [this.literal(key.args), this.visit(value, scope, depth + 1)];
    });
    return sum(1 + entries.length, { size: entries.length, item: anyOf(costs.map(({ value }) => value)) }, costs);
  }

  private call(node: CelNode & { op: 'call' }, scope: Scope, depth: number): Cost {
    const [name, args] = node.args;
    if (name === 'has' && args.length === 1 && args[0]?.op === '.') {
      const { steps, value } = this.name(args[0], scope, depth + 1);
      return { steps: steps + 2, value, mayFail: false };
    }
    const known = FUNCTIONS[`${name}/${args.length}`];
    if (known === undefined) throw unknownFunction(name, args.length, FUNCTIONS);
    return this.known(name, known, args, scope, depth);
  }

  private method(node: CelNode & { op: 'rcall' }, scope: Scope, depth: number): Cost {
    const [name, receiver, args] = node.args;
    const [first, ...body] = args;
    const isComprehension =
      (QUANTIFIERS.includes(name) && args.length === 2) ||
      (name === 'filter' && args.length === 2) ||
      (name === 'map' && (args.length === 2 || args.length === 3));
    if (isComprehension && first?.op === 'id') {
      return this.comprehension(name, receiver, first.args, body, scope, depth);
    }
    const known = METHODS[`${name}/${args.length}`];
    if (known === undefined) throw unknownFunction(qualified(name, receiver, scope), args.length, METHODS);
    return this.known(name, known, [receiver, ...args], scope, depth);
  }

  private comprehension(
    name: string,
    receiver: CelNode,
    variableName: string,
    body: readonly CelNode[],
    outer: Scope,
    depth: number,
  ): Cost {
    const over = this.visit(receiver, outer, depth + 1);
    const { size, item = SCALAR } = over.value;
    const scope = new Map([...outer, [variableName, item]]);
    const costs = body.map((part) => this.visit(part, scope, depth + 1));
    const each = costs.reduce((steps, cost) => steps + cost.steps, 1.5);
    const absorbed = QUANTIFIERS.includes(name) && costs.some(({ mayFail }) => mayFail) ? errorSteps(this.text) : 0;
    const results: Record<string, Bound> = { filter: over.value, map: { size, item: costs.at(-1)?.value ?? SCALAR } };
    return {
      steps: over.steps + 3 + size * (each + absorbed),
      value: results[name] ?? SCALAR,
      mayFail: over.mayFail || costs.some(({ mayFail }) => mayFail),
    };
  }

  private known(name: string, known: KnownFunction, args: readonly CelNode[], scope: Scope, depth: number): Cost {
    const costs = args.map((arg) => this.visit(arg, scope, depth + 1));
    const bounds = costs.map(({ value }) => value);
    const length = bounds[0]?.size ?? 0;
    if (known.longest !== undefined && length > known.longest) {
      throw new ExpressionRefused(`calls ${name} with up to ${length} characters; the maximum is ${known.longest}`);
    }
    const factor = known.reads === undefined ? 1 : this.read(known.reads, name, args.at(-1));
    const called = sum(1.5 + factor * known.steps(...bounds), known.result(...bounds), costs);
    return { ...called, mayFail: called.mayFail || known.mayFail?.(...bounds) === true };
  }

  /** Reads a pattern, a time zone or networks. What `steps` of the function must be multiplied by. */
  private read(kind: 'pattern' | 'zone' | 'network', name: string, node: CelNode | undefined): number {
    if (kind === 'network') return this.networks(node);
    if (node?.op !== 'value' || typeof node.args !== 'string') {
      throw new ExpressionRefused(`calls ${name} with a ${kind} that is computed; write it out`);
    }
    return kind === 'pattern' ? this.pattern(node.args) : this.zone(node.args);
  }

  /** A network that is written wrong would be one without addresses, so that a rule which denies it denies nobody. */
  private networks(node: CelNode | undefined): number {
    for (const { op, args } of node?.op === 'list' ? node.args : node === undefined ? [] : [node]) {
      if (op !== 'value' || typeof args !== 'string' || this.readings.networks.has(args)) continue;
      throw new ExpressionRefused(
        `has the network ${quoted(args)}, which is none such as 192.0.2.0/24, 192.0.2.1/32 or 2001:db8::/32`,
      );
    }
    return 1;
  }

  private pattern(text: string): number {
    const { patterns } = this.readings;
    const pattern = patterns.get(text) ?? patternOf(text);
    if (!patterns.has(text)) this.states += pattern.size;
    if (this.states > MAX_STATES) {
      throw new ExpressionRefused(`makes the patterns of the policy larger than ${MAX_STATES} states`);
    }
    patterns.set(text, pattern);
    return pattern.size;
  }

  private zone(name: string): number {
    if (timeZone(name) === undefined) {
      throw new ExpressionRefused(`has the time zone ${quoted(name)}, which is none such as Europe/Berlin`);
    }
    if (this.zones.add(name).size > MAX_ZONES) {
      throw new ExpressionRefused(`makes the policy name more than ${MAX_ZONES} time zones`);
    }
    return 1;
  }

  private element([of, index]: readonly [CelNode, CelNode], scope: Scope, depth: number): Cost {
    const costs = [this.visit(of, scope, depth + 1), this.visit(index, scope, depth + 1)];
    return { ...sum(1, costs[0]?.value.item ?? SCALAR, costs), mayFail: true };
  }

  private ternary(parts: readonly CelNode[], scope: Scope, depth: number): Cost {
    const costs = parts.map((part) => this.visit(part, scope, depth + 1));
    return sum(1, anyOf(costs.slice(1).map(({ value }) => value)), costs);
  }

  private logical([left, right]: readonly [CelNode, CelNode], scope: Scope, depth: number): Cost {
    const costs = [this.visit(left, scope, depth + 1), this.visit(right, scope, depth + 1)];
    return sum(costs[0]?.mayFail === true ? 1 + errorSteps(this.text) : 1, SCALAR, costs);
  }

  private binary(op: CelNode['op'], [left, right]: readonly [CelNode, CelNode], scope: Scope, depth: number): Cost {
    const a = this.visit(left, scope, depth + 1);
    const b = this.visit(right, scope, depth + 1);
    if (isAddress(a.value)) this.findMisspelled(right);
    if (isAddress(b.value)) this.findMisspelled(left);
    const least = Math.min(weightOf(a.value), weightOf(b.value));
    if (op === '+') return this.plus(a, b);
    if (op === 'in') {
      const each = 0.3 + Math.min(weightOf(a.value), weightOf(b.value.item ?? SCALAR));
      return sum(1 + b.value.size * each, SCALAR, [a, b]);
    }
    const mayFail = ['-', '*', '/', '%'].includes(op);
    const cost = sum(1 + least, SCALAR, [a, b]);
    return { ...cost, mayFail: mayFail || cost.mayFail };
  }

  private findMisspelled(node: CelNode): void {
    for (const { op, args } of node.op === 'list' ? node.args : [node]) {
      const text = op === 'value' && typeof args === 'string' ? args : '';
      const address = parseAddress(text);
      const written = address === undefined ? text : addressText(address);
      if (written !== text) this.misspelled.push({ text, written });
    }
  }

  private plus(a: Cost, b: Cost): Cost {
    const items = [a.value.item, b.value.item].filter((item) => item !== undefined);
    const size = a.value.size + b.value.size;
    const value = items.length === 0 ? { size } : { size, item: anyOf(items) };
    const cost = sum(1 + size / 8, value, [a, b]);
    return { ...cost, mayFail: size === 0 || cost.mayFail };
  }
}

const sum = (own: number, value: Bound, costs: readonly Cost[]): Cost => ({
  steps: costs.reduce((steps, cost) => steps + cost.steps, own),
  value,
  mayFail: costs.some(({ mayFail }) => mayFail),
});

const levelsOf = ({ item }: Bound): number => (item === undefined ? 0 : 1 + levelsOf(item));

/** The bound of a value that is one of several. */
function anyOf(bounds: readonly Bound[]): Bound {
  const items = bounds.flatMap(({ item }) => (item === undefined ? [] : [item]));
  return {
    size: bounds.reduce((most, { size }) => Math.max(most, size), 0),
    read: bounds.every(({ read }) => read === bounds[0]?.read) ? bounds[0]?.read : undefined,
    ...(items.length > 0 && { item: anyOf(items) }),
  };
}

function pathOf(node: CelNode): string[] | undefined {
  const path: string[] = [];
  let at = node;
  for (; at.op === '.'; at = at.args[0]) path.unshift(at.args[1]);
  return at.op === 'id' ? [at.args, ...path] : undefined;
}

function variable(path: string): Cost {
  const size = VARIABLES.get(path);
  if (size !== undefined) {
    const read = path.endsWith('_ip') ? 'address' : undefined;
    return { steps: 0.5 * path.split('.').length, value: { size, read }, mayFail: path.startsWith('actions.') };
  }
  const known = [...VARIABLES.keys()].filter((name) => !name.startsWith('actions.')).join(', ');
  throw new ExpressionRefused(`uses the variable ${quotedName(path)}, which is not known here; known are ${known}`);
}

function patternOf(text: string) {
  try {
    return compilePattern(text);
  } catch (error) {
    if (!(error instanceof PatternRefused)) throw error;
    throw new ExpressionRefused(`has a pattern that ${error.message}`);
  }
}

function unknownFunction(name: string, count: number, table: object): ExpressionRefused {
  const isKnown = Object.keys(table).some((key) => key.startsWith(`${name}/`));
  const what = isKnown ? `${name} with ${count} arguments` : `the function ${quotedName(name)}`;
  return new ExpressionRefused(`calls ${what}, which is not known here`);
}

/** The name of a function in its group, such as `rand.int`: the group looks like a receiver. */
function qualified(name: string, receiver: CelNode, scope: Scope): string {
  if (receiver.op !== 'id' || scope.has(receiver.args)) return name;
  const isVariable = [...VARIABLES.keys()].some((path) => path.startsWith(`${receiver.args}.`));
  return isVariable ? name : `${receiver.args}.${name}`;
}
