import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Block } from './documents.js';
import { stopAtEnd } from './leftovers.js';

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Ends the output of a block. No program prints this character. */
const END = '\x1e';
const SHELL = ['bash', '-euo', 'pipefail'] as const;
const START_PATIENCE_MS = 300_000;
/** Longer than any block takes. After this time the error names the block that waits. */
const PATIENCE_MS = 300_000;
/** How long to wait for the last output of a shell that has ended. */
const OUTPUT_PATIENCE_MS = 100;

/** A shell that keeps its variables from block to block. A command that fails ends it, and rejects `run`. */
export class Terminal {
  private output = '';
  private errors = '';
  private hasEnded = false;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    readonly close: () => Promise<void>,
  ) {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
    });
    child.stdin.on('error', () => undefined);
    // Not on close: a program that the shell left in the background keeps its output open.
    child.on('exit', () => {
      this.hasEnded = true;
    });
  }

  /** `cleanUp` runs when every process of the terminal has ended. */
  static open({ cwd, env }: Place, command: readonly string[] = SHELL, cleanUp = async () => {}): Terminal {
    const [program = '', ...args] = command;
    const child = spawn(program, args, { cwd, env, detached: true });
    return new Terminal(
      child,
      stopAtEnd(() => endGroup(child, 'SIGKILL').then(cleanUp)),
    );
  }

  /** Runs commands; returns what they print on stdout. Rejects if they do not end. */
  async run(commands: string, place = commands): Promise<string> {
    this.output = '';
    this.errors = '';
    // The shell reads its commands from stdin, so no command may read stdin.
    this.child.stdin.write(`{\n${commands}\n} < /dev/null\nprintf '${END}'\n`);
    const deadline = Date.now() + PATIENCE_MS;
    while (!this.output.includes(END)) {
      if (this.hasEnded) {
        await sleep(OUTPUT_PATIENCE_MS);
        throw new Error(`${place} failed:\n${this.output}\n${this.errors}`);
      }
      if (Date.now() > deadline) throw new Error(`${place} does not end:\n${this.output}\n${await this.processes()}`);
      await sleep(10);
    }
    return this.output.slice(0, this.output.indexOf(END));
  }

  /** The processes of the terminal. */
  private async processes(): Promise<string> {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pid,etime,args', '-g', String(this.child.pid)]);
    return stdout;
  }

  /** Runs blocks of a document, and compares what each prints with the block "output" after it. */
  async runAll(blocks: readonly Block[]): Promise<void> {
    for (const { place, text, output } of blocks) {
      // ssh ends its own lines with a carriage return.
      const printed = (await this.run(text, place)).replaceAll('\r', '');
      const missing = output === undefined ? undefined : missingLine(output, printed);
      if (missing !== undefined) throw new Error(`${place} should print the line\n${missing}\nand printed\n${printed}`);
    }
  }
}

/**
 * The first line of `output` that is missing in the printed lines, which must have the same order. … stands for any
 * text.
 */
function missingLine(output: string, printed: string): string | undefined {
  const lines = printed.split('\n');
  return output
    .trimEnd()
    .split('\n')
    .find((expected) => {
      const found = lines.findIndex((line) => patternOf(expected).test(line));
      lines.splice(0, found + 1);
      return found < 0;
    });
}

const patternOf = (line: string): RegExp => new RegExp(`^${line.split('…').map(escaped).join('.*')}$`);
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

export interface Foreground {
  readonly output: () => string;
  /** Ctrl-C: SIGINT to every process of the terminal. */
  readonly interrupt: () => Promise<void>;
}

/** The character that Ctrl-C sends. */
const CTRL_C = '\x03';

/** Starts commands that run until Ctrl-C, in their own terminal. Resolves when they have printed `ready`. */
export async function startInForeground(commands: string, ready: string, { cwd, env }: Place): Promise<Foreground> {
  // script(1) makes the terminal. It also ends the line of a command with a carriage return.
  const child = spawn('script', ['-qefc', `set -euo pipefail\n${commands}`, '/dev/null'], {
    cwd,
    env: { ...env, SHELL: '/bin/bash' },
  });
  child.stdin.on('error', () => undefined);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text.replaceAll('\r', '');
    });
  }
  const ended = once(child, 'close');
  const interrupt = async (): Promise<void> => {
    child.stdin.write(CTRL_C);
    await ended;
  };
  stopAtEnd(interrupt);
  const deadline = Date.now() + START_PATIENCE_MS;
  while (!printed.includes(ready)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${commands}\nis not ready:\n${printed}`);
    await sleep(20);
  }
  return { output: () => printed, interrupt };
}

/** Also works for a shell that has ended, since programs that it left in the background go on. */
async function endGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined) return;
  const closed = child.stdout.closed && child.stderr.closed ? undefined : once(child, 'close');
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has no process any more.
  }
  await closed;
}
