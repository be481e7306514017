import { readFile } from 'node:fs/promises';
import { Controller, Get, Header, Module, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../../kernel/problem.js';
import { RouteConfig } from '../documentation.js';
import { JSON_TYPE } from '../problem.filter.js';
import { ApiPublic, ApiRedirect, ApiTag } from './decorators.js';
import type { ParameterOf } from './parts.js';

/** The committed document, which a test makes from the code. The build copies it beside the compiled code. */
const COMMITTED = new URL('../../../../openapi.json', import.meta.url);

interface Document {
  paths: Readonly<Record<string, object>>;
  readonly components: { readonly securitySchemes: Readonly<Record<string, object>> };
}

/** The OpenAPI document as JSON, without the routes that the settings switch off. `server` is the base URL of the paths. */
export class ApiDocument {
  private json: Promise<string> | undefined;

  constructor(
    private readonly server: string,
    private readonly settings: { readonly gatewayTokens: readonly unknown[]; readonly console: boolean },
  ) {}

  text(): Promise<string> {
    this.json ??= this.read();
    return this.json;
  }

  private async read(): Promise<string> {
    const committed: Document = JSON.parse(await readFile(COMMITTED, 'utf8'));
    const document = this.settings.gatewayTokens.length > 0 ? committed : withoutGateways(committed);
    if (!this.settings.console) document.paths = without(document.paths, '/console');
    return JSON.stringify({ ...document, servers: [{ url: this.server }] });
  }
}

function withoutGateways({ paths, components, ...rest }: Document): Document {
  const { gateway: _, ...securitySchemes } = components.securitySchemes;
  return { ...rest, paths: without(paths, '/ssh_gateway'), components: { ...components, securitySchemes } };
}

const without = (paths: Document['paths'], prefix: string): Document['paths'] =>
  Object.fromEntries(Object.entries(paths).filter(([path]) => !path.startsWith(prefix)));

/** The build copies Swagger UI here: its package reports installations to its makers, so users do not install it. */
const UI = new URL('../../../../swagger-ui/', import.meta.url);
const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'application/javascript; charset=utf-8';

const START = `SwaggerUIBundle({
  url: document.querySelector('script[data-document]').dataset.document,
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
// Swagger UI gives the fields of both tokens one id, and leaves the caret in the last one, which is that of gateways.
new MutationObserver(() => {
  const [key, token] = document.querySelectorAll('#auth-bearer-value');
  if (token === undefined) return;
  token.id = 'auth-gateway-value';
  token.closest('.wrapper')?.querySelector('label')?.setAttribute('for', token.id);
  key.focus();
}).observe(document.getElementById('api'), { childList: true, subtree: true });
`;

/** The files of the page. The service serves all of them itself, so that the page works without the internet. */
const FILES = new Map<string, { readonly type: string; readonly read: () => Promise<string> }>([
  ['swagger-ui.css', { type: CSS, read: () => readFile(new URL('swagger-ui.css', UI), 'utf8') }],
  ['swagger-ui-bundle.js', { type: JAVASCRIPT, read: () => readFile(new URL('swagger-ui-bundle.js', UI), 'utf8') }],
  ['start.js', { type: JAVASCRIPT, read: async () => START }],
]);

const FILE: ParameterOf = ({ ApiParam }) =>
  ApiParam({
    name: 'file',
    description: 'Name of a file that the documentation page loads.',
    schema: { type: 'string', enum: [...FILES.keys()] },
  });

/** All errors have one body, which openapi.json describes. So a call shows only the line of each status, without headers. */
const STYLE = `
  #api .responses-table:not(.live-responses-table) :is(
    .headers-wrapper,
    [data-code^='4'] :is(.response-controls, .model-example),
    [data-code^='5'] :is(.response-controls, .model-example)) { display: none; }
  #api .responses-table .response td { padding: 1px 0; }
  #api .response .renderedMarkdown p { margin: 0; }
  #api .opblock .opblock-section-header { min-height: 0; padding: 4px 20px; }
`;

/** `base` is the path of PUBLIC_URL, or empty. */
const page = (base: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Tunnel access service: API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${base}/docs/swagger-ui.css">
    <style>${STYLE}</style>
  </head>
  <body>
    <div id="api"></div>
    <noscript>This page needs JavaScript. The document itself: <a href="${base}/openapi.json">openapi.json</a></noscript>
    <script src="${base}/docs/swagger-ui-bundle.js"></script>
    <script src="${base}/docs/start.js" data-document="${base}/openapi.json"></script>
  </body>
</html>
`;

/** Swagger UI needs inline styles and icons from data: URLs. Scripts and requests stay on this origin. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Public: only the stored data are secret, not the API itself. */
@ApiTag('API description')
@Controller()
class OpenApiController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  @RouteConfig({ isPublic: true })
  @ApiRedirect({ id: 'getRoot', summary: 'Redirect to the API documentation' })
  root(@Req() { baseUrl }: FastifyRequest, @Res() reply: FastifyReply): void {
    void reply.redirect(`${baseUrl}/docs`, 302);
  }

  @Get('openapi.json')
  @RouteConfig({ isPublic: true })
  @Header('content-type', JSON_TYPE)
  @ApiPublic('application/json', { id: 'getOpenApi', summary: 'Get the OpenAPI document' })
  openApi(): Promise<string> {
    return this.document.text();
  }

  @Get('docs')
  @RouteConfig({ isPublic: true })
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', PAGE_POLICY)
  @ApiPublic('text/html', { id: 'getDocs', summary: 'Get the API documentation as a web page' })
  docs(@Req() { baseUrl }: FastifyRequest): string {
    return page(new URL(baseUrl).pathname.replace(/\/$/, ''));
  }

  @Get('docs/:file')
  @RouteConfig({ isPublic: true })
  @ApiPublic(
    '*/*',
    { id: 'getDocsFile', summary: 'Get a file of the documentation page', problems: ['not_found'] },
    FILE,
  )
  async file(@Param('file') name: string, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const file = FILES.get(name);
    if (file === undefined) throw new Problem('not_found', 'Resource not found');
    void reply.header('content-type', file.type);
    return file.read();
  }
}

@Module({ controllers: [OpenApiController] })
export class OpenApiModule {}
