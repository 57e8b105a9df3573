#!/bin/sh
# A handler for `godwit run CHANNEL --exec ./handle.sh`: the body is the standard input. See docs/run.md.

amount=$(sed -n 's/^{"amount": *\(-\{0,1\}[0-9][0-9]*\)}$/\1/p')
if [ -z "$amount" ]; then
	echo "it is no order" >&2
	exit 65 # to the dead letters
fi
if [ "$amount" -lt 0 ]; then
	echo "the amount is negative" >&2
	exit 65
fi
echo "booked $amount (attempt $GODWIT_ATTEMPT of message $GODWIT_ID)"
