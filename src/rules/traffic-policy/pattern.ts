/**
 * Regular expressions that take time in proportion to the text, whatever the pattern. The language is a part of RE2,
 * which `matches` of a traffic policy means; what is not in this part is refused.
 */
export interface Pattern {
  /** A match takes at most this many comparisons for each character of the text. */
  readonly size: number;
  readonly instructions: readonly Instruction[];
  readonly start: number;
}

/** A pattern that this library does not apply. `message` completes the sentence "the pattern ...". */
export class PatternRefused extends Error {}

const MAX_PATTERN_LENGTH = 256;
/** The most instructions of a pattern: repeats copy what they repeat. */
const MAX_INSTRUCTIONS = 256;
const MAX_REPEAT = 100;
const MAX_GROUPS_DEEP = 16;

/** A state of the automaton. `next` and `other` are indexes of instructions. */
type Instruction =
  | { readonly kind: 'character'; readonly accepts: CharacterSet; readonly next: number }
  | { readonly kind: 'either'; next: number; readonly other: number }
  | { readonly kind: 'start' | 'end'; readonly next: number }
  | { readonly kind: 'found' };

/** For each character of ASCII, and then for all others together, 1 if it belongs to the set. */
type CharacterSet = Uint8Array;
const OTHERS = 128;

type Node =
  | { readonly kind: 'character'; readonly accepts: CharacterSet }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly of: Node; readonly least: number; readonly most: number };

/** Compiles a pattern. Throws PatternRefused. */
export function compilePattern(text: string): Pattern {
  if (text.length > MAX_PATTERN_LENGTH) {
    throw new PatternRefused(`is ${text.length} characters long; the maximum is ${MAX_PATTERN_LENGTH}`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all that is ASCII
  if (!/^[\x00-\x7f]*$/.test(text)) throw new PatternRefused('has a character that is not ASCII');
  const root = new PatternReader(text).read();
  const instructions: Instruction[] = [{ kind: 'found' }];
  const start = append(root, 0, instructions);
  return { size: instructions.length, instructions, start };
}

/** Whether a pattern matches somewhere in a text. */
export function matchesPattern({ instructions, start }: Pattern, text: string): boolean {
  let current = new States(instructions.length);
  let next = new States(instructions.length);
  for (let at = 0; ; at += 1) {
    const isEnd = at === text.length;
    if (enter(instructions, start, current, at === 0, isEnd)) return true;
    if (isEnd) return false;
    const code = Math.min(text.charCodeAt(at), OTHERS);
    for (const state of current.list()) {
      const instruction = instructions[state];
      if (instruction?.kind !== 'character' || instruction.accepts[code] === 0) continue;
      if (enter(instructions, instruction.next, next, false, at + 1 === text.length)) return true;
    }
    [current, next] = [next, current];
    next.clear();
  }
}

/** The states that the automaton is in, each once. */
class States {
  private readonly entered: number[] = [];
  private readonly isIn: Uint8Array;

  constructor(size: number) {
    this.isIn = new Uint8Array(size);
  }

  /** False if it was there already. */
  add(state: number): boolean {
    if (this.isIn[state] === 1) return false;
    this.isIn[state] = 1;
    this.entered.push(state);
    return true;
  }

  list(): readonly number[] {
    return this.entered;
  }

  clear(): void {
    for (const state of this.entered) this.isIn[state] = 0;
    this.entered.length = 0;
  }
}

/** Enters a state and those that follow it without a character. True if the match is found. */
function enter(
  instructions: readonly Instruction[],
  first: number,
  states: States,
  isStart: boolean,
  isEnd: boolean,
): boolean {
  const waiting = [first];
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    const instruction = instructions[state];
    if (instruction === undefined || !states.add(state)) continue;
    if (instruction.kind === 'found') return true;
    if (instruction.kind === 'either') waiting.push(instruction.other, instruction.next);
    if (instruction.kind === 'start' && isStart) waiting.push(instruction.next);
    if (instruction.kind === 'end' && isEnd) waiting.push(instruction.next);
  }
  return false;
}

/** Appends the instructions of a node that go on at `next`, and returns where they begin. */
function append(node: Node, next: number, instructions: Instruction[]): number {
  const add = (instruction: Instruction): number => {
    if (instructions.length >= MAX_INSTRUCTIONS) {
      throw new PatternRefused(`is too large: it has more than ${MAX_INSTRUCTIONS} states; repeat less`);
    }
    return instructions.push(instruction) - 1;
  };
  switch (node.kind) {
    case 'character':
      return add({ kind: 'character', accepts: node.accepts, next });
    case 'start':
    case 'end':
      return add({ kind: node.kind, next });
    case 'sequence':
      return node.parts.reduceRight((following, part) => append(part, following, instructions), next);
    case 'choice':
      return node.parts
        .map((part) => append(part, next, instructions))
        .reduceRight((other, first) => add({ kind: 'either', next: first, other }));
    case 'repeat':
      return appendRepeat(node, next, instructions, add);
  }
}

function appendRepeat(
  { of, least, most }: Extract<Node, { kind: 'repeat' }>,
  next: number,
  instructions: Instruction[],
  add: (instruction: Instruction) => number,
): number {
  if (isEmpty(of)) return next;
  let start = next;
  if (most === Number.POSITIVE_INFINITY) {
    const loop = { kind: 'either' as const, next: 0, other: next };
    start = add(loop);
    loop.next = append(of, start, instructions);
  } else {
    for (let n = least; n < most; n += 1) {
      start = add({ kind: 'either', next: append(of, start, instructions), other: next });
    }
  }
  for (let n = 0; n < least; n += 1) start = append(of, start, instructions);
  return start;
}

/** Repeats of nothing in each other would take their product of turns, without an instruction that ends it. */
function isEmpty(node: Node): boolean {
  if (node.kind === 'repeat') return node.most === 0 || isEmpty(node.of);
  return (node.kind === 'sequence' || node.kind === 'choice') && node.parts.every(isEmpty);
}

const range = (first: number, last = first): CharacterSet => new Uint8Array(OTHERS + 1).fill(1, first, last + 1);
const anyOf = (sets: readonly CharacterSet[]): CharacterSet => {
  const all = new Uint8Array(OTHERS + 1);
  for (const set of sets) for (let code = 0; code <= OTHERS; code += 1) if (set[code] === 1) all[code] = 1;
  return all;
};
const not = (set: CharacterSet): CharacterSet => set.map((isIn) => 1 - isIn);

const DIGIT = range(48, 57);
const WORD = anyOf([DIGIT, range(65, 90), range(97, 122), range(95)]);
const SPACE = anyOf([range(9, 10), range(12, 13), range(32)]);
const CLASSES: Readonly<Record<string, CharacterSet>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  D: not(DIGIT),
  W: not(WORD),
  S: not(SPACE),
};
const ALL_BUT_LINE_FEED = not(range(10));
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Reads a pattern by descending into its groups. */
class PatternReader {
  private at = 0;
  private depth = 0;
  private ignoresCase = false;

