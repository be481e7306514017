import Sequencer from '@jest/test-sequencer';

/** Those that take longest on two cores, the longest first. Jest itself goes by size, and the longest are short texts. */
const LONG_FILES = [
  'e2e/tour',
  'e2e/operations-year',
  'e2e/operating',
  'e2e/hostile-messages',
  'e2e/own-gateway-binds',
  'e2e/own-gateway-outage',
  'e2e/start',
  'e2e/embedded-postgres',
  'e2e/operations',
  'e2e/sshd-reaper',
  'lost-tails',
  'evidence',
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

/** A worker that began a long file last would work alone at the end. */
// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a sequencer
export default class LongFilesFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
