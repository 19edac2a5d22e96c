#!/usr/bin/env bash
# Blocks git push --force. Each line of stdin is a JSON-RPC request, each line of stdout an answer.
# It needs jq.
set -uo pipefail

while IFS= read -r line; do
	id=$(jq -c '.id // null' <<<"$line")
	result='{}'
	case $(jq -r .method <<<"$line") in
	initialize) result='{"hooks": ["pre_tool_call"]}' ;;
	hook)
		command=$(jq -r '.params.payload.tool_input.command // ""' <<<"$line")
		if [[ $command =~ git[[:space:]]+push.*(--force([[:space:]]|$)|[[:space:]]-f([[:space:]]|$)) ]]; then
			result='{"action": "block", "message": "it overwrites history; use git push --force-with-lease"}'
		fi
		;;
	shutdown) exit 0 ;;
	cancel) continue ;;
	esac
	jq -cn --argjson id "$id" --argjson result "$result" '{jsonrpc: "2.0", id: $id, result: $result}'
done
