// Package trust decides which messages in SNS's own JSON are opened. Its nouns are the topics that a channel trusts,
// the
// notification, which is that JSON, and the signature of SNS on it. Whoever may send to a queue can write such JSON:
// its
// topic is only a claim.
package trust
