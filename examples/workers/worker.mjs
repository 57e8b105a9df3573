// A worker for `godwit run CHANNEL --worker 'node worker.mjs'`. The protocol is in docs/run.md.

import { createInterface } from "node:readline";

// The message is wrong, and will not become right.
class Wrong extends Error {}

async function handle(message) {
  let order;
  try {
    order = JSON.parse(message.body);
  } catch (error) {
    throw new Wrong(`it is no order: ${error.message}`);
  }
  if (!(order.amount >= 0)) throw new Wrong("the amount is negative");
  console.error(`booked ${order.amount}`);
}

async function answer(message) {
  try {
    await handle(message);
    return { request: message.request, action: "done" };
  } catch (error) {
    // All errors but Wrong are failures: they are tried again.
    return { request: message.request, action: error instanceof Wrong ? "reject" : "fail", error: error.message };
  }
}

// Whether it has waited too long for this worker: then another one has it.
const late = (message) => Date.now() > message.begin_by * 1000; // false without begin_by

const release = (message) => ({ request: message.request, action: "release" });

const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");

let begun = false;
for await (const line of createInterface({ input: process.stdin })) {
  if (begun) {
    const message = JSON.parse(line);
    print(late(message) ? release(message) : await answer(message));
  } else {
    begun = true; // the first line is what godwit says about itself
    print({ godwit: 1, ready: true, ahead: true });
  }
}
