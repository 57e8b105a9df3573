// Package conformance holds localaws against AWS: what an action answers, what
// it refuses and in which words, and what time does to messages.
//
// Nouns: a case is one sentence about AWS with the calls that show it; a world
// is what a case runs in: real clients on an endpoint, names of its own, and a
// way to let time pass.
//
// By itself every case runs on a server of its own in virtual time. With
//
//	go test ./localaws/conformance -args -endpoint http://127.0.0.1:4566
//
// the same cases run against that endpoint in real time (-region, keys from
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY); those that would need long are
// skipped and say so.
package conformance
