/** Text to take away: code with a button that copies it, and secrets that are shown once. */

import { useRef, useState } from "preact/hooks";
import { html } from "console/core/html";
import { Button, CopyButton, Icon } from "console/core/parts";
import { copy } from "console/core/toasts";

/** A block of code. `label` says what is copied, such as "the curl line". */
export function CodeBlock({ text, label = "the code", title }) {
  return html`<figure class="code-block">
    ${title && html`<figcaption>${title}</figcaption>`}
    <pre><code>${text}</code></pre>
    <${CopyButton} text=${text} label="Copy ${label}" />
  </figure>`;
}

/** A short value in one line with a button that copies it, such as a DNS record. */
export function CopyValue({ text, label }) {
  return html`<span class="copy-value">
    <code>${text}</code>
    <${CopyButton} text=${text} label="Copy ${label}" />
  </span>`;
}

/** A value that the service shows once. A click selects all of it. */
export function Secret({ label, value, children }) {
  const code = useRef(null);
  const [copied, setCopied] = useState(false);
  const take = async () => setCopied(await copy(value));
  const select = () => getSelection().selectAllChildren(code.current);
  return html`<div class="secret">
    <p>
      <${Icon} name="key" />
      <strong>${label}</strong> <span>Shown only now. Keep it where others cannot read it.</span>
    </p>
    <div class="row">
      <code ref=${code} onClick=${select}>${value}</code>
      <${Button} kind="main" icon=${copied ? "check" : "copy"} onClick=${take}>
        ${copied ? "Copied" : "Copy"}
      <//>
    </div>
    ${children}
  </div>`;
}
