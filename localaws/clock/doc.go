// Package clock is the server's clock: real time plus an offset that only grows.
//
// Its nouns: a [Clock] tells the time and runs functions when they are due; its offset is the sum of what Advance moved
// it by.
//
// The clock uses only package time, so a Clock created in a testing/synctest bubble uses the bubble's virtual time.
package clock
