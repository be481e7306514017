import type pg from 'pg';
import { Sealer } from '../../src/api/audit/evidence/sealer.js';
import { Incidents } from '../../src/database/incidents.js';
import { Evidence } from '../../src/event-log/transparency/evidence.js';
import type { KeyHistory } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { Checkpoints } from '../../src/event-log/transparency/seal/checkpoints.js';
import { LogAlarms } from '../../src/event-log/transparency/seal/log-alarms.js';
import { SealedLogs } from '../../src/event-log/transparency/seal/sealed-logs.js';

class SteppedSealer extends Sealer {
  step(): Promise<void> {
    return this.round();
  }
}

/** What an instance signs and proves, without HTTP. It looks at its logs when a test says so, and not every second. */
export function signingInstance(pool: pg.Pool, keys: KeyHistory) {
  const said: string[] = [];
  const logs = new SealedLogs(pool);
  const checkpoints = new Checkpoints(keys, new LogAlarms(pool), (line) => said.push(line));
  const sealer = new SteppedSealer(logs, checkpoints, new Incidents(pool, console));
  return {
    checkpoints,
    evidence: new Evidence(logs, checkpoints),
    /** The lines of its alarms. */
    said,
    /** Of two looks at one log, one compares its events with what was signed. */
    look: async (): Promise<void> => {
      for (let n = 0; n < 2; n += 1) await sealer.step();
    },
  };
}

export type SigningInstance = ReturnType<typeof signingInstance>;
