import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * `npm run test:ha`: installs what the tests need, then runs Jest in namespaces of its own. Every process, address, file
 * and data directory of the tests is in there, so the kernel removes them all when the run ends, however it ends.
 */
const SCRIPT = new URL('lab.sh', import.meta.url).pathname;
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Programs that the tests run, each with its Debian package. */
const TOOLS = [
  ['/usr/bin/patroni', 'patroni'],
  ['/usr/lib/python3/dist-packages/etcd/__init__.py', 'python3-etcd'],
  ['/usr/bin/etcd', 'etcd-server'],
  ['/usr/sbin/haproxy', 'haproxy'],
  ['/usr/sbin/pgbouncer', 'pgbouncer'],
  ['/usr/lib/postgresql/15/bin/postgres', 'postgresql-15'],
  ['/usr/bin/psql', 'postgresql-client-common'],
  ['/usr/sbin/ip', 'iproute2'],
  ['/usr/bin/setpriv', 'util-linux'],
];
/** Debian's packages run it before they start an installed service; 101 forbids the start. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';
/** Read by the PostgreSQL package when it is installed: without this line it would make a cluster and start it. */
const NO_CLUSTER_FILE = '/etc/postgresql-common/createcluster.d/tunnel-access-tests.conf';
const NO_CLUSTER = 'create_main_cluster = false\n';

function missingPackages() {
  return [...new Set(TOOLS.filter(([file]) => !existsSync(file)).map(([, debianPackage]) => debianPackage))];
}

function install(packages) {
  const byHand =
    `The tests with Patroni need Debian 12 and its packages ${packages.join(', ')}; as root: ` +
    `apt-get update && apt-get install --no-install-recommends ${packages.join(' ')}`;
  if (!existsSync('/usr/bin/apt-get')) fail(byHand);
  const undo = [forbid(SERVICE_POLICY, '#!/bin/sh\nexit 101\n')];
  execFileSync('mkdir', ['-p', '/etc/postgresql-common/createcluster.d']);
  undo.push(forbid(NO_CLUSTER_FILE, NO_CLUSTER));
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  try {
    execFileSync('apt-get', ['update', '-qq'], options);
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], options);
  } catch (error) {
    fail(`${byHand} (apt-get failed: ${error.message})`);
  } finally {
    for (const step of undo) step();
  }
}

/** Writes a file that forbids something during an installation. Returns a function that permits it again. */
function forbid(file, text) {
  if (existsSync(file)) return () => undefined;
  writeFileSync(file, text, { mode: 0o755 });
  return () => rmSync(file);
}

function demandNamespaces() {
  try {
    execFileSync('unshare', [...NAMESPACES, 'true'], { stdio: 'pipe' });
  } catch (error) {
    const why = String(error.stderr ?? error).trim();
    fail(`The tests with Patroni need namespaces (in a container: --privileged), and here making them failed: ${why}`);
  }
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}

if (process.platform !== 'linux' || process.getuid() !== 0) {
  fail('The tests with Patroni make network namespaces, which takes Linux and root: sudo npm run test:ha');
}
const missing = missingPackages();
if (missing.length > 0) install(missing);
demandNamespaces();
// If this process dies, so does unshare, and with it the first process of the namespaces, which ends all others.
const lab = spawn(
  'setpriv',
  ['--pdeathsig', 'KILL', 'unshare', ...NAMESPACES, 'bash', SCRIPT, process.execPath, ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    lab.kill('SIGKILL');
    process.exit(128 + constants.signals[signal]);
  });
}
lab.on('exit', (code) => process.exit(code ?? 1));
