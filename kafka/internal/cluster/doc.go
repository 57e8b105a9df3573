// Package cluster asks the brokers: for topics, for where their logs start and end, for what groups have committed and
// who their members are, and for records, without a group. It knows nothing of channels.
package cluster
