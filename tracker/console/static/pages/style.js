/** Every part in every state, to look at. Only in development. */

import { useState } from "preact/hooks";
import { ApiError } from "console/core/api";
import { Checkbox, Select, Switch, TextField } from "console/core/fields";
import { format } from "console/core/format";
import { html } from "console/core/html";
import { Pagination, Table } from "console/core/lists";
import {
  Badge,
  Button,
  CopyButton,
  Empty,
  ErrorNote,
  ICON_NAMES,
  Icon,
  Menu,
  OutLink,
  PageHeader,
  Skeleton,
  Tabs,
  Tag,
  Time,
} from "console/core/parts";
import { toast } from "console/core/toasts";
import { CodeBlock, CopyValue, Secret } from "console/parts/code";
import { ConfirmDialog, Dialog } from "console/parts/dialog";
import { useDraft } from "console/parts/draft";
import { JsonViewer } from "console/parts/json";
import { HeatMap } from "console/reports/heat-map";
import { SeriesChart } from "console/reports/series-chart";
import { WorldMap } from "console/reports/world-map";

const REFUSED = new ApiError(400, "bad_request", "slug: already taken");
const UNREACHABLE = new ApiError(0, "", "The service cannot be reached.");

const SECTIONS = {
  Buttons,
  Badges,
  Fields,
  Menus: MenusAndDialogs,
  Notes,
  Tables,
  Empty: Emptiness,
  Code,
  Figures: Figured,
  Metadata,
  Type,
  Icons,
};

