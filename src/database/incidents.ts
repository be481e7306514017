import { DatabaseError, type Pool } from 'pg';
import { messageOf } from '../kernel/error-message.js';
import { POOLER_ADVICE, PostgresFailure } from './failure.js';
import { type NamedStatement, queryNamed, WRITE_LIMITS } from './query.js';

type Kind = 'database' | 'disk' | 'pooler';

interface Incident {
  readonly kind: Kind;
  readonly sentence: string;
}

const PROBE_EVERY_MS = 1_000;
/**
 * An incident ends only after this time without a failure: with too many connections, for example, some probes still
 * succeed.
 */
const QUIET_MS = 5_000;
/** Writes as much as some changes do, and then removes it. */
const TRY_TO_WRITE = `create temporary table tunnel_access_disk on commit drop as
  select repeat(md5(random()::text), 8) as text from generate_series(1, 1000)`;

/** Statements that succeed once the incident is over. An incident without a probe lasts until the next start. */
const PROBES: Readonly<Record<Kind, NamedStatement | undefined>> = {
  database: { name: 'try_to_read', text: 'select 1' },
  disk: { name: 'try_to_write', text: TRY_TO_WRITE },
  pooler: undefined,
};

/**
 * Failures that last and need a person. The log gets one error when an incident begins and one line of `info` when it
 * is over, however many requests fail in between.
 */
export class Incidents {
  private readonly open = new Map<Kind, { readonly since: number; lastFailure: number }>();

  constructor(
    private readonly pool: Pool,
    private readonly log: { error(line: string): void; log(line: string): void },
  ) {}

  /** Takes the error of a failed request or of failed background work. Returns whether the error is an incident. */
  failed(error: unknown): boolean {
    const incident = incidentOf(error) ?? incidentOf(error instanceof Error ? error.cause : undefined);
    if (incident === undefined) return false;
    const known = this.open.get(incident.kind);
    if (known === undefined) this.begin(incident);
    else known.lastFailure = performance.now();
    return true;
  }

  /** Why no change can be written now. */
  get cannotWrite(): string | undefined {
    return this.open.has('disk') ? 'cannot write: the disk of the database is full' : undefined;
  }

  private begin({ kind, sentence }: Incident): void {
    const since = performance.now();
    this.open.set(kind, { since, lastFailure: since });
    this.log.error(sentence);
    this.probe(kind);
  }

  private probe(kind: Kind): void {
    const [incident, statement] = [this.open.get(kind), PROBES[kind]];
    if (incident === undefined || statement === undefined) return;
    setTimeout(async () => {
      if (this.pool.ended) return;
      const isOver = await queryNamed(this.pool, statement, [], WRITE_LIMITS).then(() => true, isAnswer);
      if (isOver && performance.now() - incident.lastFailure > QUIET_MS) this.end(kind, incident.since);
      else this.probe(kind);
    }, PROBE_EVERY_MS).unref();
  }

  private end(kind: Kind, since: number): void {
    if (!this.open.delete(kind)) return;
    const seconds = ((performance.now() - since) / 1000).toFixed(0);
    this.log.log(`${kind === 'disk' ? 'changes are written' : 'the database answers'} again, after ${seconds} s`);
  }
}

/**
 * A role that may not make temporary tables gets this answer, and then the failures of changes tell of the disk alone.
 * An error of another severity refuses the connection, which is no answer to the statement.
 */
const isAnswer = (error: unknown): boolean =>
  error instanceof DatabaseError && error.severity === 'ERROR' && PostgresFailure.of(error).lacksPrivilege;

function incidentOf(error: unknown): Incident | undefined {
  const failure = PostgresFailure.of(error);
  if (failure.isLostStatement) return { kind: 'pooler', sentence: POOLER_ADVICE };
  if (failure.isDiskFull)
    return { kind: 'disk', sentence: 'the disk of the database is full: no change is written until there is space' };
  if (failure.isConnectionLoss)
    return { kind: 'database', sentence: `the database does not answer: ${messageOf(error)}` };
  return undefined;
}
