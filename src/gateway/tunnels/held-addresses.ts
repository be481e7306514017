import type { Endpoint } from '../endpoint.js';
import type { SignsOfLife } from '../protocol/signs-of-life.js';
import type { GatewaySettings } from '../settings-table.js';
import { BindRefused } from './bind-refused.js';

/** A connection that wants or holds addresses. */
export interface Holder {
  /** It is closed, or has given way. */
  readonly isOver: boolean;
  readonly signs: Pick<SignsOfLife, 'isAlive'>;
  /** Frees all its addresses at once, and ends. */
  giveWay(): void;
}

/** A bind that wants an address. */
export interface Claimant {
  /** The credential that permits the bind. */
  readonly credentialId: string;
  readonly holder: Holder;
}

/** An address that a bind holds, from before its listener opens until the listener is closed. */
export class Claim {
  private free: () => void = () => undefined;
  readonly freed = new Promise<void>((resolve) => {
    this.free = resolve;
  });
  isFreed = false;

  constructor(
    readonly by: Claimant,
    private readonly onFreed: () => void,
  ) {}

  release(): void {
    if (this.isFreed) return;
    this.isFreed = true;
    this.onFreed();
    this.free();
  }
}

/** The addresses that binds hold at this gateway, and the decision whether a newer bind may take one over. */
export class HeldAddresses {
  private readonly claims = new Map<string, Claim>();

  constructor(private readonly rule: GatewaySettings['takeOver']) {}

  isHeld(at: Endpoint): boolean {
    return this.claims.has(nameOf(at));
  }

  /**
   * Takes the address. If another connection of the credential holds it without a sign of life, that connection ends
   * first. Throws BindRefused.
   */
  async claim(at: Endpoint, by: Claimant): Promise<Claim> {
    const name = nameOf(at);
    // Of several that wait for the same address, the first one finds it free, and the others ask about that one.
    for (let held = this.claims.get(name); held !== undefined; held = this.claims.get(name)) {
      await this.takeOver(held, by);
      if (by.holder.isOver) throw new BindRefused('cannot_listen', 'the client is gone');
    }
    const claim = new Claim(by, () => this.claims.delete(name));
    this.claims.set(name, claim);
    return claim;
  }

  /** Throws BindRefused unless the claim is free afterwards. */
  private async takeOver(held: Claim, by: Claimant): Promise<void> {
    const { credentialId, holder } = held.by;
    if (holder === by.holder) throw new BindRefused('cannot_listen', 'the client has already bound it');
    if (credentialId !== by.credentialId)
      throw new BindRefused('cannot_listen', 'the gateway cannot listen there: the address is in use');
    const isAlive = this.rule === 'dead' && (await holder.signs.isAlive());
    if (held.isFreed || by.holder.isOver) return;
    if (isAlive)
      throw new BindRefused('held', 'the address is held by another connection of this credential, which is alive');
    holder.giveWay();
    await held.freed;
  }
}

const nameOf = ({ address, port }: Endpoint): string => `${address} ${port}`;
