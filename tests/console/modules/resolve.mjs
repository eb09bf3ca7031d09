/** Find the modules of the console as its import map does, which `test_modules.py` hands over. */

import { registerHooks } from "node:module";

const STATIC = new URL("../../../tracker/console/static/", import.meta.url);
const FILES = JSON.parse(process.env.MODULES);

registerHooks({
  resolve(specifier, context, next) {
    const file = FILES[specifier];
    return next(file ? new URL(file, STATIC).href : specifier, context);
  },
});

// What the browser has: the address of the page, and what the document says of itself.
globalThis.location = new URL("https://tracker.example/console/overview");
globalThis.document = {
  documentElement: { dataset: {} },
  getElementById: () => ({ textContent: process.env.DIMENSIONS }),
};
