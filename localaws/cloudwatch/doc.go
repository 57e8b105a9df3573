// Package cloudwatch is CloudWatch: metrics and alarms of one account and region.
//
// Its nouns: a [Service] holds metrics and alarms. A [Source] reports metrics of other services every minute. The tick
// is what happens at whole minutes of the server's clock: sources report, then alarms are evaluated. An alarm publishes
// its changes of state to [Topics].
//
// The models are without a wire format: package metric stores and reads, package alarm evaluates, package expression is
// metric math. An action stands in the file of its noun.
package cloudwatch
