import { expect, it } from '@jest/globals';
import { blocksOf } from '../support/documents.js';
import { openMachine } from '../support/machine.js';

/** From another address than the proxy's, with a header that only the proxy may set. */
const CREATE_BOT = `curl -s --interface 127.0.0.2 https://tunnels.example.com/bot_users -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' -H 'X-Forwarded-For: 192.0.2.9' -d '{"name": "deploy"}'`;
const SETTINGS = '--settings /etc/tunnel-access/settings';
const STATUS = `curl -s https://tunnels.example.com/users -H "Authorization: Bearer $API_KEY" -o /dev/null -w '%{http_code}'`;
/** The database at an address that is not loopback, although it is of this machine. */
const ELSEWHERE = `ip addr add 192.0.2.1/32 dev lo
CLUSTER=$(ls /usr/lib/postgresql | sort -n | tail -1)/main
echo 'host all all 192.0.2.1/32 scram-sha-256' >> "/etc/postgresql/$CLUSTER/pg_hba.conf"
runuser -u postgres -- psql -qc "alter system set listen_addresses = '*'"
systemctl restart postgresql
DATABASE_URL="\${DATABASE_URL/127.0.0.1/192.0.2.1}?sslmode=disable" node dist/src/operator/cli.js doctor`;

/** Whether the limit of the unit is in force, or all that this machine permits. */
const OPEN_FILES = `curl -s http://127.0.0.1:9465/metrics | grep -E "^process_max_fds (131072|$(ulimit -Hn))$"`;
const JAIL = 'until fail2ban-client status tunnel-gateway 2> /dev/null; do sleep 0.2; done';

it('an operator can set up, monitor, upgrade, back up and restore the service and its gateway with the commands of the operating pages', async () => {
  const terminal = await openMachine('operator.sh');
  await terminal.runAll(blocksOf('operating'));
  await terminal.run(`until [ "$(${STATUS})" = 200 ]; do sleep 0.2; done`);
  const bot = JSON.parse(await terminal.run(CREATE_BOT));
  expect(bot.uri).toMatch(/^https:\/\/tunnels\.example\.com\/bot_users\/bot_/);
  expect(await terminal.run(`node dist/src/operator/cli.js audit show ${bot.id} ${SETTINGS}`)).toContain(
    ' from 127.0.0.2 using ',
  );
  expect(await terminal.run(OPEN_FILES)).toMatch(/^process_max_fds \d+\n$/);
  expect(await terminal.run(JAIL)).toContain('Journal matches:\t_SYSTEMD_UNIT=tunnel-access-gateway.service');
  // The proxy of the document goes to the other instance.
  expect(await terminal.run('systemctl stop tunnel-access@8081')).toBe('');
  expect(await terminal.run(STATUS)).toBe('200');
  const warned = await terminal.run(ELSEWHERE);
  expect(warned).toMatch(/^warning +encryption +the connection to 192\.0\.2\.1 has no TLS: add \?sslmode=/m);
}, 600_000);
