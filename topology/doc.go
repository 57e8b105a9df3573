// Package topology declares channels in a file.
//
// Its nouns: a [Spec] declares exchanges and channels. [Read] reads one from godwit.yaml, and reports every [Mistake]
// with its line and column before anything is called.
//
// A program takes its options from the same file with [Spec.Consumer] and [Spec.Producer], so that a setting is written
// once. docs/topology.md explains the file.
package topology
