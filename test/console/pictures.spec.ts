import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ConsolePage, openChromium } from '../support/console-page.js';
import { REPOSITORY } from '../support/documents.js';
import { exchange } from '../support/echo-target.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../support/free-port.js';
import { OwnGateway } from '../support/own-gateway.js';
import { ADMIN_KEY } from '../support/service.js';
import { logIn } from '../support/ssh-client.js';

/** Width and height stand at fixed places of a PNG. */
const sizeOf = (png: Buffer): readonly number[] => [png.readUInt32BE(16), png.readUInt32BE(20)];
const SIZE = { width: 1280, height: 720 };

/** `npm run pictures` sets it, and the picture of README is taken anew. */
const isWanted = process.env.ACCEPT_PICTURES === 'true';

it('the picture of README is one of the page, with devices that are there, refused and away', async () => {
  const own = await OwnGateway.start();
  const browser = await openChromium();
  const named = async (description: string, ...acl: string[]) => {
    const key = await own.newCredential(...acl);
    await own.service.admin.patch(`/ssh_credentials/${key.id}`, { description });
    return key;
  };
  /** An edge to one device, and what its visitors have sent. */
  const visited = async (app: string, bytes: number) => {
    const { body: group } = await own.service.admin.post('/backends/tunnel_group', { labels: { app } });
    const port = await freePort('127.0.0.1');
    await own.service.admin.post('/edges/tcp', { hostports: [`127.0.0.1:${port}`], backend: { backend_id: group.id } });
    await eventually(async () => expect(await exchange('127.0.0.1', port, Buffer.alloc(bytes))).toHaveLength(bytes));
  };
  const logins = [];
  for (const [name, app, bytes] of [
    ['till-017', 'till-017', 12_345],
    ['till-018', 'till-018', 345_678],
    ['kitchen-printer', 'kitchen', 56_789],
    ['camera-north', 'camera', 4_567_890],
  ] as const) {
    logins.push(await own.bind(await named(name, `bind:app=${app}`), `app=${app}:0`));
    await visited(app, bytes);
  }
  await named('till-019', 'bind:app=till');
  const away = await named('camera-south', 'bind:app=camera');
  await (await own.bind(away, 'app=camera:0')).close();
  await logIn(own.port, away, '-R', 'app=till:0:127.0.0.1:1').then(
    (login) => login.close(),
    () => undefined,
  );
  const tab = await ConsolePage.openAs(browser, own.service.app.url, ADMIN_KEY, { viewport: SIZE });
  const folder = isWanted ? join(REPOSITORY, 'docs') : await mkdtemp(join(tmpdir(), 'tas-pictures-'));
  await tab.page.getByRole('row').filter({ hasText: 'camera-north' }).getByText('app=camera').waitFor();
  await tab.page.getByRole('row').filter({ hasText: 'camera-south' }).getByText('offline').waitFor();
  await eventually(async () => expect(await tab.page.getByText('not known').count()).toBe(0));
  await tab.page.evaluate('document.activeElement.blur()');
  const picture = await tab.page.screenshot();
  await writeFile(join(folder, 'console.png'), picture);
  expect(sizeOf(picture)).toEqual([SIZE.width, SIZE.height]);
  expect(sizeOf(await readFile(join(REPOSITORY, 'docs', 'console.png')))).toEqual([SIZE.width, SIZE.height]);
  for (const login of logins) await login.close();
  await tab.close();
}, 120_000);
