// Package alarm evaluates CloudWatch's alarms, without I/O and without a clock.
//
// Its nouns: a [Rule] is what an alarm compares. A [Datapoint] is one period of the evaluation range, which is longer
// than the periods that the rule asks for, so that data that is late or missing does not decide at once. A [Verdict] is
// the new state with AWS's text.
package alarm
