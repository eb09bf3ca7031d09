/** Find the modules of the console by the names under which they import each other. */

import { registerHooks } from "node:module";

const STATIC = new URL("../../../tracker/console/static/", import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const [, path] = /^console\/(.+)$/.exec(specifier) ?? [];
    return next(path ? new URL(`${path}.js`, STATIC).href : specifier, context);
  },
});

// What the browser has: the address of the page.
globalThis.location = new URL("https://tracker.example/console/overview");
