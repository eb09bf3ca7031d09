/** Files that a job works on: how one is sent, and what its columns are. */

import { useState } from "preact/hooks";
import { errorOf } from "console/core/api";
import { Select } from "console/core/fields";
import { format } from "console/core/format";
import { useAction } from "console/core/hooks";
import { html } from "console/core/html";
import { Table } from "console/core/lists";
import { ErrorNote } from "console/core/parts";

/** The file, which is sent to a path while it is read from the disk. */
export function FileField({ path, onSent }) {
  const [part, setPart] = useState(0);
  const [send, busy, error] = useAction((file) => sendFile(path, file, setPart).then(onSent));
  return html`<label class="button file">
      ${busy ? `${format.percent(part)} sent` : "Choose the file"}
      <input
        class="visually-hidden"
        type="file"
        disabled=${busy}
        onChange=${async ({ target }) => {
          if (target.files[0]) await send(target.files[0]);
          target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
    <${ErrorNote} error=${error} />`;
}

function sendFile(path, file, onPart) {
  const request = new XMLHttpRequest(); // fetch tells no progress
  request.open("POST", path);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = ({ loaded }) => onPart(loaded / file.size);
  return new Promise((resolve, reject) => {
    request.onload = () => {
      const answer = new Response(request.responseText, { status: request.status });
      return answer.ok ? resolve(answer.json()) : errorOf(answer).then(reject);
    };
    request.onerror = () => reject(new Error("The file did not arrive. Choose it again."));
    request.send(file);
  });
}

/** The first rows, and the choice of what each column is: one of `options`, or nothing. */
export function Columns({ preview: { headings, rows }, options, fields, onChoose }) {
  const columns = (headings.length ? headings : (rows[0] ?? [])).map((_, number) => ({
    label: headings[number] || `Column ${number + 1}`,
    wide: number === 0,
    cell: (row) => row[number],
  }));
  const load = { data: { rows } };
  return html`
    <fieldset>
      <legend>What the columns are</legend>
      <div class="columns">
        ${columns.map(
          ({ label }, number) => html`<${Select}
            label=${label}
            options=${[["", "not used"], ...options]}
            value=${fields[number] ?? ""}
            onInput=${(field) => onChoose(number, field)}
          />`,
        )}
      </div>
    </fieldset>
    <${Table}
      caption="The first rows"
      rowKey=${(row) => rows.indexOf(row)}
      ...${{ columns, load }}
    />
  `;
}
