import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, ApiClient } from './api-client.js';

/**
 * Lets the credential or API key at this URI expire: sets a time that comes in a moment, which is one event, and waits for
 * it. A service that is slow may find the time in the past and refuse it.
 */
export async function expireNow(by: ApiClient, uri: string): Promise<Answer> {
  for (let ms = 150; ; ms *= 2) {
    const at = Date.now() + ms;
    const answer = await by.put(`${uri}/expiry`, { expires_at: new Date(at).toISOString() });
    if (answer.status !== 400) {
      await sleep(at + 5 - Date.now());
      return answer;
    }
  }
}
