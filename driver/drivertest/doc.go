// Package drivertest is the specification of a backend in executable form.
//
// Its nouns: a [Harness] is what the test of a backend supplies: how to open a fresh one, how time passes, how faults
// are made, which abilities there are; a case shows one thing that the contracts in package driver promise, and says
// in one line what. [Run] runs the whole kit; a case that cannot run is listed with the reason. [Benchmark] measures
// what a message costs in the same backend.
//
// A harness is about forty lines. In a testing/synctest bubble the kit takes no real time; in real time about two
// minutes, with leases of four seconds.
package drivertest
