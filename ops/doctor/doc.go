// Package doctor examines channels, and says what is wrong or risky with them.
//
// Its nouns: a [Report] has the [Finding]s of a look. A finding says what is there, what it means, and how to mend it.
// Nothing is changed, and only calls that read are made. What could not be looked at is unknown, not healthy.
package doctor
