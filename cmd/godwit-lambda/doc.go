// Command godwit-lambda is a function of AWS Lambda that looks after the channels of SQS and SNS by schedule: alerts on
// what waits and on dead letters, and the sweep of channels that nobody uses.
//
// Its nouns: an event names a run, and the answer is the report of the run as JSON.
//
//	{"run":"sources"}       looks once at what waits, as `godwit alerts` does each 15 minutes
//	{"run":"dead-letters"}  looks once at dead letters, as `godwit alerts` does each 12 hours
//	{"run":"sweep"}         announces channels that nobody uses, and deletes those that an earlier run has announced,
//	                        as `godwit sweep --scheduled` does each day
//
// A function has no flags, so its settings are environment variables:
//
//	GODWIT_STATE           where runs remember what they have told and announced, as s3://bucket or s3://bucket/prefix;
//	                       required. Alerts are in PREFIX/NAMESPACE/alerts.json, a sweep of an owner in
//	                       PREFIX/NAMESPACE/sweep-OWNER.json, and what a sweep deletes is described before in
//	                       PREFIX/NAMESPACE/sweep-OWNER-TIME.journal, for `godwit sweep --undo`
//	GODWIT_NAMESPACE       the namespace of the channels
//	GODWIT_OWNER           whose channels are swept, by their tag owner; required for a sweep. Alerts ignore it
//	GODWIT_ALERT_OWNERS    whose channels have alerts, separated by commas; without it, all
//	GODWIT_SLACK_URL       an incoming webhook of Slack that is told
//	GODWIT_WEBHOOK_URL     an address that is told, by JSON with a signature
//	GODWIT_WEBHOOK_SECRET  the key of the signature, of at least 16 bytes
//	GODWIT_SNS_TOPIC       the ARN of a topic of SNS that is told
//
// What is told is also printed, for the log of the function; the addresses and the key are not. Region and credentials
// are the function's own. docs/lambda.md has the permissions and a schedule.
package main
