// Package filter decides which messages a subscription receives.
//
// Its nouns: a [Policy] is one subscription's compiled filter policy. [Compile] creates it from JSON, and refuses what
// Amazon SNS refuses, with SNS's reasons. A [Scope] says what a policy checks: MessageAttributes or MessageBody. An
// [Attribute] is a message attribute as a policy sees it.
//
// A policy is a set of fields, each with patterns; a field matches when one of its patterns matches one of its values,
// and a message matches when all fields do. Patterns: exact strings, numbers, true, false and null; prefix; suffix;
// wildcard; equals-ignore-case; anything-but with a string, a number, a list of either, a prefix, or one or several
// wildcard patterns; numeric with =, <, <=, >, >= and ranges; exists; cidr. $or joins alternatives. An exact string
// that is an IP address matches every spelling of that address. In a body, arrays match by element, and fields below
// one array must come from the same element.
//
// Limits: 256 KiB of text, five fields in each alternative, 150 combinations (the product of every field's number of
// values and its depth, summed over the alternatives). A wildcard pattern has three wildcards; one wildcard counts one
// point, several three each, and the sum of a field's points times its number of wildcard patterns, summed over the
// fields, is at most 100. No answer of SNS to a policy beyond these two limits is published, so their texts are ours.
//
// It differs from Amazon's published matcher (event-ruler) on purpose in two ways: numbers are compared to five
// decimals within ±1,000,000,000, as SNS documents, and a pattern never changes how other patterns of the same field
// see a value (event-ruler rewrites numbers and addresses for all patterns of the field).
package filter
