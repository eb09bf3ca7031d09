/** What a link may say of its redirect: in its form, on its page, and in files. A row is in each. */

import { useState } from "preact/hooks";
import { momentOf, wallTime } from "console/core/dates";
import { FormFields, TextField, namesOf } from "console/core/fields";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { Badge, Button } from "console/core/parts";
import { session } from "console/core/session";
import { stripped } from "console/links/invisible";

/**
 * `unused` is the value of a link without the option. A `time` is typed as the account's clocks
 * show it, a `number` as digits, `money` with decimals, `lines` are texts; `options` are the choices, a `checkbox` is true
 * or false, else it is a text.
 */
export const OPTIONS = [
  {
    name: "paths",
    label: "More paths",
    unused: [],
    lines: true,
    rows: 2,
    hint: "One a line, on the link’s own domain only: summer/sale",
  },
  {
    name: "starts_at",
    label: "Starts",
    unused: null,
    time: true,
    hint: "Before, visitors are sent to the address below, or see that there is no such link.",
  },
  { name: "expires_at", label: "Ends", unused: null, time: true },
  {
    name: "max_clicks",
    label: "Most clicks",
    unused: null,
    number: true,
    inputmode: "numeric",
    hint: "Of people: bots and previews use none.",
  },
  {
    name: "cost_per_click",
    label: "Cost of a click",
    unused: null,
    money: true,
    inputmode: "decimal",
    hint: "What you pay for it, such as 0.05. The visitor’s parameter cost overrules it.",
  },
  {
    name: "expired_url",
    label: "Before and after",
    unused: null,
    inputmode: "url",
    maxlength: 2048,
    placeholder: "https://shop.example/over",
  },
  {
    name: "redirect_status",
    label: "Status",
    unused: 302,
    options: [
      ["302", "302: found, the usual one"],
      ["301", "301: moved for good"],
      ["307", "307: temporary, same method"],
    ],
  },
  {
    name: "click_parameter",
    label: "Parameter of the click id",
    unused: "click_id",
    maxlength: 64,
    hint: "For destinations that read another name, such as subid.",
  },
  {
    name: "pass_query",
    label: "Pass on the visitor’s parameters",
    unused: true,
    checkbox: true,
  },
  {
    name: "no_referrer",
    label: "Send no referrer",
    unused: false,
    checkbox: true,
  },
];

/** Return the options of a link as its form has them. */
export function optionsOf(link) {
  return Object.fromEntries(
    OPTIONS.map(({ name, unused, time, checkbox, lines }) => {
      const value = link[name] ?? unused;
      if (checkbox) return [name, value];
      if (lines) return [name, value.join("\n")];
      return [name, time && value ? wallTime(value, zone()) : String(value ?? "")];
    }),
  );
}

/** Return the fields of a form as the API takes them. */
export function sentOptions(fields) {
  const rows = OPTIONS.filter(({ name }) => name in fields);
  return {
    ...fields,
    ...Object.fromEntries(rows.map((row) => [row.name, sent(row, fields[row.name])])),
  };
}

/** Return fields as the API takes them for a new link, without options that it does not use. */
export function newOptions(fields) {
  const unused = Object.fromEntries(OPTIONS.map((row) => [row.name, row.unused]));
  return Object.fromEntries(
    Object.entries(sentOptions(fields)).filter(
      ([name, value]) => !(name in unused && isSame(value, unused[name])),
    ),
  );
}

function isSame(value, other) {
  return String(value) === String(other);
}

function linesOf(text) {
  return text.split("\n").map(stripped).filter(Boolean);
}

/** Return the texts in a cell: in JSON, as a download has them, or one a line. */
function listIn(text) {
  try {
    return JSON.parse(text).map(String);
  } catch {
    return linesOf(text);
  }
}

function sent({ unused, time, options, number, money, checkbox, lines }, value) {
  if (checkbox) return value;
  if (lines) return linesOf(value);
  if (value.trim() === "") return unused;
  if (time) return momentOf(value, zone());
  return options || number || money ? numberIn(value.trim()) : value.trim();
}

/** Return a number, or a text that is none: the API refuses it by its name. */
function numberIn(text) {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function zone() {
  return session.value.account.time_zone;
}

/** The password of a link, which no draft keeps: undefined while it stays, null once removed. */
function PasswordField({ link, password, set, error }) {
  const isSet = link?.has_password && password !== null;
  return html`
    <${TextField}
      label="Password"
      name="password"
      type="password"
      autocomplete="new-password"
      maxlength="128"
      placeholder=${isSet ? "set" : "none"}
      value=${password ?? ""}
      onInput=${(text) => set(text || undefined)}
      error=${error}
    />
    ${isSet && html`<${Button} onClick=${() => set(null)}>Remove the password<//>`}
  `;
}

/** The fields, closed unless a link uses one of them or one is wrong. */
export function OptionFields({ link, fields, set, password, setPassword, error, open }) {
  // Many links have no password and no path in common.
  const shown = setPassword ? OPTIONS : OPTIONS.filter(({ lines }) => !lines);
  const list = shown.map(({ unused: _, lines: __, time, number: ___, money: ____, ...row }) => ({
    ...row,
    ...(time && { type: "datetime-local" }),
  }));
  const [isUsed] = useState(() => {
    const unused = optionsOf({});
    return OPTIONS.some(({ name }) => fields[name] !== unused[name]);
  });
  const isWrong = ["password", ...namesOf(OPTIONS)].includes(error?.field);
  return html`<details open=${open || isUsed || isWrong}>
    <summary>More options</summary>
    <${FormFields} ...${{ list, fields, set, error }} />
    ${setPassword && html`<${PasswordField} ...${{ link, password, set: setPassword, error }} />`}
  </details>`;
}

/** Return [label, text] of each option that a link uses. */
export function usedOptions(link) {
  return OPTIONS.filter(({ name, unused }) => !isSame(link[name] ?? unused, unused)).map(
    ({ name, label, time, number, money, checkbox, lines }) => {
      const value = link[name];
      if (checkbox) return [label, value ? "yes" : "no"];
      if (lines) return [label, value.join(", ")];
      if (money) return [label, format.money(value)];
      if (number)
        return [label, `${format.number(value)}, ${format.number(link.clicks_left)} left`];
      return [label, time ? format.time(value) : String(value)];
    },
  );
}

/** Return the options in cells of a file, as the API shows them. `truth` reads true and false. */
export function optionsIn(cells, truth) {
  const given = OPTIONS.filter(({ name }) => cells[name]);
  return Object.fromEntries(
    given.map(({ name, options, number, money, checkbox, lines }) => {
      const text = cells[name];
      if (checkbox) return [name, truth(text)];
      if (lines) return [name, listIn(text)];
      return [name, options || number || money ? numberIn(text) : text];
    }),
  );
}

/** The state of a link, as its visitors meet it. */
export function State({ link }) {
  return html`${stateOf(link)} ${link.has_password && html`<${Badge}>protected<//>`}`;
}

function stateOf(link) {
  if (link.archived) return html`<${Badge}>archived<//>`;
  if (!link.active) return html`<${Badge} kind="warning">paused<//>`;
  const at = Date.now();
  if (link.expires_at && Date.parse(link.expires_at) <= at) return html`<${Badge}>ended<//>`;
  if (link.clicks_left === 0) return html`<${Badge}>used up<//>`;
  if (link.starts_at && Date.parse(link.starts_at) > at) return html`<${Badge}>scheduled<//>`;
  return html`<${Badge} kind="good">active<//>`;
}
