"""The objects that check, record and store conversions, built once per process."""

from pathlib import Path
from typing import NamedTuple

from tracker.conversions.account_rules import AccountRules, RulesCache, rules_cache
from tracker.conversions.append import ConversionAppender, Repeats
from tracker.conversions.consent import Consents
from tracker.conversions.event_config import EventConfigCache, EventConfigs, event_config_cache
from tracker.conversions.event_ids import EventIds, SpareBlock
from tracker.conversions.look_ups import LookUps
from tracker.conversions.recorder import Recorder
from tracker.conversions.refusals import Refusals
from tracker.conversions.store import Conversions
from tracker.journal.services import JournalServices
from tracker.limits.allowance import Allowance
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query

_CACHE_ENTRIES = 10_000


class ConversionServices(NamedTuple):
    """`recorder` is for postbacks, `store` for drains."""

    recorder: Recorder
    consents: Consents
    refusals: Refusals
    repeats: Repeats
    event_configs: EventConfigs
    account_rules: AccountRules
    event_ids: EventIds
    store: Conversions
    look_ups: LookUps
    event_config_cache: EventConfigCache
    rules_cache: RulesCache


def build(
    *,
    stores: StoreServices,
    journal: JournalServices,
    data_path: Path,
    misses: Allowance,
    pending: Allowance,
) -> ConversionServices:
    """`misses` limits look-ups of unknown keys, `pending` conversions whose click is unknown."""
    configs = event_config_cache(stores, _CACHE_ENTRIES, misses)
    rules = rules_cache(stores, _CACHE_ENTRIES)
    event_configs = EventConfigs(stores.mongodb, configs)
    account_rules = AccountRules(stores.mongodb, rules)
    store, look_ups = Conversions(stores.mongodb), LookUps(stores.mongodb.reads)
    repeats = Repeats(stores.mongodb)
    event_ids = EventIds(stores.mongodb, SpareBlock(data_path))
    return ConversionServices(
        recorder=Recorder(
            event_configs,
            look_ups,
            event_ids,
            ConversionAppender(journal.journal, store, stores.budget, look_ups, repeats),
            account_rules,
            pending,
        ),
        consents=Consents(stores.mongodb, look_ups, pending),
        refusals=Refusals(stores.mongodb, look_ups),
        repeats=repeats,
        event_configs=event_configs,
        account_rules=account_rules,
        event_ids=event_ids,
        store=store,
        look_ups=look_ups,
        event_config_cache=configs,
        rules_cache=rules,
    )


ConversionCall = Call[ConversionServices, Query, Body]
