import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { startMain, stopMain } from '../support/process.js';
import { shellBlocksOf } from '../support/shell-blocks.js';

const run = promisify(execFile);

it('the README’s tour works as written', async () => {
  const [start = '', ...tour] = await shellBlocksOf('README.md', 'Tour');
  const key = /BOOTSTRAP_API_KEY=(\S+) npm start/.exec(start)?.[1] ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'tas-tour-'));
  const main = startMain({ DATA_DIR: join(folder, 'data'), BOOTSTRAP_API_KEY: key });
  try {
    const env = { PATH: process.env.PATH, HOME: folder, API: await main.url };
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', tour.join('\n')], { cwd: folder, env });
    expect(stdout).toMatch(/"description":"my laptop"/);
    expect(stdout).toMatch(/"ssh_credentials":\[\{"id":"sshcr_/);
    expect(stdout).toMatch(/"description":"my old laptop"/);
    expect(stdout).toMatch(/"error_code":"ERR_NGROK_604"/);
    expect(stdout).toMatch(/"backend":\{"id":"bkdtg_web","uri":"http[^"]+\/backends\/tunnel_group\/bkdtg_web"/);
    expect(stdout).toMatch(/"hostports":\["1.tcp.example.com:20000"\],"backend":\{"enabled":true/);
    expect(stdout).toMatch(/"owner_id":"bot_[^}]+"token":"[^"]{50,}"/);
    expect(stdout).toMatch(/HTTP 204/);
    expect(stdout).toMatch(/"msg":"Resource not found"/);
  } finally {
    await stopMain(main);
    await rm(folder, { recursive: true, force: true });
  }
});
