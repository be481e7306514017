import type { AcceptedKey, KeyAnswer } from './log-lines.js';
import { findWriter, isRunning, type SshdProcess } from './processes.js';

/** A client that is logged in, with the key command's answers at its login. */
export interface Session {
  readonly process: SshdProcess;
  readonly source: string;
  /** When sshd let it in, in milliseconds since 1970. */
  readonly since: number;
  /** One or more: sshd asks twice at a login and enforces the second answer, but the log may have them in any order. */
  readonly answers: readonly KeyAnswer[];
}

/** What the log says about one process of sshd. */
interface Login {
  readonly process: SshdProcess;
  /** The distinct answers, by fingerprint. */
  readonly answers: Map<string, readonly KeyAnswer[]>;
  accepted?: AcceptedKey & { readonly at: number };
}

const MIN_PRUNED = 200;

/** The live sessions of the gateway. A session is known once one sshd process has asked about a key and accepted it. */
export class Sessions {
  private readonly logins = new Map<number, Login>();
  private pruneAt = MIN_PRUNED;

  /** Returns the session, if this line makes it known or adds an answer. The lines of a login may come in any order. */
  take(line: KeyAnswer | AcceptedKey): Session | undefined {
    const login = this.loginOf(line);
    if (login === undefined) return undefined;
    const known = sessionOf(login)?.answers.length;
    if (line.kind === 'accepted') login.accepted = { ...line, at: line.at ?? Date.now() };
    else addAnswer(login, line);
    const session = sessionOf(login);
    return session?.answers.length === known ? undefined : session;
  }

  live(): Session[] {
    for (const [pid, { process }] of this.logins) {
      if (!isRunning(process)) this.logins.delete(pid);
    }
    return [...this.logins.values()].flatMap((login) => sessionOf(login) ?? []);
  }

  /** Undefined if the process has ended, or another one now has its id. */
  private loginOf(line: KeyAnswer | AcceptedKey): Login | undefined {
    const process = findWriter(line);
    if (process === undefined) return undefined;
    const known = this.logins.get(process.pid);
    if (known?.process.start === process.start) return known;
    if (this.logins.size >= this.pruneAt) {
      this.live();
      this.pruneAt = Math.max(MIN_PRUNED, 2 * this.logins.size);
    }
    const login = { process, answers: new Map() };
    this.logins.set(process.pid, login);
    return login;
  }
}

function addAnswer({ answers }: Login, answer: KeyAnswer): void {
  const known = answers.get(answer.fingerprint) ?? [];
  const said = ({ credentials, options }: KeyAnswer): string => JSON.stringify([credentials, options]);
  if (known.some((other) => said(other) === said(answer))) return;
  answers.set(answer.fingerprint, [...known, answer]);
}

function sessionOf({ process, answers, accepted }: Login): Session | undefined {
  const answersForKey = accepted && answers.get(accepted.fingerprint);
  if (accepted === undefined || answersForKey === undefined) return undefined;
  return { process, source: accepted.source, since: accepted.at, answers: answersForKey };
}
