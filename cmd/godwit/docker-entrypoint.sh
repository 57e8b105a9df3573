#!/bin/sh
# Starts `godwit local` in the image: on every address of the container, with the seeds and scripts of LocalStack's
# folders, and with the arguments of the container. It becomes the server, which gets the SIGTERM of a stop.
set -eu
init=${GODWIT_INIT:-/etc/localstack/init}
for stage in ready start boot; do # each goes in front of the last
	if [ -d "$init/$stage.d" ]; then
		set -- --init "$init/$stage.d" "$@"
	fi
done
exec godwit local --addr "${GODWIT_ADDR:-0.0.0.0:4566}" "$@"
