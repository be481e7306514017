import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { malformed, Problem, quoted } from '../../kernel/problem.js';
import { splitPort } from '../../rules/index.js';
import type { RequestContext } from '../http/request-context.js';
import { Changes, type Refusals } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { parseHostport } from '../tcp-edges/hostport.js';
import { poolOf, ReservationPolicy, restOf, serves } from './address-pools.js';
import { FreeAddresses } from './free-addresses.js';
import { type ReservedAddr, reservedAddr } from './reserved-addr.js';
import { ADDR_CONSTRAINT } from './reserved-addrs.read-model.js';
import { type CreateReservedAddrBody, RESERVED_ADDRS, type UpdateReservedAddrBody } from './reserved-addrs.resource.js';
import { ELSEWHERE_CONSTRAINT } from './reserved-domains.read-model.js';
import { ToldHosts } from './told-hosts.js';

export class CreateReservedAddr extends CreateCommand<CreateReservedAddrBody> {}
export class UpdateReservedAddr extends UpdateCommand<UpdateReservedAddrBody> {}
export class DeleteReservedAddr extends DeleteCommand {}

@CommandHandler(CreateReservedAddr)
class CreateReservedAddrHandler implements ICommandHandler<CreateReservedAddr> {
  constructor(
    private readonly changes: Changes,
    private readonly free: FreeAddresses,
    private readonly told: ToldHosts,
    private readonly policy: ReservationPolicy,
  ) {}

  execute({ context, body }: CreateReservedAddr) {
    const { addr, region = '', description = '', metadata = '' } = body;
    const texts = { description, metadata };
    return addr === undefined
      ? this.createAny(context, region, texts)
      : this.createNamed(context, { ...texts, ...this.placed(parseHostport(addr, 'addr').canonical, region) });
  }

  /** Another instance may give the same address to another account: then this one takes the next. */
  private createAny(context: RequestContext, region: string, texts: Pick<ReservedAddr, 'description' | 'metadata'>) {
    const { accountId } = context;
    return this.free.withAny(accountId, region, (take) => {
      const choose = async () => {
        const placed = this.placed(await take(), region);
        await this.free.requireRoom(accountId);
        return { ...texts, ...placed };
      };
      return this.create(context, choose, { [ADDR_CONSTRAINT]: 'again', [ELSEWHERE_CONSTRAINT]: 'again' });
    });
  }

  /** Throws Problem if nobody may reserve the address, or if its pool does not serve the region. */
  private placed(addr: string, region: string): Pick<ReservedAddr, 'addr' | 'region'> {
    const { host, port } = splitPort(addr);
    const pool = poolOf(this.policy.addressPools, host, Number(port));
    if (pool === undefined && this.policy.unreservableHosts.includes(host)) {
      throw new Problem(
        'conflict',
        `${quoted(addr)} cannot be reserved: all accounts share the host, and no pool has the port.`,
      );
    }
    if (pool === undefined || serves(pool, region)) return { addr, region: pool?.region || region };
    throw malformed(`region is ${quoted(region)}, but the pool of ${quoted(addr)} has ${quoted(pool.region)}.`);
  }

  private createNamed(context: RequestContext, state: ReservedAddr) {
    const { accountId } = context;
    const choose = async () => {
      await this.free.refuseResting(accountId, state.addr);
      await this.free.requireRoom(accountId, state.addr);
      await this.told.refuseOtherName(accountId, state.addr);
      return state;
    };
    const addr = quoted(state.addr);
    return this.create(context, choose, {
      [ADDR_CONSTRAINT]: () => new Problem('conflict', `${addr} is reserved already.`),
      [ELSEWHERE_CONSTRAINT]: () =>
        new Problem('conflict', `The host of ${addr} is a domain that another account has reserved.`),
    });
  }

  /** `choose`: what to reserve; throws Problem. A repetition under an Idempotency-Key chooses nothing. */
  private create(context: RequestContext, choose: () => Promise<ReservedAddr>, refusals: Refusals) {
    const decide = async () => reservedAddr.create(await choose());
    return this.changes.create(RESERVED_ADDRS, context, decide, this.free.optionsWith(refusals));
  }
}

@CommandHandler(UpdateReservedAddr)
class UpdateReservedAddrHandler implements ICommandHandler<UpdateReservedAddr> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateReservedAddr) {
    const { description, metadata } = body;
    const fields = omitUndefined({ description, metadata });
    return this.changes.apply(RESERVED_ADDRS, context, id, (one) => reservedAddr.update(one, fields), { sent: body });
  }
}

@CommandHandler(DeleteReservedAddr)
class DeleteReservedAddrHandler implements ICommandHandler<DeleteReservedAddr> {
  constructor(
    private readonly changes: Changes,
    private readonly policy: ReservationPolicy,
  ) {}

  execute({ context, id }: DeleteReservedAddr) {
    const decide = (one: ReservedAddr | undefined) => reservedAddr.remove(one, restOf(this.policy));
    return this.changes.apply(RESERVED_ADDRS, context, id, decide);
  }
}

export const RESERVED_ADDR_HANDLERS = [CreateReservedAddrHandler, UpdateReservedAddrHandler, DeleteReservedAddrHandler];
