// `node .ci/suites.mjs COMMIT`: prints the suites that the changes since this commit ask for, a line each: the project of
// Jest, and a pattern of its files. Without a commit, or with one that is unknown here, it prints every suite whole.
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

/** The suites that `npm test` and `npm run test:program` do not have. */
export const PROJECTS = ['console', 'e2e', 'faults', 'ha', 'load'];

/** One journey through the real programs for each row of "What always holds". Every run has it. */
export const JOURNEYS = ['e2e', 'journeys'];

/** What a changed path asks for: a pattern of paths, a project, and a pattern of its files. */
export const ROOMS = [
  ['^src/(gateway/[^/]+$|kernel/)', 'e2e', 'own-gateway-(binds|edges\\.spec|rights)|with-gateway'],
  ['^src/(gateway/context|kernel)/', 'e2e', 'own-gateway-(limits|shares)|alerts'],
  ['^src/gateway/edges/', 'e2e', 'own-gateway-(edges|labels)'],
  ['^src/gateway/http/', 'e2e', 'own-gateway-(http|names|caddy)'],
  ['^src/gateway/log/', 'e2e', 'own-gateway-log|fail2ban'],
  ['^src/gateway/protocol/', 'e2e', 'hostile-(messages|mutations|connections)|gateway-bytes|own-gateway-clients'],
  ['^src/gateway/protocol/security-key', 'e2e', 'own-gateway-security-keys'],
  ['^src/gateway/proxy-protocol/', 'e2e', 'own-gateway-balancer'],
  ['^src/gateway/(records|sessions)/', 'e2e', 'own-gateway-sessions'],
  ['^src/gateway/rights/', 'e2e', 'own-gateway-(rights|outage)|reservations'],
  ['^src/gateway/ssh/', 'e2e', 'own-gateway-(binds|hostile|labels|login)|hostile-connections'],
  ['^src/gateway/ssh/(limits|client-channels)', 'e2e', 'own-gateway-limits'],
  ['^src/gateway/tunnels/', 'e2e', 'own-gateway-(binds|take-over)|gateway-bytes'],
  ['^src/gateway/([^/]+$|rights|sessions|records)', 'faults', 'own-gateway|tunnel-sessions'],
  ['^src/gateway/http/', 'load', 'names'],
  ['^src/rules/bind-rules/', 'e2e', 'own-gateway-binds|sshd-gateway\\.spec'],
  ['^src/rules/(ip-rules|traffic-policy)/', 'e2e', 'own-gateway-edges'],
  ['^src/rules/[^/]+$', 'e2e', 'own-gateway-(binds|names)'],
  ['^src/rules/public-keys/', 'e2e', 'public-key-oracle|authorized-keys-command'],
  ['^src/api/gateway-api/', 'e2e', 'own-gateway-(rights|sessions|outage|edges)|sshd-gateway|authorized-keys-command'],
  ['^src/api/gateway-api/', 'faults', 'tunnel-sessions'],
  ['^src/api/(http/(openapi/|documentation)|config/)', 'e2e', 'docs-page'],
  ['^src/api/(reservations|gateway-api)/', 'e2e', 'reservations'],
  ['^(docs/enrolment\\.md|src/api/(enrollment-keys|caller)/)', 'e2e', 'enrolment'],
  ['^src/api/enrollment-keys/', 'load', 'enrolments'],
  ['^src/api/(http|resources|audit|tunnel-sessions)/', 'load', 'neighbours|followers'],
  ['^(src/(api/audit|event-log/transparency)/|docs/verify-tiles\\.go)', 'e2e', 'tile-verifier'],
  ['^src/operator/sshd-reaper/', 'e2e', 'sshd'],
  ['^src/operator/import/', 'e2e', 'import'],
  ['^src/operator/doctor/', 'e2e', 'doctor'],
  ['^src/operator/doctor/', 'faults', 'doctor'],
  ['^src/operator/(run-on-database|audit/)', 'faults', 'reading-commands'],
  ['^src/operator/data\\.command', 'e2e', 'data-remove'],
  ['^src/operator/(audit|projections)/', 'e2e', 'moving|digests|upgrade'],
  ['^src/operator/(run-on-database|until-stopped|audit/(tail\\.command|log-tail))', 'e2e', 'operations\\.spec'],
  ['^src/(operator/start/|main\\.ts|database/embedded/)', 'e2e', 'start|with-gateway|operations\\.spec'],
  ['^src/database/embedded/', 'e2e', 'embedded-postgres|data-remove'],
  ['^src/event-log/([^/]+$|append|claims)', 'load', 'laws|interrupted-deletions'],
  ['^src/event-log/(fold|verify)/', 'load', 'laws|repair'],
  ['^src/event-log/(read|records|transfer|transparency|verify)/', 'load', 'large-logs|line-readers'],
  ['^src/event-log/read/', 'load', 'followers'],
  ['^src/event-log/', 'e2e', 'digests|upgrade'],
  ['^src/(event-log/append/|database/(connection/|[^/]+$))', 'faults', 'kills|double-failure|disk-full'],
  ['^src/database/(connection/|[^/]+$)', 'faults', 'incidents|silence|pgbouncer|refused-connections|standby|tls'],
  ['^(src/database/(schema/|role-defaults)|migrations/)', 'faults', 'catalog|least-rights'],
  ['^src/database/schema/', 'e2e', 'upgrade'],
  ['^migrations/', 'e2e', 'query-plans|upgrade'],
  [
    '^(README\\.md|docs/(tour|audit|evidence|gateways|keys-and-rules|own-gateway)\\.md|src/operator/verbs/)',
    'e2e',
    'tour',
  ],
  ['^(console/|test/support/console|src/api/console/)', 'console', ''],
  ['^src/api/(caller|tunnel-sessions|ssh-credentials)/', 'console', 'console'],
  ['^src/api/gateway-api/(checks|records)/', 'console', 'why-and-when'],
  ['^(docs/audit\\.md|src/api/audit/)', 'e2e', 'audit-questions'],
  ['^docs/(operating|backup|monitoring|database)', 'e2e', 'operating|alerts|systemd'],
  ['^docs/(logs|operating)', 'e2e', 'fail2ban'],
  ['^docs/backup', 'e2e', 'moving'],
  ['^docs/failover/', 'ha', ''],
  ['^docs/http-by-name', 'e2e', 'own-gateway-caddy'],
  ['^docs/(sshd-gateway|gateways|own)', 'e2e', 'sshd-guide|systemd|sshd-gateway'],
  ['^(package(-lock)?\\.json|Dockerfile|docker-compose\\.yml|\\.dockerignore)', 'e2e', 'package|container|start'],
];

