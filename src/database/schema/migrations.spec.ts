import { describe, expect, it } from '@jest/globals';
import { describeSuperseded, KNOWN_MIGRATIONS, newerOf, supersededOf } from './migrations.js';

/** Applied by commits that gave each change a migration of its own. */
const STEP = 'EventLog1763683200001';
/** Applied by commits that had one migration a topic, before the topics were as they are now. */
const TOPIC = 'Claims1795651200007';

describe('a database of a version before 1.0', () => {
  it.each([STEP, TOPIC])('is told by its migration %s, and not taken for one of a newer version', (name) => {
    expect([supersededOf([name, ...KNOWN_MIGRATIONS]), newerOf([name])]).toEqual([name, undefined]);
  });

  it('is refused with the last commit that migrates it, if there is one, and with the commands that move its data', () => {
    const wayOut = '. `tunnel-access audit export --all` of this version reads it, and `audit import` writes the file';
    expect(describeSuperseded(STEP)).toContain(
      `(${STEP}), which this version does not migrate; commit 2222aa4 is the last that does${wayOut}`,
    );
    expect(describeSuperseded(TOPIC)).toContain(`(${TOPIC}), which this version does not migrate${wayOut}`);
  });

  it('is none if its migrations are those of this version', () => {
    expect(supersededOf(KNOWN_MIGRATIONS)).toBeUndefined();
  });
});
