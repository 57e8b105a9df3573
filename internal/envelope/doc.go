// Package envelope is how Godwit's own data travels beside a body that stays untouched.
//
// Its nouns: an [Envelope] holds headers, order key, content type and the history of [Death]s of one message, and is
// packed as one versioned JSON text for one attribute; an [Encoding] is how a body that a service's character set
// refuses travels all the same. Unknown fields of an envelope survive a copy. Fixtures of every version ever written
// are read for ever.
package envelope
