"""What chat services are sent: plain text in their own form."""

import json
from decimal import Decimal
from typing import Any

import pytest

from tracker.errors import BadRequest
from tracker.webhooks.delivery import Preset
from tracker.webhooks.macros import as_text
from tracker.webhooks.payloads.payload import render
from tracker.webhooks.payloads.values import MacroValues
from tracker.webhooks.presets.chat import LONGEST, as_chat, check_preset, escape_of, fitted

WILD = "<!channel> <@U1> & *b* [x](http://a.example) @everyone @name"
SHAPES: dict[Preset, dict[str, Any]] = {
    Preset.SLACK: {
        "mrkdwn": False,
        "text": "&lt;!channel&gt; &lt;@U1&gt; &amp; *b* [x](http://a.example) @everyone @name",
    },
    Preset.DISCORD: {
        "allowed_mentions": {"parse": []},
        "content": r"\<!channel\> \<\@U1\> & \*b\* \[x\]\(http://a.example\) \@everyone \@name",
    },
    Preset.TELEGRAM: {
        "link_preview_options": {"is_disabled": True},
        "chat_id": "-100",
        "text": WILD.replace("@", "@\u2060"),
    },
}
TEMPLATES: dict[Preset, dict[str, Any]] = {
    Preset.SLACK: {"text": "{slug}", "blocks": [{"text": "{slug}"}], "extra": "{slug}"},
    Preset.DISCORD: {"content": "{slug}"},
    Preset.TELEGRAM: {"chat_id": "-100", "text": "{slug}"},
}


@pytest.mark.parametrize("preset", SHAPES)
def test_a_message_has_the_form_of_its_service_once(preset: Preset) -> None:
    message = json.dumps({"type": "x", "timestamp": "", "data": {"text": WILD}})
    template = json.dumps(TEMPLATES[preset])
    sent = as_chat(preset, template, message)
    assert json.loads(sent) == SHAPES[preset]
    assert as_chat(preset, template, sent) == sent
    assert as_chat(None, template, message) == message
    older = json.dumps({"type": "webhook.disabled", "timestamp": "", "data": {"name": "x"}})
    field = "content" if preset is Preset.DISCORD else "text"
    assert json.loads(as_chat(preset, template, older))[field] == "webhook.disabled"


@pytest.mark.parametrize("preset", SHAPES)
def test_values_of_conversions_are_escaped_and_a_text_is_cut_to_what_the_service_takes(
    preset: Preset,
) -> None:
    field = next(name for name in ("content", "text") if name in TEMPLATES[preset])
    fields = {"slug": WILD, "value": Decimal("12.50")}
    values = MacroValues(fields=fields, metadata={}, query={})
    for text, shown in (("{slug}", ""), ("{slug} *{value}*", " *12.50*")):
        rendered = render(json.dumps({field: text}), values, escape_of(preset)).decode()
        made = json.loads(fitted(preset, rendered))
        assert made[field] == SHAPES[preset][field] + shown
    long = json.loads(fitted(preset, json.dumps({field: "x" * 3000})))[field]
    assert (len(long), long[-1]) == (LONGEST, "…")
    number = render(json.dumps({"n": "{value}"}), values, escape_of(preset)).decode()
    assert number == f'{{"n":{as_text(values.get("value"))}}}'


@pytest.mark.parametrize(
    ("preset", "template", "rule"),
    [
        (Preset.SLACK, {}, "slack needs text"),
        (Preset.SLACK, None, "slack needs text"),
        (Preset.DISCORD, {"text": "x"}, "discord needs content"),
        (Preset.TELEGRAM, {"text": "x"}, "telegram needs chat_id"),
        (
            Preset.TELEGRAM,
            {"text": "x", "chat_id": 1, "parse_mode": "HTML"},
            "no parse_mode, because values are sent as plain text",
        ),
    ],
)
def test_a_template_that_its_service_would_refuse_is_refused(
    preset: Preset, template: Any, rule: str
) -> None:
    check_preset(None, template)
    check_preset(preset, TEMPLATES[preset])
    with pytest.raises(BadRequest, match=rule):
        check_preset(preset, template)
