// Parses pictures with Mermaid itself, which needs a document for the texts in them.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const { window } = new JSDOM("");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");

for (const file of process.argv.slice(2)) {
  const { diagramType } = await mermaid.parse(readFileSync(file, "utf8"));
  console.log(`${file}: ${diagramType}`);
}
