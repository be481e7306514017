import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { ConsolePage, openChromium } from '../support/console-page.js';
import { REPOSITORY } from '../support/documents.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { addUser } from '../support/principals.js';
import { ADMIN_KEY } from '../support/service.js';
import { dataDir, useStarts } from '../support/starts.js';
import { startInForeground } from '../support/terminal.js';

/** Edges and what is behind them, people and keys, and the link of a start: in a real Chromium. */
let own: OwnGateway;
let browser: Browser;
let tab: ConsolePage;
useStarts();
beforeAll(async () => {
  own = await OwnGateway.start();
  browser = await openChromium();
}, 120_000);
afterEach(async () => {
  await tab?.close();
});

const openAs = async (key: string, options = {}): Promise<ConsolePage> => {
  tab = await ConsolePage.openAs(browser, own.service.app.url, key, options);
  return tab;
};
const made = async (path: string, body: object): Promise<string> => {
  const answer = await own.service.admin.post(path, body);
  expect(answer.status).toBe(201);
  return answer.body.id;
};

/** One of each kind that a page shows, by the address of its page and its heading. */
async function oneOfEach(word: string): Promise<readonly (readonly [hash: string, heading: string])[]> {
  const group = await made('/backends/tunnel_group', { description: `group ${word}`, labels: { app: word } });
  const policy = await made('/ip_policies', { description: `policy ${word}` });
  await made('/ip_policy_rules', { ip_policy_id: policy, cidr: '10.0.0.0/8', action: 'allow' });
  const edge = await made('/edges/tcp', {
    ...{ description: `edge ${word}`, hostports: [`127.0.0.1:${await freePort('127.0.0.1')}`] },
    ...{ backend: { backend_id: group }, ip_restriction: { ip_policy_ids: [policy] } },
  });
  const bot = await made('/bot_users', { name: `bot ${word}` });
  return [
    ['#/edges', 'Edges'],
    [`#/edges/${edge}`, `edge ${word}`],
    ['#/groups', 'Tunnel groups'],
    [`#/groups/${group}`, `group ${word}`],
    ['#/policies', 'IP policies'],
    [`#/policies/${policy}`, `policy ${word}`],
    ['#/people', 'Users and bots'],
    ['#/people?kind=bots', 'Users and bots'],
    [`#/people/${bot}`, `bot ${word}`],
    ['#/keys', 'API keys'],
  ];
}

describe('an edge', () => {
  it('is made over a group and an IP policy, tells whom it lets in, loses a module, and is deleted', async () => {
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo('#/groups', 'Tunnel groups');
    await page.getByRole('link', { name: 'Add a group' }).click();
    await page.getByLabel('Name of the group').fill('shops');
    await page.getByLabel('Labels').fill('app=shop');
    await page.getByRole('button', { name: 'Add the group' }).click();
    await page.getByRole('heading', { level: 1, name: 'shops' }).waitFor();
    await tab.goTo('#/policies/new', 'Add an IP policy');
    await page.getByLabel('Name of the policy').fill('offices');
    await page.getByRole('button', { name: 'Add the policy' }).click();
    await page.getByRole('heading', { level: 1, name: 'offices' }).waitFor();
    await page.getByLabel('Network or address').fill('10.0.0.1/8');
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Network or address').fill('10.0.0.0/8');
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await page.getByRole('cell').getByText('10.0.0.0/8').waitFor();

    const hostport = `127.0.0.1:${await freePort('127.0.0.1')}`;
    await tab.goTo('#/edges/new', 'Add an edge');
    await page.getByLabel('Name of the edge').fill('shop of Graz');
    await page.getByLabel('Serves').fill(hostport);
    await page.getByLabel('Sends to').selectOption('shops');
    await page.getByLabel('offices').check();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Add the edge' }).click();
    await page.getByRole('heading', { level: 1, name: 'shop of Graz' }).waitFor();
    for (const [address, answer] of [
      ['10.1.2.3', 'Yes. A rule allows it. allow 10.0.0.0/8'],
      ['192.0.2.1', 'No. No rule allows it.'],
    ] as const) {
      await page.getByLabel('Address of a visitor').fill(address);
      await page.getByRole('button', { name: 'Ask' }).click();
      await page.getByText(answer).waitFor();
    }
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('offices').uncheck();
    await page.getByLabel('Ends,').fill('2031-03-01T12:00:00');
    await page.getByLabel('Traffic policy').fill('{"on_tcp_connect":[{"actions":[{"type":"deny"}]}]}');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Every address: it has no IP restriction').waitFor();
    await page.getByText(/^Ends in \d+ d/).waitFor();
    await page.getByLabel('Address of a visitor').fill('192.0.2.1');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('The traffic policy keeps it out').waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText(`${hostport} serves nothing`).waitFor();
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Edges' }).waitFor();
    const { body } = await own.service.admin.get('/edges/tcp');
    expect(body.tcp_edges.map(({ description }: { description: string }) => description)).not.toContain('shop of Graz');
  }, 60_000);

  it('shows through its group which tunnels serve it, as they come', async () => {
    const pages = await oneOfEach('live');
    const { page } = await openAs(ADMIN_KEY);
    const [hash, heading] = pages[3] ?? ['', ''];
    await tab.goTo(hash, heading);
    await page.getByText('behind edge live').waitFor();
    await page.getByText('No tunnel that you may see').waitFor();
    const key = await own.newCredential('bind:app=live');
    await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description: 'till-live' });
    const login = await own.bind(key, 'app=live:0');
    await page.getByRole('cell', { name: 'till-live' }).waitFor();
    await login.close();
  }, 60_000);
});

