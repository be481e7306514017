import { requireTools } from './debian-packages.mjs';
import globalSetup from './global-setup.mjs';

/** Programs of the system that the end-to-end tests need, each with its Debian package. */
const TOOLS = [
  ['bash', 'bash'],
  ['curl', 'curl'],
  ['ssh-keygen', 'openssh-client'],
  ['ssh', 'openssh-client'],
  ['sshd', 'openssh-server'],
  ['ip', 'iproute2'],
  ['openssl', 'openssl'],
  ['git', 'git'],
  ['dbclient', 'dropbear-bin'],
  ['plink', 'putty-tools'],
  ['/usr/lib/python3/dist-packages/paramiko', 'python3-paramiko'],
  ['go', 'golang-go'],
  ['/usr/share/gocode/src/golang.org/x/crypto/ssh', 'golang-golang-x-crypto-dev'],
  ['/usr/share/gocode/src/golang.org/x/mod/sumdb/tlog', 'golang-golang-x-mod-dev'],
  ['haproxy', 'haproxy'],
  ['caddy', 'caddy'],
  ['pg_createcluster', 'postgresql'],
  ['pgbackrest', 'pgbackrest'],
  ['script', 'bsdutils'],
  ['systemd-analyze', 'systemd'],
  ['promtool', 'prometheus'],
  ['docker-compose', 'docker-compose'],
  ['chromium', 'chromium'],
  ['chromedriver', 'chromium-driver'],
  ['fail2ban-regex', 'fail2ban'],
  ['/usr/lib/python3/dist-packages/systemd', 'python3-systemd'],
];

// biome-ignore lint/style/noDefaultExport: the form in which Jest loads a global setup
export default async function globalSetupE2e() {
  requireTools(TOOLS);
  await globalSetup();
}
