"""The lab: a page in the browser with the engine as WebAssembly (docs/reference/lab.md)."""
