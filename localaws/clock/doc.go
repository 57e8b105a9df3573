// Package clock is the server's clock: real time plus an offset that only grows.
//
// Nouns: a Clock tells the time and runs functions when their time has come;
// its offset is what Advance moved it by.
//
// The clock stands on package time and nothing else, so a Clock made inside a
// testing/synctest bubble lives in the bubble's virtual time.
package clock
