// An MCP server over HTTP with logins, and two authorization servers of oidc-provider. Refresh
// tokens rotate: if one is used twice, its grant ends. The login pages need no answer. stdout has
// one line with the addresses, as JSON.
//
// /control takes ?issuer=1 or 2 (which one the server names), &revoke (ends all grants) and
// &approve=CODE (of the device flow). It answers with the counts of requests.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { Provider } from "oidc-provider";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const life = Number(process.argv[2] ?? 3600); // of access tokens, in seconds
const counts = { calls: 0, refused: 0, refreshes: 0, refreshErrors: 0, registered: 0, foreign: 0 };
const issuers = [];
let named = 0;

const listening = (handler) => new Promise((done) => {
  const server = createServer(handler).listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`));
});

let resource = "";
async function issuer() {
  let provider;
  const url = await listening((req, res) => provider.callback()(req, res));
  provider = new Provider(url, {
    clientDefaults: { token_endpoint_auth_method: "none" },
    cookies: { keys: ["e2e"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    scopes: ["openid", "offline_access", "read", "write", "admin"],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      deviceFlow: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, indicator) => {
          if (indicator !== resource) throw new Error(`another resource: ${indicator}`);
          return { scope: "read write admin", accessTokenTTL: life, accessTokenFormat: "opaque" };
        },
      },
    },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    interactions: { url: (_, interaction) => `/pages/${interaction.uid}` },
    ttl: { AccessToken: life, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, DeviceCode: 600, IdToken: 600 },
    issueRefreshToken: (_, client, code) => client.grantTypeAllowed("refresh_token") && code.scopes.has("offline_access"),
  });
  const grants = new Set();
  async function allow(clientId, requested) {
    const grant = new provider.Grant({ accountId: "user", clientId });
    const scopes = requested.split(" ").filter((one) => one !== "admin").join(" "); // the user is no administrator
    grant.addOIDCScope(`openid ${scopes}`);
    grant.addResourceScope(resource, scopes);
    grant.rejectOIDCScope("admin");
    grant.rejectResourceScope(resource, "admin");
    const id = await grant.save();
    grants.add(id);
    return id;
  }
  provider.use(async (ctx, next) => {
    if (ctx.path.startsWith("/pages/")) {
      const { params } = await provider.interactionDetails(ctx.req, ctx.res);
      const consent = { grantId: await allow(params.client_id, params.scope) };
      await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: "user" }, consent }, { mergeWithLastSubmission: false });
      ctx.respond = false;
      return;
    }
    await next();
    if (ctx.path === "/reg" && ctx.status === 201) counts.registered++;
  });
  provider.on("grant.success", (ctx) => { if (ctx.oidc.params.grant_type === "refresh_token") counts.refreshes++; });
  provider.on("grant.error", (ctx, err) => {
    if (ctx.oidc.params?.grant_type === "refresh_token") counts.refreshErrors++;
    if (err.error !== "authorization_pending") console.error("grant.error", err.error, err.error_detail ?? err.error_description);
  });
  provider.on("authorization.error", (_, err) => console.error("authorization.error", err.error, err.error_description));
  provider.on("registration_create.error", (_, err) => console.error("registration", err.error, err.error_description));
  provider.on("server_error", (_, err) => console.error("server_error", err));
  return {
    url,
    find: (token) => provider.AccessToken.find(token),
    async revoke() {
      for (const id of grants) {
        await provider.AccessToken.revokeByGrantId(id);
        await provider.RefreshToken.revokeByGrantId(id);
        await (await provider.Grant.find(id))?.destroy();
      }
    },
    // The user's steps on the page of the device flow.
    async approve(userCode) {
      const code = await provider.DeviceCode.findByUserCode(userCode.replace(/[^A-Za-z0-9]/g, ""), { ignoreExpiration: false });
      if (!code) return false;
      code.accountId = "user";
      code.grantId = await allow(code.clientId, code.params.scope);
      code.scope = code.params.scope;
      code.resource = code.params.resource;
      code.authTime = Math.floor(Date.now() / 1000);
      code.sessionUid = randomUUID();
      await code.save(600);
      return true;
    },
  };
}

const sessions = new Map();
async function mcp(req, res) {
  const text = await new Promise((done) => {
    const parts = [];
    req.on("data", (p) => parts.push(p)).on("end", () => done(Buffer.concat(parts).toString()));
  });
  const url = new URL(req.url, resource);
  if (url.pathname === "/control") {
    if (url.searchParams.has("issuer")) named = Number(url.searchParams.get("issuer")) - 1;
    if (url.searchParams.has("revoke")) await issuers[named].revoke();
    const approved = url.searchParams.has("approve") && await issuers[named].approve(url.searchParams.get("approve"));
    res.setHeader("Content-Type", "application/json");
    return res.end(JSON.stringify({ ...counts, approved }));
  }
  if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) {
    res.setHeader("Content-Type", "application/json");
    return res.end(JSON.stringify({ resource, authorization_servers: [issuers[named].url], scopes_supported: ["read"] }));
  }
  if (url.pathname !== "/mcp") return res.writeHead(404).end();
  const given = /^Bearer (.+)$/.exec(req.headers.authorization ?? "")?.[1];
  const token = given && await issuers[named].find(given);
  const isCall = text.includes('"tools/call"');
  if (isCall) counts.calls++;
  if (!token?.isValid || ![token.aud].flat().includes(resource)) {
    if (isCall) counts.refused++;
    if (given && await issuers[1 - named].find(given)) counts.foreign++;
    return res.writeHead(401, { "WWW-Authenticate": `Bearer resource_metadata="${new URL("/.well-known/oauth-protected-resource/mcp", resource)}"` }).end();
  }
  // The tools note and rule need a scope each.
  const lacking = isCall && { note: "write", rule: "admin" }[JSON.parse(text).params.name];
  if (lacking && !token.scope.split(" ").includes(lacking)) {
    return res.writeHead(403, { "WWW-Authenticate": `Bearer error="insufficient_scope", scope="${lacking}"` }).end();
  }
  let transport = sessions.get(req.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, transport) });
    const server = new McpServer({ name: "authority", version: "1" });
    server.registerTool("whoami", { description: "Says who is logged in.", annotations: { readOnlyHint: true } }, (extra) => ({ content: [{ type: "text", text: `logged in as ${token.accountId} by ${extra.requestInfo?.headers.authorization}` }] }));
    for (const name of ["note", "rule"]) {
      server.registerTool(name, { annotations: { readOnlyHint: true } }, () => ({ content: [{ type: "text", text: `${name}: done` }] }));
    }
    await server.connect(transport);
  }
  await transport.handleRequest(req, res, text ? JSON.parse(text) : undefined);
}

const base = await listening((req, res) => mcp(req, res).catch((err) => { console.error(err); res.writeHead(500).end(); }));
resource = `${base}/mcp`;
issuers.push(await issuer(), await issuer());
console.log(JSON.stringify({ resource, control: `${base}/control`, issuers: issuers.map((i) => i.url) }));
