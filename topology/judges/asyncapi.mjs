// Parses documents with AsyncAPI's own parser, which also checks the bindings. Advice is printed and is no error.
import { readFileSync } from "node:fs";
import { DiagnosticSeverity, Parser } from "@asyncapi/parser";

for (const file of process.argv.slice(2)) {
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, "utf8"));
  for (const d of diagnostics) {
    if (d.severity <= DiagnosticSeverity.Warning) console.log(`${file}: ${d.path.join(".")}: ${d.message}`);
    if (d.severity === DiagnosticSeverity.Error) process.exitCode = 1;
  }
  if (document === undefined) process.exitCode = 1;
  else console.log(`${file}: ${document.channels().length} channels, ${document.operations().length} operations`);
}
