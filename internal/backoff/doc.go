// Package backoff computes how long to wait before the next try. Its noun: a [Curve] doubles from a first wait to a
// longest one, and [Curve.Jittered] returns a random part of it, so that callers who failed together do not try again
// together.
package backoff
