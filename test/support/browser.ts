import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';

/** The options of a browser that calls only the page under test. */
const ARGUMENTS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--window-size=1400,1000'],
];
const PATIENCE_MS = 30_000;

/** Debian's Chromium, controlled by its driver over WebDriver (W3C). */
export class Browser {
  private constructor(private readonly session: string) {}

  static async open(): Promise<Browser> {
    const port = await freePort('127.0.0.1');
    const folder = await mkdtemp(join(tmpdir(), 'tas-browser-'));
    const driver = spawn('/usr/bin/chromedriver', [`--port=${port}`], { stdio: 'ignore', detached: true });
    stopAtEnd(async () => {
      if (driver.pid !== undefined) process.kill(-driver.pid, 'SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const url = `http://127.0.0.1:${port}`;
    for (const end = Date.now() + PATIENCE_MS; !(await isReady(url)); await sleep(50)) {
      if (Date.now() > end) throw new Error('chromedriver does not answer');
    }
    const options = { binary: '/usr/bin/chromium', args: [...ARGUMENTS, `--user-data-dir=${folder}`] };
    const capabilities = { alwaysMatch: { browserName: 'chrome', 'goog:chromeOptions': options } };
    const { sessionId } = (await send('POST', `${url}/session`, { capabilities })) as { sessionId: string };
    return new Browser(`${url}/session/${sessionId}`);
  }

  async visit(url: string): Promise<void> {
    await send('POST', `${this.session}/url`, { url });
  }

  /** Runs the body of a function in the page, and returns what it returns. */
  run(script: string): Promise<unknown> {
    return send('POST', `${this.session}/execute/sync`, { script, args: [] });
  }

  /** Waits until the expression is true in the page. */
  async until(expression: string): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; !(await this.run(`return !!(${expression})`)); await sleep(50)) {
      if (Date.now() > end) throw new Error(`the page never had: ${expression}`);
    }
  }

  async click(selector: string): Promise<void> {
    await this.until(`document.querySelector(${JSON.stringify(selector)})`);
    const found = await send('POST', `${this.session}/element`, { using: 'css selector', value: selector });
    const [id] = Object.values(found as Record<string, string>);
    await send('POST', `${this.session}/element/${id}/click`, {});
  }

  /** Types at the caret. */
  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ]);
    await send('POST', `${this.session}/actions`, { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }
}

const isReady = (url: string): Promise<boolean> =>
  send('GET', `${url}/status`).then(
    (status) => (status as { ready?: boolean }).ready === true,
    () => false,
  );

async function send(method: string, url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as { value: unknown };
  if (!response.ok) throw new Error(`${method} ${url}: ${JSON.stringify(value).slice(0, 500)}`);
  return value;
}