/** The page: one section for each kind of part. */
export default function Style() {
  return html`<main id="main">
    <${PageHeader}
      title="Parts"
      about="Every part of the console in every state. The theme and the width of the window are yours to change."
    >
      <${Button} onClick=${() => setTheme("light")}>Light<//>
      <${Button} onClick=${() => setTheme("dark")}>Dark<//>
    <//>
    <${Tabs}
      label="Example"
      tabs=${[
        { href: "/console/style", label: "This page" },
        { href: "/console/style/other", label: "Another" },
        { href: "/console/style/third", label: "A third" },
      ]}
    />
    ${Object.entries(SECTIONS).map(
      ([title, Section]) => html`<section class="stack">
        <h2>${title}</h2>
        <${Section} />
      </section>`,
    )}
  </main>`;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

function Buttons() {
  const kinds = [
    ["main", "Main"],
    ["plain", "Plain"],
    ["quiet", "Quiet"],
    ["danger", "Danger"],
    ["main danger", "Main danger"],
  ];
  return html`
    <div class="row">${kinds.map(([kind, text]) => html`<${Button} kind=${kind}>${text}<//>`)}</div>
    <div class="row">
      ${kinds.map(([kind, text]) => html`<${Button} kind=${kind} icon="plus">${text}<//>`)}
    </div>
    <div class="row">
      ${kinds.map(([kind, text]) => html`<${Button} kind=${kind} disabled>${text}<//>`)}
    </div>
    <div class="row">
      <${Button} kind="main" busy>Busy<//>
      <${Button} busy>Busy<//>
      <${Button} href="/console/style">A link<//>
      <${Button} icon="archive" label="Archive" />
      <${Button} kind="quiet" icon="edit" label="Edit" />
      <${CopyButton} text="https://example.com" label="Copy the link" />
    </div>
  `;
}

function Badges() {
  const [tags, setTags] = useState([
    "Spring campaign",
    "Newsletter",
    "A tag with a name that is much too long for one line of anything",
  ]);
  return html`
    <div class="row">
      <${Badge} kind="good">Active<//>
      <${Badge} kind="bad">Disabled<//>
      <${Badge} kind="warning">Pending<//>
      <${Badge} kind="accent">Test<//>
      <${Badge}>Archived<//>
    </div>
    <div class="row">
      ${tags.map(
        (tag) => html`<${Tag} onRemove=${() => setTags(tags.filter((one) => one !== tag))}>
          ${tag}
        <//>`,
      )}
      <${Tag}>Without a button<//>
    </div>
  `;
}

function Fields() {
  const { fields, set, dirty, clear } = useDraft("style", {
    name: "",
    slug: "spring",
    note: "",
    kind: "one",
    on: true,
    box: false,
  });
  return html`<div class="card">
    <div class="columns">
      <${TextField}
        label="Name"
        hint="What you call it; visitors do not see it"
        value=${fields.name}
        onInput=${set("name")}
        placeholder="Spring offer"
      />
      <${TextField}
        label="Slug"
        name="slug"
        prefix="go.example.com/c/"
        error=${REFUSED}
        value=${fields.slug}
        onInput=${set("slug")}
      />
      <${TextField} label="Disabled" disabled value="Cannot be changed" onInput=${() => {}} />
      <${Select}
        label="Kind"
        value=${fields.kind}
        options=${[
          ["one", "One"],
          ["two", "Another"],
        ]}
        onInput=${set("kind")}
      />
      <${TextField} label="Note" rows=${3} value=${fields.note} onInput=${set("note")} />
      <div class="stack">
        <${Checkbox}
          label="A box"
          hint="With what it means"
          checked=${fields.box}
          onInput=${set("box")}
        />
        <${Checkbox} label="A box that cannot be ticked" checked disabled onInput=${() => {}} />
        <${Switch}
          label="A switch"
          hint="It holds at once"
          checked=${fields.on}
          onInput=${set("on")}
        />
        <${Switch} label="Another" checked=${!fields.on} onInput=${(on) => set("on")(!on)} />
      </div>
    </div>
    <div class="row end">
      <span class="hint">${dirty ? "Kept as a draft in this tab" : "Nothing typed yet"}</span>
      <${Button} disabled=${!dirty} onClick=${clear}>Forget it<//>
    </div>
  </div>`;
}

function MenusAndDialogs() {
  const [open, setOpen] = useState(null);
  const close = () => setOpen(null);
  const items = [
    { label: "Rename", icon: "edit", run: () => toast("Renamed") },
    { label: "Open the links", icon: "external", href: "/console/links" },
    { label: "Not now", icon: "refresh", disabled: true, run: close },
    { label: "Delete", icon: "trash", kind: "danger", run: () => setOpen("confirm") },
  ];
  const footer = html`
    <${Button} onClick=${close}>Cancel<//>
    <${Button} kind="main" type="submit">Save<//>
  `;
  return html`
    <div class="row">
      <${Menu} label="More" items=${items} />
      <${Menu} label="Actions" kind="plain" icon="chevron" items=${items}>Actions<//>
      <${Button} onClick=${() => setOpen("dialog")}>A dialog<//>
      <${Button} onClick=${() => setOpen("confirm")}>A question<//>
      <${Button} onClick=${() => setOpen("typed")}>A question with a text<//>
      <${Button} onClick=${() =>
        toast("The link is archived", {
          action: { label: "Undo", run: () => toast("Restored") },
        })}>
        A toast
      <//>
      <${Button} onClick=${() => toast("The link could not be archived", { kind: "bad" })}>
        A bad one
      <//>
    </div>
    ${
      open === "dialog" &&
      html`<${Dialog}
        title="New link"
        about="It works as soon as it is saved."
        ...${{ footer }}
        onClose=${close}
        onSubmit=${close}
      >
        <${TextField}
          label="Destination"
          type="url"
          value=""
          onInput=${() => {}}
          hint="Where visitors go"
        />
        <${TextField} label="Name" value="" onInput=${() => {}} />
      <//>`
    }
    ${
      open === "confirm" &&
      html`<${ConfirmDialog}
        title="Delete “Spring”?"
        action="Delete the tag"
        onClose=${close}
        onConfirm=${async () => toast("Deleted")}
      >
        <p>128 links lose the tag. This cannot be undone.</p>
      <//>`
    }
    ${
      open === "typed" &&
      html`<${ConfirmDialog}
        title="Delete the domain?"
        action="Delete"
        typed="go.example.com"
        onClose=${close}
        onConfirm=${() => Promise.reject(UNREACHABLE)}
      >
        <p>12 links stop working.</p>
      <//>`
    }
  `;
}

function Notes() {
  return html`
    <${ErrorNote} error=${UNREACHABLE} retry=${() => {}} />
    <${ErrorNote} error=${new ApiError(429, "", "Too many requests.", { retryAfter: 30 })} />
    <div class="note"><${Icon} name="help" /><p>Something to know.</p></div>
    <div class="note good"><${Icon} name="check" /><p>The domain is proven.</p></div>
    <div class="note warning"><${Icon} name="warning" /><p>The webhook fails since 14:02.</p></div>
  `;
}

const ROWS = [
  {
    id: "1",
    name: "Spring offer",
    url: "https://example.com/offer?utm_source=newsletter&utm_medium=email",
    clicks: 12_408,
    tags: ["Spring"],
    active: true,
  },
  {
    id: "2",
    name: "A name that goes on and on, because somebody pasted the title of a page into it without looking",
    url: "javascript:alert(1)",
    clicks: 0,
    tags: ["Newsletter", "Partners", "EMEA"],
    active: false,
  },
  {
    id: "3",
    name: "<script>alert(1)</script>",
    url: "https://example.com/" + "a".repeat(200),
    clicks: 5_120,
    tags: [],
    active: true,
  },
];

function Tables() {
  const [selected, setSelected] = useState(new Set(["2"]));
  const [sort, setSort] = useState("newest");
  const columns = [
    {
      label: "Name",
      wide: true,
      sort: { ascending: "name" },
      cell: (row) =>
        html`<div class="main-cell">
          <a href="/console/style">${row.name}</a>
          <span class="truncate"><${OutLink} url=${row.url} /></span>
        </div>`,
    },
    {
      label: "Tags",
      cell: (row) =>
        html`<div class="tags">${row.tags.map((tag) => html`<${Tag}>${tag}<//>`)}</div>`,
    },
    {
      label: "State",
      cell: (row) =>
        html`<${Badge} kind=${row.active ? "good" : "quiet"}>${row.active ? "Active" : "Off"}<//>`,
    },
    {
      label: "Created",
      sort: { ascending: "oldest", descending: "newest" },
      cell: () => html`<${Time} at=${new Date(Date.now() - 7_500_000).toISOString()} />`,
    },
    { label: "Clicks", numeric: true, cell: (row) => format.number(row.clicks) },
    {
      label: "Actions",
      actions: true,
      cell: (row) =>
        html`<${Menu}
          label="Actions for ${row.name}"
          items=${[{ label: "Rename", icon: "edit", run: () => {} }]}
        />`,
    },
  ];
  const pagination = { page: 2, totalPages: 7, totalRows: 318 };
  return html`
    <${Table}
      caption="Example"
      columns=${columns}
      load=${{ data: { rows: ROWS } }}
      selection=${{ selected, onSelect: setSelected }}
      sort=${{ value: sort, onSort: setSort }}
    />
    <${Pagination} pagination=${pagination} noun="link" />
    ${
      selected.size > 0 &&
      html`<div class="bulk">
        <span>${format.count(selected.size, "link")} selected</span>
        <${Button} icon="tag">Tag<//>
        <${Button} icon="archive">Archive<//>
        <${Button}
          kind="quiet"
          icon="close"
          label="Select none"
          onClick=${() => setSelected(new Set())}
        />
      </div>`
    }
    <${Table} caption="Loading" columns=${columns} load=${{ loading: true }} skeleton=${2} />
    <${Table}
      caption="Refused"
      columns=${columns}
      load=${{ error: UNREACHABLE, reload: () => {} }}
    />
  `;
}

