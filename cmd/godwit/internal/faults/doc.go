// Package faults slows down and fails the calls of `godwit local`.
//
// Its noun: [Rules] are what the flags --latency and --error-rate say.
package faults
