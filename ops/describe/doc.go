// Package describe tells all about one channel.
//
// Its nouns: a [Channel] is a channel as the service has it, with what waits in it, what has happened in it, its
// settings, and the channels that belong to it. A [Setting] is one of its attributes, a [Statement] one of its policy.
// Its [Audience] is who consumes it, and a [Timeline] its last hour.
//
// What cannot be found out is a problem beside the rest, not an error: an operator with few permissions sees what is
// allowed.
package describe
