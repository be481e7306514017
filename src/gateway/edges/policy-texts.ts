import { notServed, type Serving } from './served-edge.js';

/** The most bytes of the traffic policies of an account, each text once. */
const MAX_BYTES_OF_ACCOUNT = 16 * 1024 * 1024;

/** A text, and the hostports that need it. */
interface Shared {
  readonly text: string;
  readonly bytes: number;
  readonly hostports: Set<string>;
}

interface Account {
  bytes: number;
  readonly texts: Map<string, Shared>;
  /** The bytes that each hostport without room needs. */
  readonly refused: Map<string, number>;
}

/** The texts of the traffic policies that are in force, each once for an account. Those of one account have a maximum. */
export class PolicyTexts {
  private readonly accounts = new Map<string, Account>();
  private readonly needed = new Map<string, { readonly accountId: string; readonly text: string }>();

  constructor(
    /** Called with hostports that had no room, when they may have room now. */
    private readonly freed: (hostports: readonly string[]) => void,
    private readonly maxBytes = MAX_BYTES_OF_ACCOUNT,
  ) {}

  /** Holds the text that the hostport needs now. The edge is closed if its account has no room for it. */
  hold(hostport: string, serving: Serving): Serving {
    const { served, concerns } = serving;
    const before = this.accounts.get(this.needed.get(hostport)?.accountId ?? '');
    const bytesBefore = before?.bytes ?? 0;
    this.drop(hostport);
    const needed = served?.policyText;
    const text = needed === undefined ? undefined : this.add(hostport, served?.accountId ?? '', needed);
    if (before !== undefined && before.bytes < bytesBefore) this.tellOfRoom(before);
    if (served === undefined || needed === undefined) return serving;
    if (text !== undefined) return { served: { ...served, policyText: text }, concerns };
    const limit = `the traffic policies of its account have more than ${this.maxBytes / 1024 ** 2} MiB here`;
    const wayOut = 'shorten them, or give several edges the same one';
    return { ...notServed(served.id, `${limit}; ${wayOut}`), concerns };
  }

  /** The text that all hostports share. Undefined: there is no room for it. */
  private add(hostport: string, accountId: string, text: string): string | undefined {
    const account = this.accounts.get(accountId) ?? { bytes: 0, texts: new Map(), refused: new Map() };
    this.accounts.set(accountId, account);
    this.needed.set(hostport, { accountId, text });
    const shared = account.texts.get(text) ?? { text, bytes: Buffer.byteLength(text), hostports: new Set() };
    const more = shared.hostports.size === 0 ? shared.bytes : 0;
    if (account.bytes + more > this.maxBytes) {
      account.refused.set(hostport, shared.bytes);
      return undefined;
    }
    account.bytes += more;
    account.texts.set(text, shared);
    shared.hostports.add(hostport);
    return shared.text;
  }

  private drop(hostport: string): void {
    const { accountId = '', text = '' } = this.needed.get(hostport) ?? {};
    const account = this.accounts.get(accountId);
    this.needed.delete(hostport);
    if (account === undefined) return;
    account.refused.delete(hostport);
    const shared = account.texts.get(text);
    if (shared?.hostports.delete(hostport) === true && shared.hostports.size === 0) {
      account.texts.delete(text);
      account.bytes -= shared.bytes;
    }
    if (account.texts.size + account.refused.size === 0) this.accounts.delete(accountId);
  }

  private tellOfRoom({ bytes, refused }: Account): void {
    const fitting = [...refused].filter(([, more]) => bytes + more <= this.maxBytes).map(([hostport]) => hostport);
    if (fitting.length > 0) this.freed(fitting);
  }
}
