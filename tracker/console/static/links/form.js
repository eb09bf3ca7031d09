/** The form of a link: to create one, or to change it. What is typed is kept as a draft. */

import { useId, useRef, useState } from "preact/hooks";
import { api, owned } from "console/core/api";
import { FormFields, Select, TextField, namesOf, useFields } from "console/core/fields";
import { format } from "console/core/format";
import { useAction, useLoad, useSettled } from "console/core/hooks";
import { html } from "console/core/html";
import { ErrorNote, lazy } from "console/core/parts";
import { can, seesAll, session } from "console/core/session";
import { copy, toast } from "console/core/toasts";
import { loadAll } from "console/parts/all";
import { Dialog } from "console/parts/dialog";
import { useDraft } from "console/parts/draft";
import { toastChange, toastChanges, useChanges } from "console/links/changes";
import { Conflict } from "console/links/conflict";
import { SLUG, SLUG_RULE, domainOption, given, textFields, textsOf } from "console/links/fields";
import { stripped } from "console/links/invisible";
import { OPTIONS, OptionFields, newOptions, optionsOf, sentOptions } from "console/links/options";
import { TagPicker } from "console/links/tags";
import { completedUrl } from "console/links/typed-url";
import { UTM, withParameter } from "console/links/utm";

const UtmTemplates = lazy("console/links/utm-templates", "UtmTemplates");

const DESTINATION = {
  name: "destination_url",
  label: "Destination",
  inputmode: "url",
  autocapitalize: "none",
  spellcheck: false,
  required: true,
  "data-focus": true,
  placeholder: "https://shop.example/offer",
  hint: "Macros such as {click_id} and {country} are filled in at the click.",
};
const ABOUT_UTM = [
  "They are written into the destination, and the link’s clicks count by them.",
  "A value in the query of the short link itself comes first.",
].join(" ");
const NEW = { destination_url: "", slug: "", domain_id: "", ...textsOf({}) };

/**
 * The dialog to create a link, or to change `link`. `start` has fields of a new link, or it is one
 * `like` another. `onDone` gets the link.
 */
export function LinkDialog({ link, like, start = like && copied(like), onClose, onDone }) {
  // A draft may be of an earlier state of the link, which it keeps.
  const draft = useDraft(
    link ? `link:${link.id}` : `link:new${start ? JSON.stringify(start) : ""}`,
    link
      ? { ...editable(link), base: link }
      : { ...NEW, tags: onlyTag(), ...optionsOf({}), ...start },
  );
  const { set, dirty, clear } = draft;
  const { base, ...fields } = draft.fields;
  const [password, setPassword] = useState();
  const typed = useRef();
  const [save, busy, error] = useAction(async (over = base) => {
    const tags = (await typed.current?.()) ?? fields.tags;
    const completed = { ...fields, tags, destination_url: completedUrl(fields.destination_url) };
    const sent = link && { ...changed(base, completed), password };
    const saved = link
      ? await api.patch(`/api/short-links/${link.id}`, sent, over.revision)
      : await api.post("/api/short-links", { ...created(completed), password });
    clear();
    onDone(saved);
    onClose();
    if (!link)
      toast(`${saved.short_url} is ready`, {
        action: { label: "Copy", run: () => copy(saved.short_url) },
      });
    else if (password !== undefined) toast("Saved");
    else toastChange("Saved", over, saved, Object.keys(changed(base, completed)), onDone);
  });
  const takeTheirs = (theirs) => {
    clear();
    onDone(theirs);
    onClose();
  };
  const isOutdated = error?.code === "changed_meanwhile";
  const texts = textFields(!link);
  const destination = {
    ...DESTINATION,
    onBlur: () => set("destination_url")(completedUrl(fields.destination_url)),
  };
  return html`<${Dialog}
    title=${link ? "Edit the link" : "New link"}
    action=${link ? "Save" : "Create"}
    discard=${dirty && clear}
    wide
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${FormFields} list=${[destination]} ...${{ fields, set, error }} />
    <${UtmBuilder} url=${completedUrl(fields.destination_url)} onChange=${set("destination_url")} />
    ${!link && html`<${ShortUrl} fields=${fields} set=${set} error=${error} />`}
    <${FormFields} list=${texts} ...${{ fields, set, error }} />
    <${OptionFields} ...${{ link, fields, set, password, setPassword, error }} />
    ${
      can("tags:read") &&
      html`<${TagPicker} selected=${fields.tags} onChange=${set("tags")} typed=${typed} />`
    }
    ${isOutdated && html`<${Conflict} ...${{ base, error }} onMine=${save} onTheirs=${takeTheirs} />`}
    <${ErrorNote}
      error=${!isOutdated && error}
      fields=${[
        ...namesOf([destination, ...texts, ...OPTIONS]),
        "password",
        ...(link ? [] : ["slug", "domain_id"]),
      ]}
    />
  <//>`;
}

/** The dialog that sets options of several links, of which `links` are on screen. */
export function OptionsDialog({ links, target, count, onClose, onDone }) {
  const all = links.map(optionsOf);
  const shared = Object.entries(optionsOf({})).map(([name, unused]) => {
    const isShared = all.every((one) => one[name] === all[0][name]);
    return [name, isShared ? all[0][name] : unused];
  });
  const { fields, set } = useFields({});
  const [change, progress] = useChanges({ target, count });
  const [save, busy, error] = useAction(async () => {
    const sent = sentOptions(fields);
    const changed = await change(sent);
    toastChanges(
      `Options of ${format.count(changed.length, "link")} changed`,
      changed,
      sent,
      onDone,
    );
    onDone();
    onClose();
  });
  return html`<${Dialog}
    title="Options of ${format.count(count, "link")}"
    about="Shown is what all of them${links.length < count ? " on this page" : ""} have. What you leave as it is stays."
    action="Save"
    ...${{ busy, onClose }}
    onSubmit=${save}
  >
    <${OptionFields} fields=${{ ...Object.fromEntries(shared), ...fields }} ...${{ set, error }} open />
    ${progress}
    <${ErrorNote} error=${error} fields=${namesOf(OPTIONS)} />
  <//>`;
}