describe('people and keys', () => {
  it('a token is shown once, by keyboard, and in no address; its key signs in until it is deleted', async () => {
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo('#/keys/new', 'Add an API key');
    await page.getByLabel('What it is for').fill('of the pipeline');
    // The key is made before its expiry is refused, and a second try makes no second key.
    await page.getByLabel('Expires').fill('2020-03-01T12:00:00');
    await page.getByRole('button', { name: 'Add the key' }).click();
    await page.getByRole('alert').getByText('is in the past').waitFor();
    await page.getByLabel('Expires').fill('2031-03-01T12:00:00');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Copy the token now' }).waitFor();
    const token = (await page.locator('main code').textContent()) ?? '';
    expect(page.url()).not.toContain(token);
    expect(await tab.axeFaults()).toEqual([]);
    await page.getByRole('link', { name: 'I have it' }).click();
    await page.getByRole('heading', { level: 1, name: 'of the pipeline' }).waitFor();
    await page.getByText('Expiry set').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Add an API key' }).waitFor();
    expect(await page.content()).not.toContain(token);
    const other = await ConsolePage.openAs(browser, own.service.app.url, token);
    await other.goTo('#/keys', 'API keys');
    const row = other.page.getByRole('row').filter({ hasText: 'of the pipeline' });
    await row.getByText('signed in here').waitFor();
    expect(await row.count()).toBe(1);
    await row.getByRole('link').click();
    await other.page.getByRole('button', { name: 'Delete' }).click();
    await other.page.getByRole('dialog').getByText('it signs out').waitFor();
    await other.page.getByRole('button', { name: 'Delete it' }).click();
    await other.page.getByText('no longer takes this key').waitFor();
    await other.close();
  }, 60_000);

  it('a user gets a role, and is deleted only when its name is typed', async () => {
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo('#/people/new', 'Add a user');
    await page.getByLabel('Email address').fill('ada@example.com');
    await page.getByRole('button', { name: 'Add the user' }).click();
    await page.getByRole('heading', { level: 1, name: 'ada@example.com' }).waitFor();
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Role').selectOption('auditor');
    await page.getByLabel('State').selectOption('inactive');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('inactive', { exact: true }).waitFor();
    await page.getByText('- member').waitFor();
    await page.getByText('+ auditor').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('SSH credentials (0)').waitFor();
    await page.getByLabel('Type ada@example.com').fill('ada@example');
    expect(await dialog.getByRole('button', { name: 'Delete it' }).isDisabled()).toBe(true);
    await page.getByLabel('Type ada@example.com').fill('ada@example.com');
    expect(await tab.axeFaults()).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Users and bots' }).waitFor();
    expect(await page.getByText('ada@example.com').count()).toBe(0);
  }, 60_000);

  it('a bot is made an admin', async () => {
    const { page } = await openAs(ADMIN_KEY);
    await tab.goTo('#/people/new?kind=bots', 'Add a bot');
    await page.getByLabel('Name of the bot').fill('deployer');
    await page.getByLabel('Role').selectOption('admin');
    await page.getByRole('button', { name: 'Add the bot' }).click();
    await page.getByRole('heading', { level: 1, name: 'deployer' }).waitFor();
    await page.getByText('Role: admin').waitFor();
    await page.getByText('Role set').waitFor();
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Role').selectOption('member');
    await page.getByLabel('Name of the bot').fill('deployer of Graz');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Role: member').waitFor();
    await page.getByRole('heading', { level: 1, name: 'deployer of Graz' }).waitFor();
  }, 60_000);
});

