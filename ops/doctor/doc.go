// Package doctor examines channels, and says what is wrong or risky with them.
//
// Its nouns: a [Report] has the [Finding]s of a look. A finding says what is there, what it means, and how to mend it.
// Only calls that read are made, and what could not be looked at is unknown, not healthy. [Report.Fix] makes the
// [Change]s that mend findings.
package doctor
