# The service without an embedded database: set DATABASE_URL (docker-compose.yml shows how).
FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json openapi.json ./
COPY migrations migrations
COPY console console
COPY src src
RUN npm run build && npm prune --omit=dev --omit=optional

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# A new volume takes its owner from this folder: the gateway makes its host key there.
RUN install -d -o node -m 700 /var/lib/tunnel-gateway
USER node
EXPOSE 8080
# Whether the process answers, not whether its database does: a supervisor that restarts what is unhealthy would only
# make an outage of the database longer. The start waits for the database, and then migrates it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/src/main.js"]
