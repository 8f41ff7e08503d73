#!/bin/sh
# A writer and a critic look for the opposite of a word, with curl and jq.
set -eu

word=$(printf %s "$TROUPE_TASK" | jq -r .word)
opposite=$(printf %s "$TROUPE_TASK" | jq -r .opposite)

# The reply of the role at an address, with a key, to messages.
ask() {
  curl --silent --show-error --fail-with-body "$1/chat/completions" \
    --header "Authorization: Bearer $2" --header "Content-Type: application/json" \
    --data "$(jq -n --argjson messages "$3" '{ model: "role", messages: $messages }')" |
    jq -r '.choices[0].message.content'
}

user() {
  jq -n --arg content "$1" '[{ role: "user", content: $content }]'
}

question=$(user "opposite of $word")
first=$(ask "$OPENAI_BASE_URL_WRITER" "$OPENAI_API_KEY_WRITER" "$question")
verdict=$(ask "$OPENAI_BASE_URL_CRITIC" "$OPENAI_API_KEY_CRITIC" "$(user "is $first the opposite of $word")")
score=0
if [ "$first" = "$opposite" ]; then score=1; fi

if [ "$verdict" = no ]; then
  again=$(printf %s "$question" | jq --arg first "$first" \
    '. + [{ role: "assistant", content: $first }, { role: "user", content: "no , another" }]')
  second=$(ask "$OPENAI_BASE_URL_WRITER" "$OPENAI_API_KEY_WRITER" "$again")
  score=0
  if [ "$second" = "$opposite" ]; then score=0.6; fi
fi

# The last line is the reward.
echo "$score"
