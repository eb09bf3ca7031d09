/** Sharing a report: a public link, with an end and a password if wanted. */

import { useState } from "preact/hooks";
import { ApiError, api, owned } from "console/core/api";
import { endOfDay, knownZone } from "console/core/dates";
import { Field, FormFields, namesOf, useFields } from "console/core/fields";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Button, ErrorNote } from "console/core/parts";
import { session } from "console/core/session";
import { Secret } from "console/parts/code";
import { Dialog } from "console/parts/dialog";
import { PERIODS } from "console/reports/periods";
import { daysText } from "console/reports/words";

const MIN_PASSWORD_CHARACTERS = 12;
const MAX_LOGO_BYTES = 102_400;

/** Return the name of the days of a shared report if they roll, else "". */
export function rollingDays({ lastDays, untilYesterday, period }) {
  if (lastDays)
    return (
      (PERIODS[`${lastDays}d`] ?? `Last ${lastDays} days`) +
      (untilYesterday ? ", up to yesterday" : "")
    );
  return period ? PERIODS[period] : "";
}

/**
 * The dialog. `report` is what is shared, as `/api/shares` takes it; `days` are those it has now.
 */
export function ShareDialog({ report, days, onClose }) {
  const { fields, set } = useFields({
    name: "",
    expires_at: "",
    password: "",
    title: "",
    // A table by link cannot be unfolded without them, and parents have no numbers.
    show_link_names:
      report.tables?.some(({ groupBy }) => groupBy.includes("link")) ||
      JSON.stringify(report).includes('"parent_link"'),
    costs: false,
    choose_days: false,
    all_rows: false,
    download: false,
  });
  const [logo, setLogo] = useState();
  const [made, setMade] = useState(null);
  const zone = session.value.account.time_zone;
  const list = shareFields(zone);
  const [share, busy, error] = useAction(async () => {
    const { password, expires_at: until, costs, ...others } = fields;
    const sent = {
      ...others,
      report: { ...report, costs },
      logo: logo && (await logoText(logo)),
      password: password || null,
      expires_at: until ? endOfDay(until, zone).toISOString() : null,
    };
    setMade(await api.post("/api/shares", owned(sent)));
  });
  if (made) {
    return html`<${Dialog}
      title="The report is shared"
      about="Whoever has this link sees the report. It is shown only now."
      onClose=${onClose}
      footer=${html`<${Button} kind="main" onClick=${onClose}>I have copied it<//>`}
    >
      <${Secret} label="The link" value=${made.url}>
        <p class="hint">Settings, Shared reports lists and revokes it.</p>
      <//>
    <//>`;
  }
  return html`<${Dialog}
    title="Share this report"
    about="With the measure, panels, filters and comparison that are shown, and up to 20 rows of each panel."
    action="Make the link"
    ...${{ busy, onClose }}
    onSubmit=${share}
  >
    <${SharedDays} name=${rollingDays(report)} days=${days} />
    <${FormFields} ...${{ list, fields, set, error }} />
    <${Field} label="Logo" hint="PNG or SVG, at most 100 KB" name="logo" error=${error}>
      ${(given) =>
        html`<input
          type="file"
          accept=".png,.svg"
          ...${given}
          onChange=${({ target }) => setLogo(target.files[0])}
        />`}
    <//>
    <${ErrorNote} error=${error} fields=${[...namesOf(list), "logo"]} />
  <//>`;
}

/** Return a file in base64. Throws an ApiError if it is too long. */
function logoText(file) {
  if (file.size > MAX_LOGO_BYTES) throw new ApiError(0, "", "logo: must have at most 100 KB");
  return new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1] ?? "");
    reader.readAsDataURL(file);
  });
}

function shareFields(zone) {
  return [
    { name: "name", label: "Title", required: true, maxlength: 120, "data-focus": true },
    {
      name: "title",
      label: "Line above it",
      maxlength: 200,
      hint: "Such as: For Acme, by Northwind",
    },
    {
      name: "expires_at",
      label: "Until",
      type: "date",
      hint: `Through that day in ${knownZone(zone)}. Empty: until you revoke it`,
    },
    {
      name: "password",
      label: "Password",
      type: "password",
      autocomplete: "new-password",
      hint: `Empty: the link is enough. At least ${MIN_PASSWORD_CHARACTERS} characters`,
    },
    {
      name: "show_link_names",
      label: "Show the names of links",
      hint: "Otherwise they are Link 1, Link 2 and so on",
      checkbox: true,
    },
    {
      name: "costs",
      label: "Show costs and profit",
      hint: "Otherwise nobody sees what you pay",
      checkbox: true,
    },
    {
      name: "choose_days",
      label: "Readers choose the days",
      hint: "Any days of the account, also before and after these",
      checkbox: true,
    },
    {
      name: "all_rows",
      label: "Readers open all rows",
      hint: "Otherwise the first rows of each panel",
      checkbox: true,
    },
    { name: "download", label: "Readers take the rows as CSV", checkbox: true },
  ];
}

/** Which days the client sees. `name` is that of a period that rolls. */
function SharedDays({ name, days }) {
  if (!name)
    return html`<p>
      <strong>Days: ${daysText(days)}.</strong> These days stay. For days that roll choose a period,
      such as “${PERIODS.last_week}”, before you share.
    </p>`;
  return html`<p>
    <strong>Days: ${daysText(days)} now.</strong> “${name}” rolls: each opening shows it as of that
    day, in ${session.value.account.time_zone}.
  </p>`;
}
