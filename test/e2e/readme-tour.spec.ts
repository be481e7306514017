import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { CLI, startMain, stopMain } from '../support/process.js';
import { shellBlocksOf } from '../support/shell-blocks.js';

const run = promisify(execFile);

it('the README’s tour and its audit example work as written', async () => {
  const [start = '', ...tour] = await shellBlocksOf('README.md', 'Tour');
  const key = /BOOTSTRAP_API_KEY=(\S+) npm start/.exec(start)?.[1] ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'tas-tour-'));
  // As root the embedded server runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  const dataDir = join(folder, 'data');
  const main = startMain({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: key });
  try {
    const env = { PATH: process.env.PATH, HOME: folder, API: await main.url, CLI: `node ${CLI}`, DATA_DIR: dataDir };
    const blocks = [...tour, ...(await shellBlocksOf('README.md', 'Audit and replay'))].join('\n');
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', blocks], { cwd: folder, env });
    expect(stdout).toMatch(/"description":"my laptop"/);
    expect(stdout).toMatch(/"ssh_credentials":\[\{"id":"sshcr_/);
    expect(stdout).toMatch(/"description":"my old laptop"/);
    expect(stdout).toMatch(/"error_code":"ERR_NGROK_604"/);
    expect(stdout).toMatch(/"backend":\{"id":"bkdtg_web","uri":"http[^"]+\/backends\/tunnel_group\/bkdtg_web"/);
    expect(stdout).toMatch(/"hostports":\["1.tcp.example.com:20000"\],"backend":\{"enabled":true/);
    expect(stdout).toMatch(/"owner_id":"bot_[^}]+"token":"[^"]{50,}"/);
    expect(stdout).toMatch(/HTTP 204/);
    expect(stdout).toMatch(/"msg":"Resource not found"/);
    expect(stdout).toMatch(/"changes":\[\{"field":"acl","from":\["bind:app.example.com"\],"to":\["\*"\]\}\]/);
    expect(stdout).toMatch(
      /version 2, position \d+ {2}ssh_credential_updated.v1 {2}by usr_\S+ with ak_\S+ from 127.0.0.1 using "curl/,
    );
    expect(stdout).toMatch(/ssh_credential_deleted.v1 [^\n]+\n {4}acl: \["bind:app.example.com"\] -> \["\*"\]\n\{/);
    expect(stdout).toMatch(/\n\{"id":"sshcr_[^\n]+"acl":\["\*"\]/);
    expect(stdout).toMatch(/\nretry: 1000\n\nid: \d+\ndata: \{"specversion":"1.0"/);
    expect(stdout).toMatch(/the same log, byte for byte\n$/);
  } finally {
    await stopMain(main);
    await rm(folder, { recursive: true, force: true });
  }
});
