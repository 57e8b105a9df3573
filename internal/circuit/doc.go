// Package circuit keeps a dead endpoint from being hammered. Its noun: a [Breaker] opens after failures in a row; while
// it is open, one probe at a time goes through, ever less often, until one succeeds.
package circuit
