// Package backoff knows how long to wait before the next try: a [Curve] doubles from a first wait to a longest one,
// and [Curve.Jittered] draws from it, so that many who failed together do not come back together.
package backoff
