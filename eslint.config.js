import js from "@eslint/js";
import globals from "globals";

export default [
  {
    ignores: [
      ".venv/",
      "tests/console/axe/",
      "tracker/console/static/vendor/",
      "tracker/web/openapi/static/",
    ],
  },
  js.configs.recommended,
  {
    rules: {
      "no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      eqeqeq: "error",
    },
  },
  { files: ["tracker/console/static/**"], languageOptions: { globals: globals.browser } },
  {
    files: ["tracker/clicks/script/**"],
    languageOptions: { globals: globals.browser, sourceType: "script" },
  },
  { files: ["*.js", "lab/**", "tests/**"], languageOptions: { globals: globals.node } },
];
