// Package house tests the structure of the repository: which packages there are and what they may import, whether the
// documentation names existing things, and what a test can check of the language rules.
//
// Its nouns: a room is one package of this module, with a list of the rooms and third-party modules that its code may
// import. A package without a room fails the test, so adding one is a visible decision. The lists apply to non-test
// files, for every operating system and build tag. A room of tests alone may import anything, contains only tests, and
// no other package imports it.
//
// The same test forbids init functions and package-level state, so that two of anything can exist in one process. The
// language test has a list of packages that do not follow the rules yet.
package house
