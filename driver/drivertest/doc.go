// Package drivertest is the specification of a backend as a test.
//
// Its nouns: a [Harness] is what the test of a backend supplies: how to open a fresh backend, how time passes, how
// faults are injected, and which abilities the backend has. A case checks one promise of package driver and names it in
// one line. [Run] runs all cases; a case that cannot run is skipped with the reason. [Benchmark] measures the cost of a
// message in the same backend.
//
// A harness is about forty lines. In a testing/synctest bubble the kit takes no real time; in real time it takes about
// two minutes, with leases of four seconds.
package drivertest
