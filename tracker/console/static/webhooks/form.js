/** The form of a webhook, with a preview of its payload while the template is typed. */

import { useRef, useState } from "preact/hooks";
import { ApiError, api, owned } from "console/core/api";
import { FormFields, TextField, namesOf } from "console/core/fields";
import { useAction, useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { CodeBlock, Secret } from "console/parts/code";
import { Dialog } from "console/parts/dialog";
import { useDraft } from "console/parts/draft";
import { Boxes, FilterFields, filterFields, sentFilter } from "console/webhooks/filter";
import { PRESETS, PRESET_NAMES, isOfApi, sentPlatform } from "console/webhooks/presets";
import { HeadersEditor, headerRows, requestText, sentHeaders } from "console/webhooks/headers";

const METHODS = [
  ["POST", "POST"],
  ["PUT", "PUT"],
  ["PATCH", "PATCH"],
  ["GET", "GET, the payload as query"],
];
const TARGET = { name: "target_url", label: "Target", type: "url", required: true };
const NAME = { name: "name", label: "Name", required: true, maxlength: 255 };
const NEW_NAME = { ...NAME, required: false, hint: "Empty: the host of the target" };
const METHOD = { name: "method", label: "Method", options: METHODS };
const TEMPLATE_FIELD = {
  name: "payload_template",
  label: "Payload",
  rows: 9,
  class: "code",
  spellcheck: false,
  hint: "JSON with macros in braces. A value that is one macro keeps its type.",
};
const EVENTS = [
  ["conversion", "Conversions", "Each conversion, once its click is known"],
  ["conversion.updated", "Changes", "Each change of a conversion’s status or money, in order"],
  ["click.recorded", "Clicks", "Up to 500 in a request, each by the payload below"],
  ["link.created", "New links", "Each link that is created or imported"],
  ["link.changed", "Changed links", "Each change of a link, in order"],
  ["webhook.disabled", "Disabled webhooks", "When another webhook of the account is disabled"],
  ["delivery.failed", "Failed deliveries", "When a conversion did not reach another webhook"],
  ["alert.fired", "Alerts", "Alerts and summaries that name this webhook, sent in any case"],
].map(([id, name, hint]) => ({ id, name, hint }));
const SENDS_TO = { name: "preset", label: "Sends to", options: PRESET_NAMES };

/** The dialog to create a webhook, or to change `webhook`. A new one shows its secret once. */
export function WebhookDialog({ webhook, onClose, onDone, onLeave }) {
  const { fields, set, change, dirty, clear } = useDraft(
    webhook ? `webhook:${webhook.id}` : "webhook:new",
    initial(webhook),
  );
  // Not in the draft: their values are secrets.
  const [headers, setHeaders] = useState(() => headerRows(webhook));
  const [made, setMade] = useState(null);
  const list = [webhook ? NAME : NEW_NAME, METHOD];
  const [secrets, setSecrets] = useState({});
  const { target: placeholder, hint, platform } = PRESETS[fields.preset];
  const target = [{ ...TARGET, placeholder, hint }];
  const shown = platform ? [NAME, ...platform.settings] : [TARGET, ...list, TEMPLATE_FIELD];
  const begin = () => (name) => change({ preset: name, ...begun(name) });
  const [save, busy, error] = useAction(async () => {
    const { target_url, name, method, events, payload_template } = fields;
    const sent = {
      name,
      events,
      preset: isOfApi(fields.preset) ? fields.preset : null,
      filter: sentFilter(fields.filter),
      ...(platform
        ? sentPlatform(platform, fields, secrets, webhook)
        : {
            target_url,
            method,
            payload_template: parsed(payload_template),
            headers: sentHeaders(headers),
          }),
    };
    const saved = webhook
      ? await api.patch(`/api/webhooks/${webhook.id}`, sent)
      : await api.post("/api/webhooks", owned(withoutEmpty(sent)));
    clear();
    onDone(saved);
    if (webhook) onClose();
    else setMade(saved);
  });
  if (made)
    return html`<${SecretDialog}
      webhook=${made}
      onClose=${() => {
        onClose();
        onLeave?.(made.id);
      }}
    />`;
  return html`<${Dialog}
    title=${webhook ? "Edit the webhook" : "New webhook"}
    action=${webhook ? "Save" : "Create"}
    discard=${dirty && clear}
    wide
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    ${!webhook && html`<${FormFields} list=${[SENDS_TO]} ...${{ fields, set: begin, error }} />`}
    ${!platform && html`<${FormFields} list=${target} ...${{ fields, set, error }} />`}
    <div class="columns">
      <${FormFields} list=${platform ? [list[0], ...platform.settings] : list} ...${{ fields, set, error }} />
    </div>
    ${platform && html`<${Secrets} ...${{ platform, secrets, setSecrets, webhook }} />`}
    <${Boxes}
      legend="What it gets"
      rows=${platform ? EVENTS.slice(0, 2) : EVENTS}
      selected=${fields.events}
      onChange=${set("events")}
    />
    <${FilterFields} filter=${fields.filter} onChange=${set("filter")} error=${error} />
    ${
      !platform &&
      html`
        <${TemplateEditor}
          text=${fields.payload_template}
          method=${fields.method}
          onInput=${set("payload_template")}
          error=${error}
        />
        <${HeadersEditor} rows=${headers} onChange=${setHeaders} />
        <${RequestPreview} ...${{ ...fields, headers: sentHeaders(headers) }} />
      `
    }
    <${ErrorNote} error=${error} fields=${namesOf(shown)} />
  <//>`;
}

function initial(webhook) {
  if (!webhook)
    return { target_url: "", name: "", preset: "own", filter: filterFields(), ...begun("own") };
  const { target_url, name, method, events, filter, payload_template, preset } = webhook;
  const settings = Object.entries(webhook.settings).map(([one, value]) => [
    `settings.${one}`,
    value,
  ]);
  return {
    ...Object.fromEntries(settings),
    preset: preset ?? "own",
    target_url,
    name,
    method,
    events,
    filter: filterFields(filter),
    payload_template: JSON.stringify(payload_template, null, 2),
  };
}

/** Return the fields that a preset sets. */
function begun(name) {
  const { method, events, template } = PRESETS[name];
  return { method, events, payload_template: JSON.stringify(template, null, 2) };
}

/** The secrets of an ad platform, which are never shown again. */
function Secrets({ platform, secrets, setSecrets, webhook }) {
  const required = !webhook || Object.values(secrets).some(Boolean);
  const list = platform.secrets.map((one) => ({ ...one, required }));
  const set = (name) => (value) => setSecrets({ ...secrets, [name]: value });
  return html`<fieldset>
    <legend>Access</legend>
    <p class="hint">${webhook ? "Empty: the stored ones stay." : "Stored encrypted."}</p>
    <${FormFields} ...${{ list, fields: secrets, set }} />
  </fieldset>`;
}

function withoutEmpty({ name, ...others }) {
  return name.trim() ? { name, ...others } : others;
}

/** Return the JSON in `text`. Throws an ApiError for the field if it is none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ApiError(0, "", `payload_template: not JSON: ${error.message}`);
  }
}

/** The template, its macros to insert, and what it becomes with sample values. */
function TemplateEditor({ text, method, onInput, error }) {
  const area = useRef(null);
  const macros = useLoad((signal) => api.get("/api/webhooks/macros", {}, signal), []);
  const insert = (name) => {
    const element = area.current.querySelector("textarea");
    const { selectionStart: start, selectionEnd: end } = element;
    onInput(`${text.slice(0, start)}{${name}}${text.slice(end)}`);
    element.focus();
  };
  return html`<div class="template" ref=${area}>
    <${TextField} ...${{ ...TEMPLATE_FIELD, error, value: text, onInput }} />
    <details>
      <summary>Macros</summary>
      <dl class="macros">${(macros.data?.rows ?? []).map(
        ({ name, description, example }) => html`<div key=${name}>
          <dt>
            <button type="button" class="link mono" onClick=${() => insert(name)}>
              ${`{${name}}`}
            </button>
          </dt>
          <dd>
            ${description}
            ${
              example !== null &&
              example !== undefined &&
              html` <span class="hint">${String(example)}</span>`
            }
          </dd>
        </div>`,
      )}</dl>
    </details>
    <${Preview} ...${{ text, method }} />
  </div>`;
}

/** What a receiver would get, for a sample conversion. */
function Preview({ text, method }) {
  const settled = useSettled(text, 400);
  const preview = useLoad(async () => {
    const payload_template = parsed(settled);
    return (await api.post("/api/webhooks/preview", owned({ payload_template, method }))).payload;
  }, [settled, method]);
  return html`<div class="stack close" aria-live="polite">
    <h3>Preview</h3>
    ${
      preview.error
        ? html`<p class="error">
          ${preview.error.rule}
        </p>`
        : html`<${CodeBlock} text=${pretty(preview.data ?? "")} label="the preview" />`
    }
  </div>`;
}

/** The request that carries the payload. With GET the payload is in its URL. */
function RequestPreview({ target_url, method, payload_template, headers }) {
  const settled = useSettled(
    JSON.stringify({ target_url, method, payload_template, headers }),
    400,
  );
  const preview = useLoad(async () => {
    const { payload_template: text, ...sent } = JSON.parse(settled);
    if (!sent.target_url) return "";
    const filled = await api.post(
      "/api/webhooks/preview",
      owned({ ...sent, payload_template: method === "GET" ? parsed(text) : {} }),
    );
    return requestText(
      method,
      method === "GET" ? withQuery(filled.url, filled.payload) : filled.url,
      filled.headers,
    );
  }, [settled]);
  if (!preview.error && !preview.data) return null;
  return html`<div class="stack close" aria-live="polite">
    <h3>Request</h3>
    ${
      preview.error
        ? html`<p class="error">
          ${preview.error.message}
        </p>`
        : html`<${CodeBlock} text=${preview.data} label="the request" />`
    }
  </div>`;
}

function withQuery(url, query) {
  return query ? `${url}${url.includes("?") ? "&" : "?"}${query}` : url;
}

/** Return JSON text over several lines; other text as it is. */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The dialog with the signing secret of a webhook, which is shown once. */
export function SecretDialog({ webhook, onClose }) {
  const footer = html`<${Button} kind="main" onClick=${onClose}>I have copied it<//>`;
  return html`<${Dialog}
    title="The signing secret"
    about="Your receiver checks the signature of every delivery with it (Standard Webhooks)."
    wide
    ...${{ footer, onClose }}
  >
    <${Secret} label=${webhook.name} value=${webhook.secret} />
    ${webhook.previous_secret_until && html`<p>The previous secret signs too, for a day.</p>`}
  <//>`;
}
