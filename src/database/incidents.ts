import type { Pool } from 'pg';
import { messageOf } from '../kernel/error-message.js';
import { POOLER_ADVICE, PostgresFailure } from './failure.js';

type Kind = 'database' | 'disk' | 'pooler';

interface Incident {
  readonly kind: Kind;
  readonly sentence: string;
}

const LOOK_EVERY_MS = 1_000;
/** A look may succeed between failures, when there are too many connections for example. So the failures must have ended too. */
const QUIET_MS = 5_000;
/** As much as some changes write. It is undone. */
const TRY_TO_WRITE = `create temporary table tunnel_access_disk as
  select repeat(md5(random()::text), 8) as text from generate_series(1, 1000); drop table tunnel_access_disk`;

/** A look succeeds once the incident is over. An incident of a kind that has no look lasts until the next start. */
const LOOKS: Readonly<Record<Kind, string | undefined>> = {
  database: 'select 1',
  disk: TRY_TO_WRITE,
  pooler: undefined,
};

/**
 * What lasts and needs a person: the log has an error when it begins and a line of `info` when it is over, however many
 * requests fail meanwhile.
 */
export class Incidents {
  private readonly open = new Map<Kind, { readonly since: number; lastFailure: number }>();

  constructor(
    private readonly pool: Pool,
    private readonly log: { error(line: string): void; log(line: string): void },
  ) {}

  /** Is told why a request or work in the background failed. Returns whether that is an incident. */
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
    this.lookAgain(kind);
  }

  private lookAgain(kind: Kind): void {
    const [incident, look] = [this.open.get(kind), LOOKS[kind]];
    if (incident === undefined || look === undefined) return;
    setTimeout(async () => {
      if (this.pool.ended) return;
      const isOver = await this.pool.query(look).then(
        () => true,
        // Another failure, such as a right that the look lacks, says nothing about the incident.
        (error) => incidentOf(error) === undefined,
      );
      if (isOver && performance.now() - incident.lastFailure > QUIET_MS) this.end(kind, incident.since);
      else this.lookAgain(kind);
    }, LOOK_EVERY_MS).unref();
  }

  private end(kind: Kind, since: number): void {
    if (!this.open.delete(kind)) return;
    const seconds = ((performance.now() - since) / 1000).toFixed(0);
    this.log.log(`${kind === 'disk' ? 'changes are written' : 'the database answers'} again, after ${seconds} s`);
  }
}

function incidentOf(error: unknown): Incident | undefined {
  const failure = PostgresFailure.of(error);
  if (failure.isLostStatement) return { kind: 'pooler', sentence: POOLER_ADVICE };
  if (failure.isDiskFull)
    return { kind: 'disk', sentence: 'the disk of the database is full: no change is written until there is space' };
  if (failure.isConnectionLoss)
    return { kind: 'database', sentence: `the database does not answer: ${messageOf(error)}` };
  return undefined;
}