it.each(['admin', 'member', 'auditor'] as const)(
  'as %s every place is in order: axe finds nothing, no call is refused, and it fits a phone',
  async (role) => {
    const pages = await oneOfEach(`of ${role}`);
    const user = await addUser(own.service, role);
    const { page } = await openAs(user.client.token ?? '', { viewport: { width: 375, height: 700 } });
    const then = encodeURIComponent(new Date(Date.now() - 1).toISOString());
    const past = pages.map(
      ([hash, heading]) => [`${hash}${hash.includes('?') ? '&' : '?'}as_of=${then}`, heading] as const,
    );
    for (const [hash, heading] of [...pages, [`#/keys/${user.keyId}`, ''] as const, ...past]) {
      if (heading !== '') await tab.goTo(hash, heading);
      else await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.waitForLoadState('networkidle').catch(() => undefined);
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, 375]);
      const mayChange =
        role === 'admin' || (role === 'member' && !hash.includes('people')) ? !hash.includes('as_of') : false;
      await eventually(async () =>
        expect([hash, await page.getByRole('link', { name: /^(Add|Change)/ }).count()]).toEqual([
          hash,
          Number(mayChange),
        ]),
      );
      if (!hash.includes('as_of')) expect([hash, await tab.axeFaults()]).toEqual([hash, []]);
    }
    expect(tab.statuses.filter((status) => status >= 400)).toEqual([]);
  },
  180_000,
);

it('eight tabs at once are each read again within 10 s, and a change shows in all', async () => {
  const key = await own.newCredential('bind:app=eight');
  await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description: 'till-of-eight' });
  const tabs = [await openAs(ADMIN_KEY)];
  for (let n = 1; n < 8; n += 1) {
    const page = await tab.context.newPage();
    await page.goto(tab.url);
    await page.getByLabel('API key').fill(ADMIN_KEY);
    await page.keyboard.press('Enter');
    tabs.push(Object.assign(Object.create(tab), { page }));
  }
  const login = await own.bind(key, 'app=eight:0');
  for (const { page } of tabs) {
    await page.bringToFront();
    await page.getByText('app=eight').waitFor({ timeout: 10_000 });
  }
  await login.close();
}, 60_000);

describe('the link of a start', () => {
  it('signs in once and without a key to type; the sign-out deletes the key that it made', async () => {
    const port = await freePort('127.0.0.1');
    const env = { ...process.env, PORT: String(port), DATA_DIR: dataDir() } as Record<string, string>;
    const start = await startInForeground(`${process.execPath} dist/src/main.js`, 'next', {
      cwd: REPOSITORY,
      env,
    });
    const [link = ''] = /http\S+\/console#once=\S+/.exec(start.output()) ?? [];
    const service = `http://127.0.0.1:${port}`;
    expect(link.slice(0, link.indexOf('#'))).toBe(`${service}/console`);
    tab = await ConsolePage.open(browser, service);
    const { page } = tab;
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
    await page.getByText('admin@localhost · admin').waitFor();
    expect(page.url()).toBe(`${service}/console#/`);
    await tab.goTo('#/keys', 'API keys');
    const row = page.getByRole('row').filter({ hasText: 'Console, by the link of the start' });
    await row.getByText(/^in 1[12] h/).waitFor();
    const token = String(await page.evaluate(`sessionStorage.getItem('tunnel-access-key')`));
    const second = await ConsolePage.open(browser, service);
    await second.page.goto('about:blank');
    await second.page.goto(link);
    await second.page.getByText('The link works once').waitFor();
    await second.close();
    await page.getByRole('button', { name: 'Sign out' }).click();
    const caller = () => fetch(`${service}/caller`, { headers: { authorization: `Bearer ${token}` } });
    await eventually(async () => expect((await caller()).status).toBe(401));
    await start.interrupt();
  }, 120_000);
});
