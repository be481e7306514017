import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { EdgeReferences, NAMED_CONSTRAINT } from '../resources/edge-references.js';
import { parseChanges, parseTunnelGroup, type TunnelGroup, tunnelGroup } from './tunnel-group.js';
import { type CreateTunnelGroupBody, TUNNEL_GROUPS, type UpdateTunnelGroupBody } from './tunnel-groups.resource.js';

export class CreateTunnelGroup extends CreateCommand<CreateTunnelGroupBody> {}
export class UpdateTunnelGroup extends UpdateCommand<UpdateTunnelGroupBody> {}
export class DeleteTunnelGroup extends DeleteCommand {}

@CommandHandler(CreateTunnelGroup)
class CreateTunnelGroupHandler implements ICommandHandler<CreateTunnelGroup> {
  constructor(private readonly changes: Changes) {}

  execute({ context, body }: CreateTunnelGroup) {
    const group = parseTunnelGroup(body);
    return this.changes.create(TUNNEL_GROUPS, context, () => tunnelGroup.create(group));
  }
}

@CommandHandler(UpdateTunnelGroup)
class UpdateTunnelGroupHandler implements ICommandHandler<UpdateTunnelGroup> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateTunnelGroup) {
    const fields = parseChanges(body);
    return this.changes.apply(TUNNEL_GROUPS, context, id, (group) => tunnelGroup.update(group, fields), { sent: body });
  }
}

@CommandHandler(DeleteTunnelGroup)
class DeleteTunnelGroupHandler implements ICommandHandler<DeleteTunnelGroup> {
  constructor(
    private readonly changes: Changes,
    private readonly edges: EdgeReferences,
  ) {}

  execute({ context, id }: DeleteTunnelGroup) {
    const decide = async (group: TunnelGroup | undefined) => {
      if (group === undefined) throw TUNNEL_GROUPS.notFound();
      await this.edges.refuseNamed(context.accountId, id, 'tunnel group');
      return tunnelGroup.remove(group, this.edges.deletionData);
    };
    return this.changes.apply(TUNNEL_GROUPS, context, id, decide, { refusals: { [NAMED_CONSTRAINT]: 'again' } });
  }
}

export const TUNNEL_GROUP_HANDLERS = [CreateTunnelGroupHandler, UpdateTunnelGroupHandler, DeleteTunnelGroupHandler];
