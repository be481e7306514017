import { requireTools } from './debian-packages.mjs';

/** Servers that the tests of faults start, each with its Debian package. */
const TOOLS = [
  ['/usr/lib/postgresql/*/bin/pg_basebackup', 'postgresql'],
  ['pgbouncer', 'pgbouncer'],
];

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default function globalSetupFaults() {
  requireTools(TOOLS);
}
