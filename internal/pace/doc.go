// Package pace computes how many workers a consumer should have, so that deliveries start before they are too old. Its
// nouns: a [Pacer] gets a [Sample] of what happened since the last tick, and returns a size between a floor and a
// ceiling. A gauge is the performance of one size; the next larger size is compared with it.
//
// The size grows while work waits and its age approaches the tolerance, twofold per step, or eightfold for a known
// backlog; it shrinks by a quarter after several calm ticks. The thresholds are far apart, so that a steady load leads
// to a steady size. A growth that brings more failures, or longer handlers instead of more throughput, is reverted, and
// not tried again for a pause that doubles.
//
// Nothing in this package reads a clock, waits or locks.
package pace
