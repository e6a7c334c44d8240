// A module in WebAssembly: bytes in, bytes out (crates/web/src/lib.rs).

export class EngineError extends Error {
  isFatal = false;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Engine {
  static async load(url) {
    const response = await fetch(url);
    if (!response.ok) throw new EngineError(`${url}: ${response.status} ${response.statusText}`);
    const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
    instance.exports.start();
    return new Engine(instance.exports);
  }

  constructor(exports) {
    this.exports = exports;
  }

  // Passes text or bytes to the next call.
  input(data) {
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    const at = this.exports.input(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  // Calls an export; its output as text.
  call(name, ...args) {
    let status;
    try {
      status = this.exports[name](...args);
    } catch (error) {
      throw Object.assign(new EngineError(this.output() || String(error)), { isFatal: true });
    }
    const text = this.output();
    if (status !== 0) throw new EngineError(text);
    return text;
  }

  output() {
    const { memory, output, output_len } = this.exports;
    return decoder.decode(new Uint8Array(memory.buffer, output(), output_len()));
  }
}
