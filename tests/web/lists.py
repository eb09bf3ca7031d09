"""Every endpoint that answers with a list."""

LISTS = {
    "short links": ("GET", "/api/short-links", "links"),
    "tags": ("GET", "/api/tags", "tags"),
    "tags by POST": ("POST", "/api/tags", "tags"),
    "domains": ("GET", "/api/domains", "domains"),
    "event configs": ("GET", "/api/event-configs", "event_configs"),
    "uploads": ("GET", "/api/conversions/uploads", "uploads"),
    "imports": ("GET", "/api/imports", "imports"),
    "webhooks": ("GET", "/api/webhooks", "webhooks"),
    "keys": ("GET", "/api/keys", "api_keys"),
    "members": ("GET", "/api/members", "members"),
    "invitations": ("GET", "/api/invitations", "invitations"),
    "password resets": ("GET", "/api/password-resets", "invitations"),
    "shares": ("GET", "/api/shares", "shares"),
    "alerts": ("GET", "/api/alerts", "alerts"),
    "summaries": ("GET", "/api/summaries", "summaries"),
    "views": ("GET", "/api/views", "views"),
    "costs": ("GET", "/api/costs", "costs"),
}
