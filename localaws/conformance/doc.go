// Package conformance compares localaws with AWS: the answers of each action, its errors and their texts, and how
// messages change over time.
//
// Its nouns: a case is one sentence about AWS, with the calls that show it. A world is the environment of a case: real
// clients of an endpoint, names of its own, and a way to wait.
//
// By default every case runs on a server of its own in virtual time. With
//
//	go test ./localaws/conformance -args -endpoint http://127.0.0.1:4566
//
// the same cases run against that endpoint in real time (-region, keys from AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY); cases that would take long are skipped. In the full run, every server keeps its data in a
// folder.
package conformance