  constructor(private readonly text: string) {}

  read(): Node {
    if (this.text.startsWith('(?i)')) {
      this.ignoresCase = true;
      this.at = 4;
    }
    const node = this.choice();
    if (this.at < this.text.length) throw new PatternRefused('has ) without (');
    return node;
  }

  private choice(): Node {
    const parts = [this.sequence()];
    while (this.take('|')) parts.push(this.sequence());
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: 'choice', parts };
  }

  private sequence(): Node {
    const parts: Node[] = [];
    while (this.at < this.text.length && !'|)'.includes(this.peek())) parts.push(this.repeated(this.atom()));
    return { kind: 'sequence', parts };
  }

  private repeated(of: Node): Node {
    const bounds = this.bounds();
    if (bounds === undefined) return of;
    this.take('?'); // which match a lazy repeat prefers does not change whether there is one
    if (this.bounds() !== undefined) throw new PatternRefused('repeats a repeat; put the inner one into ( )');
    return { kind: 'repeat', of, ...bounds };
  }

  private bounds(): { readonly least: number; readonly most: number } | undefined {
    if (this.take('*')) return { least: 0, most: Number.POSITIVE_INFINITY };
    if (this.take('+')) return { least: 1, most: Number.POSITIVE_INFINITY };
    if (this.take('?')) return { least: 0, most: 1 };
    const [braces, low, comma, high] = /^\{(\d+)(,?)(\d*)\}/.exec(this.text.slice(this.at)) ?? [];
    if (braces === undefined) return undefined;
    this.at += braces.length;
    const least = Number(low);
    const most = comma === '' ? least : high === '' ? Number.POSITIVE_INFINITY : Number(high);
    if (least > MAX_REPEAT || (most > MAX_REPEAT && most !== Number.POSITIVE_INFINITY) || least > most) {
      throw new PatternRefused(`has the repeat ${braces}; its numbers go up to ${MAX_REPEAT}, the smaller one first`);
    }
    return { least, most };
  }

  private atom(): Node {
    const sign = this.peek();
    this.at += 1;
    if (sign === '^') return { kind: 'start' };
    if (sign === '$') return { kind: 'end' };
    if (sign === '.') return character(ALL_BUT_LINE_FEED);
    if (sign === '(') return this.group();
    if (sign === '[') return character(this.set());
    if (sign === '\\') return character(this.escaped());
    if ('*+?'.includes(sign)) throw new PatternRefused(`repeats nothing with ${sign}`);
    return character(this.folded(range(sign.charCodeAt(0))));
  }

  private group(): Node {
    this.depth += 1;
    if (this.depth > MAX_GROUPS_DEEP) throw new PatternRefused(`has more than ${MAX_GROUPS_DEEP} groups in each other`);
    if (this.peek() === '?' && !this.text.startsWith('?:', this.at)) {
      throw new PatternRefused('has a group that begins with (?, which is read only as (?: ) and as (?i) at the start');
    }
    if (this.peek() === '?') this.at += 2;
    const node = this.choice();
    if (!this.take(')')) throw new PatternRefused('has ( without )');
    this.depth -= 1;
    return node;
  }

  private escaped(): CharacterSet {
    const sign = this.peek();
    const known = CLASSES[sign];
    if (known === undefined) return this.folded(range(this.escapedCode()));
    this.at += 1;
    return known;
  }

  private escapedCode(): number {
    const [hex] = /^x[0-7][\dA-Fa-f]/.exec(this.text.slice(this.at)) ?? [];
    const sign = this.peek();
    this.at += hex?.length ?? 1;
    if (hex !== undefined) return Number.parseInt(hex.slice(1), 16);
    const control = CONTROLS[sign];
    if (control !== undefined) return control;
    if (/^[^\w]$/.test(sign)) return sign.charCodeAt(0);
    throw new PatternRefused(`has \\${sign}, which is not read here`);
  }

  /** What follows `[`. As in RE2, a `]` that comes first stands for itself. */
  private set(): CharacterSet {
    const isNegated = this.take('^');
    const accepted: CharacterSet[] = [];
    while (accepted.length === 0 || this.peek() !== ']') {
      if (this.at >= this.text.length) throw new PatternRefused('has [ without ]');
      if (this.text.startsWith('[:', this.at)) throw new PatternRefused('has a class [: :], which is not read here');
      accepted.push(this.setItem());
    }
    this.at += 1;
    const set = anyOf(accepted);
    return isNegated ? not(set) : set;
  }

  private setItem(): CharacterSet {
    const known = this.peek() === '\\' ? CLASSES[this.text[this.at + 1] ?? ''] : undefined;
    if (known !== undefined) {
      this.at += 2;
      return known;
    }
    const first = this.setCode();
    if (this.peek() !== '-' || this.text[this.at + 1] === ']') return this.folded(range(first));
    this.at += 1;
    const last = this.setCode();
    if (last < first) throw new PatternRefused('has a range in [ ] whose end comes before its start');
    return this.folded(range(first, last));
  }

  private setCode(): number {
    if (this.take('\\')) return this.escapedCode();
    this.at += 1;
    return this.text.charCodeAt(this.at - 1);
  }

  private folded(set: CharacterSet): CharacterSet {
    return this.ignoresCase ? set.map((isIn, code) => isIn | (set[withOtherCase(code)] ?? 0)) : set;
  }

  private peek(): string {
    return this.text[this.at] ?? '';
  }

  private take(sign: string): boolean {
    if (this.peek() !== sign) return false;
    this.at += 1;
    return true;
  }
}

const character = (accepts: CharacterSet): Node => ({ kind: 'character', accepts });

const withOtherCase = (code: number): number =>
  code >= 65 && code <= 90 ? code + 32 : code >= 97 && code <= 122 ? code - 32 : code;
