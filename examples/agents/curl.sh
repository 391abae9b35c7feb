#!/bin/sh
# An agent in a few lines of shell: hand a ticket in, claim it, deliver its class.
#   HANDOFFS_URL=http://127.0.0.1:8000 HANDOFFS_TOKEN=hf_... sh examples/agents/curl.sh
set -eu
api="$HANDOFFS_URL/api/v1"

post() {  # post PATH BODY: the same key again would change nothing
    curl --silent --show-error --fail-with-body --request POST "$api/$1" \
        --header "Authorization: Bearer $HANDOFFS_TOKEN" \
        --header "Content-Type: application/json" \
        --header "Idempotency-Key: $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
        --data "$2"
    echo
}

post flows/tickets/records '{"external_id": "T-2001", "input": {"number": "T-2001", "sender": "nora@example.com",
    "subject": "Order 1042", "text": "Please stop order 1042."}}'
claim=$(post flows/tickets/steps/classify/claims '{"limit": 1}')
echo "$claim"
result=$(echo "$claim" | sed -n 's/.*"result":"[^"]*\/api\/v1\/\([^"]*\)".*/\1/p')
post "$result" '{"confidence": 0.95, "output": {"number": "T-2001", "sender": "nora@example.com",
    "subject": "Order 1042", "text": "Please stop order 1042.", "label": "cancellation", "urgent": false}}'
