// A Streamable HTTP front for the server, which itself speaks over standard input and output only:
// the conformance suite takes nothing but an address. Messages pass both ways unchanged.
//
// Up to revision 2025-11-25 a session of HTTP is a child process. From 2026-07-28 on there are no
// sessions: a request goes to a child process that has none to answer at the moment.

import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";

/** The status with which HTTP carries an error of JSON-RPC, from revision 2026-07-28 on. */
const STATUS = { [-32601]: 404, [-32602]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

/** Starts a bridge to a server of which `command()` tells the command; its address and its end. */
export async function openBridge(command) {
  const sessions = new Map();
  const children = new Set();
  let host;

  async function child(onmessage, onclose = () => {}) {
    const transport = new StdioClientTransport({ ...command(), stderr: "ignore" });
    children.add(transport);
    transport.onmessage = onmessage;
    transport.onclose = () => {
      children.delete(transport);
      onclose();
    };
    await transport.start();
    return transport;
  }

  async function openSession() {
    const front = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableDnsRebindingProtection: true,
      allowedHosts: [host],
      onsessioninitialized: (id) => sessions.set(id, front),
      onsessionclosed: (id) => sessions.delete(id),
    });
    const back = await child(
      (message) => front.send(message).catch(() => {}),
      () => front.close(),
    );
    front.onmessage = (message) => back.send(message);
    front.onclose = () => back.close();
    await front.start();
    return front;
  }

  const idle = [];

  /** Sends one message, passes on what comes up to the answer: events, if it is more than that. */
  async function stateless(message, response) {
    const worker = idle.pop() ?? (await openWorker());
    worker.onmessage = (sent) => {
      const isAnswer = "id" in sent && !("method" in sent);
      if (isAnswer) idle.push(worker);
      const text = JSON.stringify(sent);
      if (isAnswer && !response.headersSent) {
        const status = "error" in sent ? (STATUS[sent.error.code] ?? 200) : 200;
        response.writeHead(status, { "Content-Type": "application/json" }).end(text);
        return;
      }
      if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write(`event: message\ndata: ${text}\n\n`);
      if (isAnswer) response.end();
    };
    await worker.back.send(message);
    if (!("id" in message)) {
      response.writeHead(202).end();
      idle.push(worker);
    }
  }

  async function openWorker() {
    const worker = {};
    worker.back = await child((sent) => worker.onmessage(sent));
    return worker;
  }

  async function serve(request, response) {
    if (request.headers.host !== host) return response.writeHead(403).end();
    const id = request.headers["mcp-session-id"];
    if (id !== undefined) {
      const session = sessions.get(id);
      return session ? session.handleRequest(request, response) : response.writeHead(404).end();
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = await json(request);
    if (!isInitializeRequest(message)) return stateless(message, response);
    return (await openSession()).handleRequest(request, response, message);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(error));
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  host = `127.0.0.1:${server.address().port}`;
  return {
    url: `http://${host}/mcp`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await Promise.all([...children].map((back) => back.close()));
    },
  };
}
