import { type AcceptedKey, type KeyAnswer, type LogRecord, SSHD } from './log-lines.js';
import { findWriter, isRunning, type SshdProcess } from './processes.js';
import { childOf, SessionBinds } from './session-binds.js';

/** A client that is logged in, with the key command's answers at its login. */
export interface Session {
  readonly process: SshdProcess;
  readonly source: string;
  /** One or more: sshd asks twice at a login and enforces the second answer, but the log may have them in any order. */
  readonly answers: readonly KeyAnswer[];
  readonly binds: SessionBinds;
}

/** What the log says about one process of sshd. */
interface Login {
  readonly process: SshdProcess;
  /** The distinct answers, by fingerprint. */
  readonly answers: Map<string, readonly KeyAnswer[]>;
  readonly binds: SessionBinds;
  accepted?: AcceptedKey;
  /** The process that serves the client. */
  child?: number;
}

const MIN_PRUNED = 200;

/** The live sessions of the gateway. A session is known once one sshd process has asked about a key and accepted it. */
export class Sessions {
  private readonly logins = new Map<number, Login>();
  private readonly byChild = new Map<number, Login>();
  private pruneAt = MIN_PRUNED;

  /** Returns the session, if this line makes it known or adds an answer. The lines of a login may come in any order. */
  take(line: KeyAnswer | AcceptedKey): Session | undefined {
    const login = this.loginOf(line);
    if (login === undefined) return undefined;
    const known = sessionOf(login)?.answers.length;
    if (line.kind === 'accepted') login.accepted = line;
    else addAnswer(login, line);
    const session = sessionOf(login);
    return session?.answers.length === known ? undefined : session;
  }

  /** Takes a line about what a session does after its login. Returns the session that has a bind by this line. */
  takeBind(record: LogRecord): Session | undefined {
    const child = childOf(record);
    if (child !== undefined) this.serves(child, this.loginOf(record));
    const login = SSHD.includes(record.program) ? this.byChild.get(record.pid) : undefined;
    return login?.binds.take(record.message) === true ? sessionOf(login) : undefined;
  }

  live(): Session[] {
    for (const login of this.logins.values()) if (!isRunning(login.process)) this.forget(login);
    return [...this.logins.values()].flatMap((login) => sessionOf(login) ?? []);
  }

  /** Undefined if the process has ended, or another one now has its id. */
  private loginOf(line: Pick<LogRecord, 'at' | 'pid'>): Login | undefined {
    const process = findWriter(line);
    if (process === undefined) return undefined;
    const known = this.logins.get(process.pid);
    if (known?.process.start === process.start) return known;
    if (this.logins.size >= this.pruneAt) {
      this.live();
      this.pruneAt = Math.max(MIN_PRUNED, 2 * this.logins.size);
    }
    if (known !== undefined) this.forget(known);
    const login = { process, answers: new Map(), binds: new SessionBinds() };
    this.logins.set(process.pid, login);
    return login;
  }

  private serves(child: number, login: Login | undefined): void {
    if (login === undefined) return;
    login.child = child;
    this.byChild.set(child, login);
  }

  private forget(login: Login): void {
    this.logins.delete(login.process.pid);
    if (login.child !== undefined && this.byChild.get(login.child) === login) this.byChild.delete(login.child);
  }
}

function addAnswer({ answers }: Login, answer: KeyAnswer): void {
  const known = answers.get(answer.fingerprint) ?? [];
  const said = ({ credentials, options }: KeyAnswer): string => JSON.stringify([credentials, options]);
  if (known.some((other) => said(other) === said(answer))) return;
  answers.set(answer.fingerprint, [...known, answer]);
}

function sessionOf({ process, answers, binds, accepted }: Login): Session | undefined {
  const answersForKey = accepted && answers.get(accepted.fingerprint);
  if (accepted === undefined || answersForKey === undefined) return undefined;
  return { process, source: accepted.source, answers: answersForKey, binds };
}
