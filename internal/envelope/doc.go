// Package envelope encodes the data that Godwit sends beside a message's body, which stays unchanged.
//
// An [Envelope] has the headers, order key, content type and earlier [Death]s of one message. It is one versioned JSON
// text, for one message attribute. An [Encoding] says how a body is sent that contains characters which the service
// refuses. Fields that this version does not know are kept when an envelope is copied. Fixtures of every released
// version stay in the tests.
package envelope
