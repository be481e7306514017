import type { Path } from '../../kernel/fair-queue.js';
import { MAX_NAME_OCTETS } from '../../rules/index.js';
import { BindRefused } from './bind-refused.js';
import type { Claimant, HeldAddresses } from './held-addresses.js';
import type { OpenTunnel } from './open-tunnel.js';

interface Served {
  readonly accountId: string;
  /** Undefined until the bind is complete. */
  readonly tunnel: () => OpenTunnel | undefined;
}

/** A name as a client binds it. */
interface AskedName {
  readonly name: string;
  readonly accountId: string;
}

/** The domains that binds serve over HTTP: one account has a name, and its tunnels share it. */
export class HeldNames {
  private readonly byName = new Map<string, Set<Served>>();
  private turn = 0;

  constructor(private readonly addresses: HeldAddresses) {}

  /**
   * Takes the name until `close`. A newer connection of the credential takes over what an older one holds, as for an
   * address. Throws BindRefused.
   */
  async open({ name, accountId }: AskedName, by: Claimant, tunnel: Served['tunnel']): Promise<{ close(): void }> {
    this.refuseOthers(name, accountId);
    const claim = await this.addresses.claim({ address: `${name} of ${by.credentialId}`, port: 0 }, by);
    try {
      this.refuseOthers(name, accountId);
    } catch (error) {
      claim.release();
      throw error;
    }
    const served = { accountId, tunnel };
    this.byName.set(name, (this.byName.get(name) ?? new Set()).add(served));
    return {
      close: () => {
        claim.release();
        this.remove(name, served);
      },
    };
  }

  /**
   * The tunnels that serve a host, the next one in turn first. Undefined if no bind has the name. The name itself wins,
   * then the longest wildcard.
   */
  find(host: string): readonly OpenTunnel[] | undefined {
    const served = this.servedAt(host);
    if (served === undefined) return undefined;
    const tunnels = [...served].flatMap(({ tunnel }) => tunnel() ?? []).filter(({ signs }) => !signs.isSilent);
    this.turn += 1;
    const first = tunnels.length === 0 ? 0 : this.turn % tunnels.length;
    return [...tunnels.slice(first), ...tunnels.slice(0, first)];
  }

  /** For whom the requests of a host are worked on. Undefined if no bind has the name. */
  pathOf(host: string): Path | undefined {
    const [first] = this.servedAt(host) ?? [];
    return first && [first.accountId, 'names', host];
  }

  private servedAt(host: string): ReadonlySet<Served> | undefined {
    // A Host of 16 KB with a dot at each second place would take 88 ms.
    if (host.length > MAX_NAME_OCTETS) return undefined;
    const exact = this.byName.get(host);
    if (exact !== undefined) return exact;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const found = this.byName.get(`*${host.slice(dot)}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  private refuseOthers(name: string, accountId: string): void {
    const [first] = this.byName.get(name) ?? [];
    if (first === undefined || first.accountId === accountId) return;
    throw new BindRefused('cannot_listen', `a tunnel of another account serves ${name}; bind another name`);
  }

  private remove(name: string, served: Served): void {
    const all = this.byName.get(name);
    if (all?.delete(served) === true && all.size === 0) this.byName.delete(name);
  }
}
