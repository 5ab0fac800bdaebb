# syntax=docker/dockerfile:1
# Assay as an image: Debian trixie for its glibc (uWebSockets.js needs 2.38 from Node 22 on), no root, nothing to be written but
# /data. Build: docker build -t assay . Run: see deploy/compose.yaml and docs/OPERATIONS.md. Size: npm run size.
ARG NODE_IMAGE=node:24-trixie-slim
ARG BASE_IMAGE=debian:trixie-slim

# --- what runs: exactly what the lockfile names, without what is only needed to build and test ---
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY supply ./supply
COPY scripts/supply ./scripts/supply
COPY data/native-binaries.json ./data/native-binaries.json
# No package needs its install script: the native ones bring their binaries.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Refuses changed binaries, and deletes what Node never loads (docs/decisions/supply-chain.md).
RUN node scripts/supply/after-install.mjs --production
# The symbols that only debuggers read are 18 MB of the program.
RUN apt-get update && apt-get install --yes --no-install-recommends binutils && strip --strip-unneeded /usr/local/bin/node

# --- the compiler and what it makes ---
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
COPY supply ./supply
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src ./src
COPY workers ./workers
# The kernels in WebAssembly.
COPY scripts/kernels ./scripts/kernels
# The guide: pages and the search, compiled from Markdown.
COPY scripts/guide ./scripts/guide
COPY docs ./docs
COPY sdk ./sdk
# The program joined to one file.
COPY scripts/joined ./scripts/joined
# The dashboard has packages of its own, which end up in its built files.
COPY scripts/dashboard.mjs ./scripts/dashboard.mjs
COPY scripts/installed.mjs ./scripts/installed.mjs
COPY dashboard ./dashboard
COPY data/categories.json ./data/categories.json
COPY data/jurisdictions.json ./data/jurisdictions.json
RUN npm run build

# --- the image: Node itself without npm, headers and compilers ---
FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Assay" \
      org.opencontainers.image.description="Self-hosted wallet risk screening and entity intelligence"
ENV NODE_ENV=production \
    ASSAY_HOST=0.0.0.0 \
    ASSAY_PORT=8080 \
    ASSAY_DATA_DIR=/data
# glibc gives memory back, and V8 copies fewer objects: see "Memory of a server" in docs/OPERATIONS.md. The same in scripts/bootstrap.mjs.
ENV MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=1048576 \
    NODE_OPTIONS=--max-semi-space-size=32
WORKDIR /app
COPY --from=packages /usr/local/bin/node /usr/local/bin/node
COPY package.json ./
COPY data ./data
# Packages that are folders of the repository are links to them.
COPY supply ./supply
COPY --from=packages /app/node_modules ./node_modules
# Neither the modules from which the program is joined, nor the code that V8 compiled: 12 MB, which save a server a second at its start.
COPY --from=build /app/dist/joined/*.cjs ./dist/joined/
COPY --from=build /app/dist/joined/workers ./dist/joined/workers
COPY --from=build /app/dist/kernels ./dist/kernels
COPY --from=build /app/dist/guide ./dist/guide
COPY --from=build /app/dist/dashboard ./dist/dashboard
# Redis scripts are read from src/ at run time: the compiler does not copy them.
COPY src/accounts/redis/lua ./src/accounts/redis/lua
COPY src/app/lua ./src/app/lua
COPY src/graph/remote/lua ./src/graph/remote/lua
COPY src/nodes/lua ./src/nodes/lua
COPY src/pool/lua ./src/pool/lua
COPY src/state/lua ./src/state/lua
# Owned by the user before it becomes a volume, so that a new volume is his.
RUN useradd --create-home --uid 1000 --user-group node && mkdir -p /data /jobs && chown node:node /data /jobs
# `docker exec … assay lists`: any command beside the server.
RUN ln -s /app/dist/joined/main.cjs /usr/local/bin/assay
USER node
VOLUME ["/data"]
EXPOSE 8080 8090
STOPSIGNAL SIGTERM
# Over TLS if the server speaks it; its certificate is for another name than 127.0.0.1.
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s --retries=3 \
  CMD ["node", "-e", "require(process.env.ASSAY_TLS_KEY ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.ASSAY_PORT, path: '/health', rejectUnauthorized: false }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/joined/main.cjs"]
CMD ["serve"]
