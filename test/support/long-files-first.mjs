import Sequencer from '@jest/test-sequencer';

/**
 * The test files that take longest on two cores, longest first. Jest itself sorts by size, but these files are short.
 */
const LONG_FILES = [
  'e2e/tour',
  'e2e/operating',
  'e2e/query-plans',
  'e2e/query-plans-debian',
  'e2e/hostile-messages',
  'e2e/own-gateway-binds',
  'e2e/own-gateway-outage',
  'e2e/start',
  'e2e/embedded-postgres',
  'e2e/operations',
  'e2e/sshd-reaper',
  'projections',
  'forgeries',
  'program/start',
  'program/settings',
  'program/repair-stopped',
  'faults/own-gateway',
  'faults/kills',
  'faults/silence',
  'faults/double-failure',
];

const placeOf = ({ path }) => {
  const place = LONG_FILES.findIndex((file) => path.endsWith(`/test/${file}.spec.ts`));
  return place < 0 ? LONG_FILES.length : place;
};

/** Runs the long files first. If one began last, its worker would work alone at the end. */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a sequencer
export default class LongFilesFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
