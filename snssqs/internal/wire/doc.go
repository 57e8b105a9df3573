// Package wire is the form of messages on SQS and SNS. It makes no call to them. Its nouns are the encoder, which makes
// prepared messages and their entries in requests; the decoder, which makes deliveries of received messages; the
// envelope's attribute beside the user's bytes, the form of the other attributes, the pointer to a body in a store; the
// copy of a message for its dead letters; and the filter policy.
package wire
