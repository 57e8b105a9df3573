// Package circuit limits the calls to an endpoint that fails. Its noun: a [Breaker] opens after consecutive failures.
// While it is open, one probe at a time is allowed, less and less often, until one succeeds.
package circuit
