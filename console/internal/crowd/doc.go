// Package crowd is a backend for tests of size: a [Crowd] is a thousand channels, one of which has a hundred thousand
// dead letters.
package crowd
