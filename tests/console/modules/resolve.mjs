/** Find the modules of the console, and its libraries, by the names under which they are imported. */

import { registerHooks } from "node:module";

const STATIC = new URL("../../../tracker/console/static/", import.meta.url);
const LIBRARIES = {
  preact: "preact.mjs",
  "preact/hooks": "hooks.mjs",
  "@preact/signals-core": "signals-core.mjs",
  "@preact/signals": "signals.mjs",
  htm: "htm.module.js",
};

registerHooks({
  resolve(specifier, context, next) {
    const [, path] = /^console\/(.+)$/.exec(specifier) ?? [];
    const file = path ? `${path}.js` : LIBRARIES[specifier] && `vendor/${LIBRARIES[specifier]}`;
    return next(file ? new URL(file, STATIC).href : specifier, context);
  },
});

// What the browser has: the address of the page, and what the document says of itself.
globalThis.location = new URL("https://tracker.example/console/overview");
globalThis.document = {
  documentElement: { dataset: {} },
  getElementById: () => ({ textContent: "[[], []]" }),
};
