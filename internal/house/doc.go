// Package house holds the plan of the house as a test: which packages there are, and which way imports go.
//
// Its nouns: a room is one package of this module; its door list says which rooms and which third-party modules its
// code may import. A package that is not listed fails the test, so adding one is a decision that somebody reads.
// The lists bind non-test files, for every operating system and build tag at once. A room of tests alone may import
// anything, holds nothing but tests, and is imported by nobody's code.
//
// The same test keeps out init functions and package-level state: two of anything can live in one process.
package house
