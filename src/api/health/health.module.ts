import { Controller, Get, Header, Module } from '@nestjs/common';
import { Incidents } from '../../database/index.js';
import { Checkpoints } from '../../event-log/index.js';
import { Problem } from '../../kernel/problem.js';
import { RouteConfig } from '../http/documentation.js';
import { ApiPublic, ApiTag } from '../http/openapi/decorators.js';
import { JSON_TYPE } from '../http/problem.filter.js';
import { StopNotice } from '../http/stop-notice.js';
import { Readiness } from './readiness.js';

/** For supervisors and load balancers, which have no key. The answers tell nothing about the data. */
@ApiTag('Health')
@Controller()
class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly checkpoints: Checkpoints,
    private readonly incidents: Incidents,
    private readonly stopNotice: StopNotice,
  ) {}

  @Get('livez')
  @RouteConfig({ isPublic: true })
  @Header('content-type', JSON_TYPE)
  @ApiPublic('application/json', { id: 'getLivez', summary: 'Tell whether the process runs' })
  live(): object {
    return { status: 'live' };
  }

  @Get('readyz')
  @RouteConfig({ isPublic: true })
  @Header('content-type', JSON_TYPE)
  @ApiPublic('application/json', {
    id: 'getReadyz',
    summary: 'Tell whether the instance can serve: database, migrations, queue of changes',
    problems: ['overloaded'],
  })
  async ready(): Promise<object> {
    if (this.stopNotice.isGiven) throw new Problem('overloaded', 'Not ready: the instance is stopping.');
    const failures = await this.readiness.check();
    const reasons = Object.values(failures);
    if (reasons.length > 0) throw new Problem('overloaded', `Not ready: ${reasons.join('; ')}.`, failures);
    // The service still answers reads and the questions of gateways, so a proxy must not take the instance out.
    const status = this.incidents.cannotWrite ?? 'ready';
    return { status, checkpoints: this.checkpoints.state };
  }
}

@Module({
  controllers: [HealthController],
  providers: [Readiness],
  exports: [Readiness],
})
export class HealthModule {}
