import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from '@jest/globals';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Response,
} from 'playwright-core';
import { expectDescribed } from './described.js';
import { stopAtEnd } from './leftovers.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export async function openChromium(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  stopAtEnd(() => browser.close());
  return browser;
}

/** A tab with the console. What it calls, and each violation of its policy, is kept. */
export class ConsolePage {
  private readonly checks: Promise<void>[] = [];
  readonly statuses: number[] = [];
  readonly faults: string[] = [];

  private constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    readonly url: string,
  ) {
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of [45]\d\d/.test(message.text())) this.faults.push(message.text());
    });
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('response', (response) => void this.checks.push(this.keep(response)));
  }

  static async open(browser: Browser, serviceUrl: string, options: BrowserContextOptions = {}): Promise<ConsolePage> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const opened = new ConsolePage(await context.newPage(), context, `${serviceUrl}/console`);
    opened.page.setDefaultTimeout(15_000);
    await opened.page.goto(opened.url);
    return opened;
  }

  static async openAs(browser: Browser, serviceUrl: string, key: string, options = {}): Promise<ConsolePage> {
    const opened = await ConsolePage.open(browser, serviceUrl, options);
    await opened.signIn(key);
    return opened;
  }

  async signIn(key: string): Promise<void> {
    await this.page.getByLabel('API key').fill(key);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
  }

  async goTo(hash: string, heading: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await this.page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }

  /** The rules of axe that the page breaks, in light and in dark. */
  async axeFaults(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.evaluate(AXE);
      const broken = await this.page.evaluate(async () => {
        const { axe } = globalThis as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
      });
      found.push(...broken.map((fault) => `${colorScheme} ${fault}`));
    }
    return found;
  }

  /** Those of the answers so far. */
  async forgetFaults(): Promise<void> {
    await Promise.all(this.checks);
    this.faults.length = 0;
  }

  /** Each call of the page is as openapi.json has it, and the page broke no policy. */
  async close(): Promise<void> {
    await Promise.all(this.checks);
    expect(this.faults).toEqual([]);
    await this.context.close();
  }

  private async keep(response: Response): Promise<void> {
    const request = response.request();
    if (new URL(response.url()).pathname.includes('/console')) return;
    this.statuses.push(response.status());
    const text = await response.text().catch(() => undefined);
    if (text === undefined) return;
    try {
      expectDescribed({
        method: request.method(),
        // Behind a proxy the service is below a path.
        url: response.url().replace(this.url.replace(/\/console$/, ''), new URL(this.url).origin),
        sent: request.postData() ?? undefined,
        status: response.status(),
        headers: new Headers(await response.allHeaders()),
        body: text === '' ? undefined : JSON.parse(text),
      });
    } catch (error) {
      this.faults.push(String(error));
    }
  }
}