function Emptiness() {
  return html`<${Empty}
    title="No links yet"
    action=${html`<${Button} kind="main" icon="plus">Create your first link<//>`}
  >
    <p>
      A link sends visitors to your page and counts them, such as <code>go.example.com/c/spring</code>.
    </p>
  <//>`;
}

function Code() {
  return html`
    <${CodeBlock}
      title="Create a link"
      label="the curl line"
      text=${`curl -s http://localhost:8080/api/short-links \\\n  -H "Authorization: Bearer $API_KEY" \\\n  -d '{"destination_url": "https://example.com/offer"}'`}
    />
    <p><${CopyValue} text="_tracker.go.example.com" label="the name of the record" /></p>
    <${Secret} label="Your new API key" value="trk_uPCp_u4rTAZE4yhqikOVOV__Rw9LAk069hOz1IasRtM" />
  `;
}

const HOSTILE = "<img src=x onerror=alert(1)>";
const CELLS = Array.from({ length: 168 }, (_, index) => ({
  weekday: 1 + Math.floor(index / 24),
  hour: index % 24,
  value: (index * 7) % 50,
}));
const COUNTRIES = [
  ["DE", "Germany", 812],
  ["FR", HOSTILE, 96],
  ["MT", "Malta", 3],
  ["unknown", "Unknown", 12],
].map(([key, name, value]) => ({ key, name, value }));
const STEPS = Array.from({ length: 30 }, (_, number) => ({
  key: new Date(Date.UTC(2026, 9, 20 + number)).toISOString().slice(0, 10),
  label: number === 20 ? HOSTILE : `day ${number + 1}`,
  value: number === 12 ? 0 : Math.round(400 + 300 * Math.sin(number / 3) + (number % 7) * 20),
}));
const BEFORE = STEPS.map((step) => ({ ...step, value: Math.round(step.value / 2) }));
const COMPARED = STEPS.map((step, index) => ({ ...step, before: BEFORE[index] }));

function Figured() {
  const [range, setRange] = useState("nothing");
  return html`
    <dl class="figures">
      <div><dt>Clicks</dt><dd>${format.number(12_408)}</dd></div>
      <div><dt>Visitors</dt><dd>${format.number(9_911)}</dd></div>
      <div><dt>Conversions</dt><dd>${format.number(412)}</dd></div>
      <div><dt>Payout</dt><dd>${format.money(2060.5)}</dd></div>
    </dl>
    <div class="card">
      <${SeriesChart}
        title="Clicks by day"
        steps=${COMPARED}
        previous=${BEFORE}
        format=${format.number}
        onRange=${(first, last) => setRange(`${first} to ${last}`)}
      />
      <p class="hint">Chosen: ${range}</p>
    </div>
    <div class="columns">
      <div class="card">
        <${HeatMap} title="Clicks by hour of the week" cells=${CELLS} format=${format.number} />
      </div>
      <div class="card">
        <${WorldMap}
          rows=${COUNTRIES}
          format=${format.number}
          onChoose=${({ name }) => setRange(name)}
        />
      </div>
    </div>
    <dl class="facts">
      <dt>Destination</dt>
      <dd><${OutLink} url="https://example.com/offer" /></dd>
      <dt>Created</dt>
      <dd><${Time} at=${new Date().toISOString()} exact /></dd>
    </dl>
    <ol class="steps">
      <li class="done"><div><h3>Create a link</h3><p>Done.</p></div></li>
      <li class="current">
        <div>
          <h3>Open it</h3>
          <p>Clicks are counted within a second.</p>
          <${Button} kind="main">Open it<//>
        </div>
      </li>
      <li><div><h3>Send a test conversion</h3></div></li>
    </ol>
  `;
}

function Metadata() {
  return html`
    <${JsonViewer}
      text=${'{"order":{"id":9007199254740993,"items":[{"sku":"A-1","price":12.50},{"sku":"B-2","price":3.0}]},"coupon":null,"gift":true,"note":"<b>hello</b>","empty":[]}'}
    />
    <${JsonViewer} text="{not json" />
    <${Skeleton} />
  `;
}

function Type() {
  return html`<div class="stack close">
    <h1>A heading of a page</h1>
    <h2>A heading of a section</h2>
    <h3>A heading of a card</h3>
    <p>
      Text of a page, with <a href="/console/style">a link</a>, <strong>weight</strong>, <code>code</code> and <kbd>Esc</kbd>.
    </p>
    <p class="faint">Soft text.</p>
    <p class="hint">A hint.</p>
    <p class="error">An error.</p>
  </div>`;
}

function Icons() {
  return html`<ul class="icons">
    ${ICON_NAMES.map((name) => html`<li><${Icon} name=${name} /><span>${name}</span></li>`)}
  </ul>`;
}