/** Return the tag of members who are limited to one: their links need it. */
export function onlyTag() {
  const limit = session.value.tags.map(({ id }) => id);
  return limit.length === 1 ? limit : [];
}

function editable(link) {
  return {
    destination_url: link.destination_url,
    tags: link.tags.map(({ id }) => id),
    ...textsOf(link),
    ...optionsOf(link),
  };
}

/** Return the fields of a new link like another; what only one link may have is left out. */
function copied(link) {
  const { rules, split } = JSON.parse(
    JSON.stringify({ rules: link.rules, split: link.split }),
    withoutIds,
  );
  const decided = { ...(rules.length && { rules }), ...(split && { split }) };
  const own = { external_id: "", paths: "", domain_id: link.domain_id ?? "" };
  return { ...editable(link), ...own, ...decided };
}

/** Rules and variants of another link have its ids. */
function withoutIds(name, value) {
  return name === "id" ? undefined : value;
}

/** Return the fields that differ from the link's. */
function changed(link, fields) {
  const before = editable(link);
  const differing = Object.entries(fields).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  const sent = sentOptions(Object.fromEntries(differing));
  return sent.external_id === "" ? { ...sent, external_id: null } : sent;
}

/** Return the fields of a new link; what is left empty gets its default from the service. */
function created({ destination_url, tags, ...others }) {
  return owned({ destination_url, tags, ...given(newOptions(others)) });
}

/** The domain and the slug of a new link. The slug is checked while it is typed. */
function ShortUrl({ fields, set, error }) {
  const domains = useLoad(
    (signal) =>
      can("domains:read") ? loadAll("/api/domains", signal) : Promise.resolve({ rows: [] }),
    [],
  );
  const rows = domains.data?.rows ?? [];
  const options = [["", location.host], ...rows.map(domainOption)];
  const host = options.find(([id]) => id === fields.domain_id)?.[1] ?? location.host;
  const isProven = rows.find(({ id }) => id === fields.domain_id)?.verified;
  const { text, bad } = useSlugState(stripped(fields.slug), fields.domain_id);
  return html`
    ${
      rows.length > 0 &&
      html`<${Select}
        label="Domain"
        name="domain_id"
        options=${options}
        error=${error}
        value=${fields.domain_id}
        onInput=${set("domain_id")}
      />`
    }
    <${TextField}
      label="Slug"
      name="slug"
      prefix="${host.replace(/ .*/, "")}/${isProven ? "" : "c/"}"
      maxlength="64"
      placeholder="random"
      spellcheck=${false}
      autocapitalize="none"
      hint=${bad ? undefined : text || "Letters, digits, _ and -. It cannot be changed later."}
      error=${error?.field === "slug" ? error : bad && text}
      value=${fields.slug}
      onInput=${set("slug")}
    />
  `;
}

/** Return what is known of a slug: {text, bad}. It is asked once typing has paused. */
function useSlugState(slug, domainId) {
  const settled = useSettled(slug);
  const valid = SLUG.test(settled);
  const answer = useLoad(
    (signal) =>
      valid
        ? api.get("/api/short-links/available", { slug: settled, domain_id: domainId }, signal)
        : Promise.resolve(null),
    [settled, domainId],
  );
  if (!slug) return { text: "" };
  if (!SLUG.test(slug)) return { text: SLUG_RULE, bad: true };
  if (slug !== settled || answer.loading || !answer.data) return { text: "Checking…" };
  return answer.data.available ? { text: "Free" } : { text: answer.data.reason, bad: true };
}

/** Fields for the UTM parameters, which are read from the destination and written into it. */
export function UtmBuilder({ url, about = ABOUT_UTM, onChange }) {
  const parsed = URL.canParse(url) ? new URL(url).searchParams : null;
  const put = (name) => (value) => onChange(withParameter(url, name, value));
  return html`<details class="utm">
    <summary>UTM parameters</summary>
    <p class="hint">${about}</p>
    ${parsed && seesAll() && html`<${UtmTemplates} ...${{ url, onChange }} />`}
    ${
      parsed
        ? html`<div class="columns">
          ${UTM.map(
            ([name, label, placeholder]) => html`<${UtmField}
              ...${{ name, label, placeholder, onInput: put(name) }}
              value=${parsed.get(name) ?? ""}
            />`,
          )}
        </div>`
        : html`<p class="hint">First give the destination.</p>`
    }
  </details>`;
}

/** A field that proposes the values in use, which are loaded when it gets the focus. */
function UtmField({ name, ...others }) {
  const id = useId();
  const [values, setValues] = useState([]);
  const load = async () => {
    if (values.length || !can("reports:read")) return;
    const query = { dimension: name, limit: 100 };
    const found = await api.get("/api/reports/values", query).catch(() => ({ rows: [] }));
    setValues(found.rows.map(({ key }) => key).filter((key) => key !== "none"));
  };
  return html`<div>
    <${TextField} ...${{ name, ...others }} list=${id} onFocus=${load} />
    <datalist id=${id}>${values.map((one) => html`<option key=${one} value=${one} />`)}</datalist>
  </div>`;
}