/** A line of SQL. To read the plans of all statements takes minutes, so a change of the service asks for it only with one. */
export const SQL = '[$][0-9]|select |insert into|delete from|order by';

/** The suites of these paths: for each project the patterns of its files, '' for all of them. `sql`: those whose SQL changed. */
export function suitesOf(paths, sql = []) {
  const patterns = new Map([[JOURNEYS[0], new Set([JOURNEYS[1]])]]);
  const add = (project, files) => patterns.set(project, (patterns.get(project) ?? new Set()).add(files));
  if (sql.some((path) => path.startsWith('src/'))) add('e2e', 'query-plans');
  for (const path of paths) {
    // A test or a README beside the code changes no program: `npm test` reads them.
    if (/^src\/.*(\.spec\.ts|\/README\.md)$/.test(path)) continue;
    for (const [room, project, files] of ROOMS) if (new RegExp(room).test(path)) add(project, files);
    const [, project, file] = /^test\/(console|e2e|faults|ha|load)\/([a-z0-9-]+)\.spec\.ts$/.exec(path) ?? [];
    if (project !== undefined) add(project, file);
  }
  return [...patterns].map(([project, files]) => [project, files.has('') ? '' : [...files].join('|')]);
}

/** Undefined if git does not know the commit. */
function changedSince(commit, ...lines) {
  const { status, stdout } = spawnSync('git', ['diff', '--name-only', ...lines, commit, 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(Boolean) : undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , commit] = process.argv;
  const paths = commit ? changedSince(commit) : undefined;
  const suites =
    paths === undefined ? PROJECTS.map((project) => [project, '']) : suitesOf(paths, changedSince(commit, `-G${SQL}`));
  console.log(suites.map(([project, files]) => `${project} ${files}`.trim()).join('\n'));
}
